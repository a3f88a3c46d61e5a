"""Fuzz every decoder of `rowdelta.codec` with damaged bytes: it must raise a FormatError or decode consistently.

Most mutated inputs get a correct checksum again, so that the checks behind it are reached. Any other exception, an
input that takes more than two seconds, excessive memory, and a crash of the interpreter count as failures.

    python scripts/fuzz_codec.py --mutations 1000000 --seed 1 --jobs 2
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import time
import traceback
import zlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap, BitMap64

from rowdelta import codec
from rowdelta.codec.deletion_vector import VECTOR_MAGIC, decode_unframed, frame
from rowdelta.codec.delta_vector import z85_encode
from rowdelta.codec.frame_compression import compress, decompress
from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SLOW_SECONDS = 2.0
ADDRESS_SPACE_BYTES = 2 * 2**30  # above the memory of the process at its start
RESIDENT_BYTES = 512 * 2**20  # as above
LISTED = 1_000_000
INTERESTING = (0, 1, 2, 0x7F, 0x80, 0xFF, 0xFFF, 0x1000, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1)

Rng = np.random.Generator


@dataclass(frozen=True)
class Target:
    """A decoder, valid inputs to start from, and how to make a mutated input plausible again."""

    name: str
    seeds: Sequence[bytes]
    decode: Callable[[bytes], object]
    repair: Callable[[bytes, Rng], bytes]


def mutate(data: bytes, rng: Rng, others: Sequence[bytes]) -> bytes:
    """Damage bytes in one to four ways."""
    result = bytearray(data)
    for _ in range(int(rng.choice((1, 1, 1, 2, 3, 4)))):
        reach = len(result) if rng.random() < 0.5 else min(len(result), 64)  # noqa: PLR2004 - headers come first
        at = int(rng.integers(0, reach + 1))
        match int(rng.integers(0, 8)):
            case 0 if at < len(result):
                result[at] ^= 1 << int(rng.integers(0, 8))
            case 1 if at < len(result):
                result[at] = int(rng.integers(0, 256))
            case 2:
                del result[at : at + int(rng.integers(1, 17))]
            case 3:
                result[at:at] = rng.bytes(int(rng.integers(1, 17)))
            case 4:
                del result[at:]
            case 5:
                chunk = result[at : at + int(rng.integers(1, 33))]
                result[at:at] = chunk
            case 6:
                other = others[int(rng.integers(0, len(others)))]
                result[at:] = other[int(rng.integers(0, len(other) + 1)) :]
            case _:
                width = int(rng.choice((1, 2, 4, 8)))
                value = INTERESTING[int(rng.integers(0, len(INTERESTING)))] & (1 << 8 * width) - 1
                result[at : at + width] = value.to_bytes(width, "little" if rng.random() < 0.8 else "big")  # noqa: PLR2004
    return bytes(result)


def bitmaps() -> list[BitMap64]:
    """Returns sets with every kind of container, in one and in many 32-bit bitmaps."""
    rng = np.random.default_rng(0)
    values: list[Any] = [
        [],
        [7],
        [1, 3, 5, 7, 9],
        range(1000),
        rng.integers(0, 2**16, 200),
        rng.integers(0, 2**17, 12_000),
        rng.integers(0, 2**20, 60),
        rng.integers(0, 2**36, 60),
        [*range(10, 500), *range(70_000, 70_900, 3), *range(2**32, 2**32 + 300), 5 * 2**32 + 5],
        [value for start in range(0, 6 * 65536, 65536) for value in range(start + 5, start + 60)],
    ]
    return [BitMap64(sorted({int(value) for value in items})) for items in values]


def check_bitmap(bitmap: BitMap64, limit: int) -> None:
    """Fail unless a decoded bitmap is consistent."""
    if codec.decode64(codec.encode64(bitmap, high_key_limit=limit), high_key_limit=limit) != bitmap:
        raise AssertionError("re-encoding gives another set")
    if len(bitmap) <= LISTED:
        values = codec.bitmap_to_numpy(bitmap)
        if len(values) != len(bitmap) or not (values[1:] > values[:-1]).all():
            raise AssertionError("the values do not ascend")


def decode_roaring64(data: bytes) -> None:
    """Decodes a 64-bit bitmap."""
    check_bitmap(
        codec.decode64(data, high_key_limit=codec.UNSIGNED_HIGH_KEY_LIMIT), limit=codec.UNSIGNED_HIGH_KEY_LIMIT
    )


def decode_roaring32(data: bytes) -> None:
    """Decodes a 32-bit bitmap."""
    bitmap = codec.decode32(data)
    if codec.decode32(codec.encode32(bitmap)) != bitmap:
        raise AssertionError("re-encoding gives another set")


def decode_vector(data: bytes) -> None:
    """Decodes a framed vector."""
    check_bitmap(codec.decode_deletion_vector(data), codec.JAVA_HIGH_KEY_LIMIT)


def decode_puffin(data: bytes) -> None:
    """Reads a footer and its blobs."""
    source = codec.BytesSource(data)
    for blob in codec.read_puffin(source).blobs:
        codec.read_blob(source, blob, limit=2**24)


def decode_set(data: bytes) -> None:
    """Decodes a delta-zstd set."""
    limit = codec.UNSIGNED_HIGH_KEY_LIMIT
    check_bitmap(codec.get_compression("delta-zstd").decode(data, high_key_limit=limit), limit)


def decode_hashed(data: bytes) -> None:
    """Decodes hashed keys, and encodes them again."""
    keys = codec.decode_hash_map(data, limit=2**24).keys
    if keys.nbytes < LISTED:
        again = codec.decode_hash_map(codec.encode_hash_map(np.zeros(keys.num_rows, np.int64), keys)).keys
        if again.schema != keys.schema or again.num_rows != keys.num_rows:
            raise AssertionError("re-encoding gives other keys")


def decode_edv(data: bytes) -> None:
    """Decodes a file with an equality delete vector."""
    vector = codec.decode_equality_vector_file(codec.BytesSource(data))
    if codec.decode_equality_vector_file(codec.BytesSource(codec.encode_equality_vector_file(vector))) != vector:
        raise AssertionError("re-encoding gives another vector")


def decode_inline(data: bytes) -> None:
    """Decodes an inline Delta deletion vector from its JSON descriptor."""
    text, size, cardinality = json.loads(data)
    descriptor = codec.DeletionVectorDescriptor("i", text, None, size, cardinality)
    bitmap = codec.decode_delta_vector(descriptor)
    if codec.decode_deletion_vector(codec.convert_to_deletion_vector(descriptor)) != bitmap:
        raise AssertionError("the framed vector is another set")


def keep(data: bytes, _rng: Rng) -> bytes:
    """Returns the input without a repair."""
    return data


def reframe(data: bytes, rng: Rng) -> bytes:
    """Restore the length and the checksum of a vector, and usually its magic."""
    content = data[4:-4]
    if rng.random() < 0.8:  # noqa: PLR2004
        content = VECTOR_MAGIC + content[4:]
    return frame(content) if rng.random() < 0.95 else data  # noqa: PLR2004


def retail(data: bytes, rng: Rng) -> bytes:
    """Restore the magic and the footer size of a Puffin file."""
    at = data.rfind(b"PFA1{")
    if at < 0 or rng.random() < 0.2:  # noqa: PLR2004
        return data
    payload = data[at + 4 : -12]
    return b"PFA1" + data[4:at] + b"PFA1" + payload + len(payload).to_bytes(4, "little") + bytes(4) + b"PFA1"


def rechecksum(data: bytes, rng: Rng) -> bytes:
    """Restore the checksum of a set or of hashed keys."""
    content = data[:-4]
    return content + zlib.crc32(content).to_bytes(4, "little") if rng.random() < 0.95 else data  # noqa: PLR2004


def rechecksum_hashed(data: bytes, rng: Rng) -> bytes:
    """Damage the Arrow stream inside an otherwise valid blob, or restore only the checksum."""
    valid = HASHED[int(rng.integers(0, len(HASHED)))]
    if rng.random() < 0.4:  # noqa: PLR2004
        return rechecksum(data, rng)
    bitmap_size = int.from_bytes(valid[4:8], "little")
    stream = mutate(decompress("zstd", valid[16 + bitmap_size : -4]), rng, [data])
    packed = compress("zstd", stream)
    content = valid[:8] + len(packed).to_bytes(8, "little") + valid[16 : 16 + bitmap_size] + packed
    return content + zlib.crc32(content).to_bytes(4, "little")


def reframe_edv(data: bytes, rng: Rng) -> bytes:
    """Restore the file, and half of the time the vector in it."""
    file = retail(data, rng)
    at = file.rfind(b"PFA1{")
    if at < 12 or rng.random() < 0.5:  # noqa: PLR2004
        return file
    return b"PFA1" + reframe(file[4:at], rng) + file[at:]


def inline_json(data: bytes, rng: Rng) -> bytes:
    """Turns mutated content into a descriptor, and sometimes mutates its text, too."""
    text = z85_encode(data)
    if rng.random() < 0.3:  # noqa: PLR2004
        text = mutate(text.encode(), rng, [b"##093", b"00000"]).decode("latin-1")
    try:
        cardinality = len(decode_unframed(data))
    except FormatError:
        cardinality = int(rng.integers(0, 10))
    return json.dumps([text, len(data), cardinality]).encode()


def hashed_seeds() -> list[bytes]:
    """Returns blobs with keys of several types."""
    tables = [
        pa.table({"a": ["x", "yy", None], "b": [1, 2, 3]}),
        pa.table({"a": pa.array([b"1", b"22"], pa.binary()), "d": pa.array([1, 2], pa.date32())}),
        pa.table({"s": pa.array(["p", "q", "p"], pa.large_string()), "f": pa.array([1.0, 2.0, None])}),
    ]
    return [codec.encode_hash_map(np.arange(table.num_rows) * 2**33 + 5, table) for table in tables]


HASHED = hashed_seeds()


def targets() -> list[Target]:
    """Lists the decoders to fuzz."""
    sets = bitmaps()
    vectors = [codec.encode_deletion_vector(bitmap) for bitmap in sets]
    edv = codec.EqualityDeleteVector
    files = [codec.encode_equality_vector_file(edv(3, bitmap)) for bitmap in sets if bitmap]
    files += [
        codec.encode_equality_vector_file(edv(3, bitmap, "long-signed", "delta-zstd", contains_null=True))
        for bitmap in sets
    ]
    puffins = list(files)
    for compression in (None, "lz4", "zstd"):
        writer = codec.PuffinWriter(created_by="fuzz", compress_footer=compression == "lz4")
        for size in (0, 10, 1000):
            writer.add(codec.Blob("note", b"note " * size, (1, 2), {"a": "b"}, compression_codec=compression))
        puffins.append(writer.finish())
    small32 = [codec.encode32(BitMap([int(value) & 0xFFFF_FFFF for value in bitmap])) for bitmap in sets]
    return [
        Target("roaring64", [codec.encode64(bitmap) for bitmap in sets], decode_roaring64, keep),
        Target("roaring32", small32, decode_roaring32, keep),
        Target("vector", vectors, decode_vector, reframe),
        Target("puffin", puffins, decode_puffin, retail),
        Target(
            "delta-zstd", [codec.get_compression("delta-zstd").encode(each) for each in sets], decode_set, rechecksum
        ),
        Target("hashed", HASHED, decode_hashed, rechecksum_hashed),
        Target("edv", files, decode_edv, reframe_edv),
        Target(
            "delta-inline", [vector[4:-4] for vector in vectors if len(vector) < LISTED], decode_inline, inline_json
        ),
    ]


def resident() -> int:
    """Returns the peak memory of the process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def limit_memory() -> None:
    """Makes excessive allocations fail."""
    with open("/proc/self/statm") as statm:  # noqa: PTH123
        current = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (current + ADDRESS_SPACE_BYTES,) * 2)


def work(seed: int, mutations: int, progress: Any, results: Any) -> None:
    """Fuzz in one process; `progress` keeps the number of the current input in case it crashes the process."""
    every = targets()
    limit_memory()
    before = resident()
    counts: Counter[str] = Counter()
    slowest = 0.0
    failures: list[str] = []
    for number in range(mutations):
        progress.value = number
        rng = np.random.default_rng((seed, number))
        target = every[number % len(every)]
        data = mutate(target.seeds[int(rng.integers(0, len(target.seeds)))], rng, target.seeds)
        data = target.repair(data, rng)
        started = time.process_time()
        try:
            target.decode(data)
            counts[f"{target.name} accepted"] += 1
        except FormatError:
            counts[f"{target.name} refused"] += 1
        except Exception:  # noqa: BLE001 - any other exception is what this script looks for
            failures.append(
                f"seed {seed} input {number} {target.name} {data[:200].hex()}\n{traceback.format_exc()[-1500:]}"
            )
        seconds = time.process_time() - started
        slowest = max(slowest, seconds)
        if seconds > SLOW_SECONDS:
            failures.append(f"seed {seed} input {number} {target.name}: {seconds:.1f} s")
        if resident() - before > RESIDENT_BYTES:
            failures.append(f"seed {seed} input {number} {target.name}: {resident() - before} bytes of memory")
            before = resident()
    results.put((counts, failures[:10], slowest, resident() - before))


def main() -> int:
    """Fuzz in several processes and print the outcome."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutations", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    started = time.perf_counter()
    jobs = []
    for job in range(options.jobs):
        progress, results = context.Value("q", -1, lock=False), context.SimpleQueue()
        share = options.mutations // options.jobs + (job < options.mutations % options.jobs)
        process = context.Process(target=work, args=(options.seed + job, share, progress, results))
        process.start()
        jobs.append((options.seed + job, process, progress, results))
    counts: Counter[str] = Counter()
    failures: list[str] = []
    for seed, process, progress, results in jobs:
        process.join()
        if process.exitcode != 0 or results.empty():
            failures.append(f"seed {seed}: exit code {process.exitcode} at input {progress.value}")
            continue
        job_counts, job_failures, slowest, grown = results.get()
        counts.update(job_counts)
        failures += job_failures
        print(f"seed {seed}: slowest input {slowest:.3f} s, memory grew by {grown / 2**20:.0f} MiB")
    for name, count in sorted(counts.items()):
        print(f"{name:24} {count:9}")
    print(f"{sum(counts.values())} inputs in {time.perf_counter() - started:.0f} s, {len(failures)} failures")
    for failure in failures[:20]:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
