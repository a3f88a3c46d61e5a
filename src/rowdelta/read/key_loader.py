"""Loads the keys of delete files as arrays; each file is read once per process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.codec import bitmap_to_numpy, decode_equality_vector, get_codec, read_blob
from rowdelta.errors import FormatError
from rowdelta.iceberg import LruCache, find_column_path, read_delete_keys, read_only_blob_metadata, run_in_parallel
from rowdelta.read.integer_keys import IntegerKeys, write_integer_sql
from rowdelta.read.parquet_keys import read_parquet_keys
from rowdelta.spark import collect_arrow, make_frame_from_arrow, select_sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from rowdelta.codec import EqualityDeleteVector
    from rowdelta.iceberg import DeleteEntry, Field, SnapshotFiles, TableHandle

MOST_BYTES: Final = 512 << 20
MOST_KEYS: Final = 200_000_000
_WORDS_AT_ONCE: Final = 1 << 18


# By path, of all tables of the process: delete files never change.
_cache: Final = LruCache[str, IntegerKeys](MOST_BYTES, lambda keys: keys.keys.nbytes)


def forget_keys(paths: Iterable[str]) -> None:
    """Drops the keys of files that newer snapshots no longer have."""
    for path in paths:
        _cache.remove(path)


def load_integer_keys(
    handle: TableHandle, files: SnapshotFiles, entries: Sequence[DeleteEntry], column: Field
) -> list[IntegerKeys]:
    """Loads the keys of delete files on one integer column, in the order of the entries."""
    loaded = {entry.path: _cache.get(entry.path) for entry in entries}
    missing = [entry for entry in entries if loaded[entry.path] is None]
    vectors = [entry for entry in missing if entry.is_vector]
    read = run_in_parallel(lambda entry: read_vector_keys(handle, entry, column), vectors)
    loaded |= dict(zip([entry.path for entry in vectors], read, strict=True))
    loaded |= read_parquet_keys(handle, [entry for entry in missing if not entry.is_vector], column)
    rows = [entry for entry in missing if loaded[entry.path] is None]
    if rows:
        loaded |= read_row_keys(handle, files, rows, column)
    for entry in missing:
        keys = loaded[entry.path]
        assert keys is not None
        _cache.put(entry.path, keys)
    return [keys for entry in entries if (keys := loaded[entry.path]) is not None]


def read_vector(handle: TableHandle, entry: DeleteEntry) -> EqualityDeleteVector:
    """Reads and checks an equality delete vector; the footer alone finds its blob."""
    blob = read_only_blob_metadata(handle, entry.path, entry.file_size_in_bytes)
    entry.encoding(blob.type)
    vector = decode_equality_vector(blob, read_blob(handle.io.source(entry.path, entry.file_size_in_bytes), blob))
    if (vector.field_id,) != entry.equality_ids:
        raise FormatError(
            f"{entry.path} deletes by field {vector.field_id}, but its manifest entry says {list(entry.equality_ids)}"
        )
    count = len(vector.bitmap) + vector.contains_null
    if count != entry.record_count:
        raise FormatError(f"{entry.path} holds {count} keys, but its manifest entry says {entry.record_count}")
    return vector


def read_vector_keys(handle: TableHandle, entry: DeleteEntry, column: Field) -> IntegerKeys:
    """Reads the keys of an equality delete vector from storage."""
    return _decode_keys(read_vector(handle, entry), column)


_CODEC_TYPES: Final = {
    "long": {"long"},
    "long-signed": {"long"},
    "int": {"int", "long"},
    "date": {"date"},
    "timestamp-micros": {"timestamp", "timestamptz"},
}


def _decode_keys(vector: EqualityDeleteVector, column: Field) -> IntegerKeys:
    codec = get_codec(vector.codec)
    types = _CODEC_TYPES.get(vector.codec, set(codec.types))
    if column.type_name not in types:
        raise FormatError(
            f"a vector with codec {vector.codec!r} cannot delete by column {column.name!r} of type {column.type_name}"
        )
    keys = codec.decode(bitmap_to_numpy(vector.bitmap, limit=MOST_KEYS))
    return IntegerKeys(keys, vector.contains_null)


def read_row_keys(
    handle: TableHandle, files: SnapshotFiles, entries: Sequence[DeleteEntry], column: Field
) -> dict[str, IntegerKeys]:
    """Reads standard equality delete files in Spark, and collects one 64-bit word for each 64 neighbouring keys."""
    rows = read_delete_keys(handle, files, entries, [column.id])
    key = write_integer_sql(column, find_column_path(handle, column.id))
    block, bit = locate_bit("key")
    paths = pa.array([entry.path for entry in entries], pa.string())
    # A number stands for the path, which would be collected with every word.
    numbers = make_frame_from_arrow(
        handle.spark, pa.table({"_file": paths, "file": pa.array(range(len(paths)), pa.int32())})
    )
    keys = select_sql(rows, "_file", f"{key} as key").join(F.broadcast(numbers), "_file")
    words = select_sql(keys, "file", f"{block} as block", f"{bit} as bit")
    table = collect_arrow(words.groupBy("file", "block").agg({"bit": "bit_or"}).toDF("file", "block", "word"))
    codes = table["file"].to_numpy()
    blocks = table["block"].combine_chunks()
    nulls = blocks.is_null().to_numpy(zero_copy_only=False)
    values, word = blocks.fill_null(0).to_numpy(), table["word"].fill_null(0).combine_chunks().to_numpy()
    by_path = {}
    for code, entry in enumerate(entries):
        of_file = codes == code
        has_key = of_file & ~nulls
        keys_of_file = unpack_words(values[has_key], word[has_key])
        by_path[entry.path] = IntegerKeys(keys_of_file, bool((of_file & nulls).any()))
    return by_path


def locate_bit(number: str) -> tuple[str, str]:
    """Writes the block of a number in SQL, and its bit in the word of the block; `unpack_words` reverses it.

    Examples:
        >>> locate_bit("k")
        ('shiftright(k, 6)', 'shiftleft(1L, cast(k & 63 as int))')
    """
    return f"shiftright({number}, 6)", f"shiftleft(1L, cast({number} & 63 as int))"


def unpack_words(blocks: npt.NDArray[np.int64], words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Unpacks sorted keys from words: bit `i` of the word of block `b` is the key `64 * b + i`.

    Examples:
        >>> unpack_words(np.array([1, 0]), np.array([0b101, 0b10])).tolist()
        [1, 64, 66]
    """
    order = np.argsort(blocks, kind="stable")
    blocks, words = blocks[order], np.ascontiguousarray(words[order])
    parts = [np.empty(0, np.int64)]
    for start in range(0, len(words), _WORDS_AT_ONCE):  # unpacked bits take 64 bytes a word
        some = slice(start, start + _WORDS_AT_ONCE)
        row, bit = np.nonzero(np.unpackbits(words[some].view(np.uint8).reshape(-1, 8), axis=1, bitorder="little"))
        parts.append((blocks[some][row] << 6) + bit)
    return np.concatenate(parts)
