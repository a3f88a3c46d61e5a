from __future__ import annotations

from struct import pack
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap, BitMap64

from rowdelta.codec import roaring_check as structure
from rowdelta.codec.roaring import JAVA_HIGH_KEY_LIMIT, UNSIGNED_HIGH_KEY_LIMIT, decode32, decode64, encode32, encode64
from rowdelta.errors import FormatError

Container: TypeAlias = tuple[int, int, bytes]  # key, declared cardinality, body
FULL_BITSET = b"\xff" * 8192


def array(*values: int) -> bytes:
    return pack(f"<{len(values)}H", *values)


def runs(*pairs: tuple[int, int]) -> bytes:
    return pack("<H", len(pairs)) + b"".join(pack("<HH", start, length - 1) for start, length in pairs)


def headers(containers: tuple[Container, ...]) -> bytes:
    return b"".join(pack("<HH", key, cardinality - 1) for key, cardinality, _ in containers)


def without_runs(*containers: Container, offsets: list[int] | None = None) -> bytes:
    sizes = [len(body) for _, _, body in containers]
    first = 8 + 8 * len(containers)
    places = offsets or [first + sum(sizes[:index]) for index in range(len(sizes))]
    bodies = b"".join(body for _, _, body in containers)
    return pack("<II", 12346, len(containers)) + headers(containers) + pack(f"<{len(places)}I", *places) + bodies


def with_runs(*containers: Container) -> bytes:
    """Up to three run containers: no offsets then."""
    flags = bytes([(1 << len(containers)) - 1])
    bodies = b"".join(body for _, _, body in containers)
    return pack("<I", 12347 | len(containers) - 1 << 16) + flags + headers(containers) + bodies


def map64(*bitmaps: tuple[int, bytes], count: int | None = None) -> bytes:
    entries = b"".join(pack("<I", key) + data for key, data in bitmaps)
    return pack("<Q", len(bitmaps) if count is None else count) + entries


ONE = without_runs((0, 1, array(1)))
EMPTY = without_runs()

BROKEN_32 = {
    "an array that falls": (without_runs((0, 3, array(3, 1, 2))), "does not ascend"),
    "an array that repeats": (without_runs((0, 3, array(1, 1, 2))), "does not ascend"),
    "an array that repeats at an odd place": (
        pack("<I", 12347 | 1 << 16) + b"\1" + pack("<4H", 0, 9, 1, 1) + runs((0, 10)) + array(2, 2),
        "does not ascend",
    ),
    "container keys that fall": (without_runs((5, 1, array(1)), (2, 1, array(1))), "larger key"),
    "container keys that repeat": (without_runs((5, 1, array(1)), (5, 1, array(2))), "larger key"),
    "a false first offset": (without_runs((0, 1, array(1)), (1, 1, array(2)), offsets=[25, 26]), "its offset or its"),
    "an offset outside": (without_runs((0, 1, array(1)), (1, 1, array(2)), offsets=[999, 26]), "outside its bitmap"),
    "an offset in the header": (without_runs((0, 1, array(1)), offsets=[3]), "inside the header"),
    "offsets that cross": (
        without_runs((0, 1, array(1)), (1, 1, array(2)), (2, 1, array(3)), offsets=[34, 32, 36]),
        "its offset or its",
    ),
    "a bitset of another cardinality": (without_runs((0, 5000, FULL_BITSET)), "bitset with another cardinality"),
    "a bitset that is cut": (without_runs((0, 65536, FULL_BITSET[:-1])), "needs 8208 bytes but the input has 8207"),
    "runs that overlap": (with_runs((0, 21, runs((0, 10), (5, 11)))), "overlap"),
    "runs that touch": (with_runs((0, 20, runs((0, 10), (10, 10)))), "touch"),
    "runs that fall": (with_runs((0, 20, runs((50, 10), (10, 10)))), "do not ascend"),
    "a run past the container": (with_runs((0, 20, runs((65530, 20)))), "ends after 65535"),
    "runs of another cardinality": (with_runs((0, 7, runs((0, 10)))), "another cardinality"),
    "a run container without runs": (with_runs((0, 1, runs())), "without runs"),
    "trailing bytes": (ONE + b"xyz", "ends at byte 18 but the input has 21 bytes"),
    "a missing byte": (ONE[:-1], "needs 18 bytes but the input has 17"),
    "a bad cookie": (pack("<II", 12345, 0), "cookie 0x00003039"),
    "a cookie with something above it": (pack("<II", 12346 | 1 << 16, 0), "cookie 0x0001303a"),
    "too many containers": (pack("<II", 12346, 65537), "65537 containers"),
    "a header that is cut": (pack("<II", 12346, 65536), "needs"),
    "nothing": (b"", "needs 8 bytes"),
}

BROKEN_64 = {
    "high keys that fall": (map64((5, ONE), (1, ONE)), "high key 1 after 5"),
    "high keys that repeat": (map64((5, ONE), (5, ONE)), "high key 5 after 5"),
    "a negative high key": (map64((2**31, ONE)), "Invalid unsigned key"),
    "the high key that Java has no room for": (map64((2**31 - 1, ONE)), "high key 2147483647"),
    "fewer bitmaps than counted": (map64((0, ONE), count=2), "claims 2 bitmaps"),
    "more bitmaps than counted": (map64((0, ONE), (1, ONE), count=1), "ends at byte 30"),
    "a huge count": (map64((0, ONE), count=2**63), "claims 9223372036854775808 bitmaps"),
    "trailing bytes": (map64((0, ONE)) + b"zz", "ends at byte"),
    "a count that is cut": (bytes(7), "has 7 bytes"),
}


@pytest.mark.parametrize("name", BROKEN_32)
def test_broken_32_bit_bitmap_is_refused(name: str) -> None:
    data, message = BROKEN_32[name]
    with pytest.raises(FormatError, match=message):
        decode32(data)


@pytest.mark.parametrize("name", BROKEN_32)
def test_broken_32_bit_bitmap_inside_a_64_bit_one_is_refused(name: str) -> None:
    with pytest.raises(FormatError):
        decode64(map64((0, ONE), (1, BROKEN_32[name][0]), (2, ONE)))


@pytest.mark.parametrize("name", BROKEN_64)
def test_broken_64_bit_bitmap_is_refused(name: str) -> None:
    data, message = BROKEN_64[name]
    with pytest.raises(FormatError, match=message):
        decode64(data)


@pytest.mark.parametrize(
    "name",
    [
        "a false first offset",
        "an offset outside",
        "offsets that cross",
        "runs of another cardinality",
        "trailing bytes",
    ],
)
def test_pyroaring_alone_would_take_this_32_bit_bitmap(name: str) -> None:
    assert len(BitMap.deserialize(BROKEN_32[name][0])) > 0


@pytest.mark.parametrize(
    "name",
    ["a negative high key", "the high key that Java has no room for", "more bitmaps than counted", "trailing bytes"],
)
def test_pyroaring_alone_would_take_this_64_bit_bitmap(name: str) -> None:
    assert len(BitMap64.deserialize(BROKEN_64[name][0])) == 1


def test_empty_bitmaps_between_high_keys_are_taken_as_java_writes_them() -> None:
    data = map64((0, ONE), (1, EMPTY), (2, EMPTY), (3, ONE))
    assert list(decode64(data)) == [1, (3 << 32) + 1]


def test_only_empty_bitmaps_give_an_empty_set() -> None:
    assert len(decode64(map64((0, EMPTY), (1, EMPTY)))) == 0
    assert len(decode32(EMPTY)) == 0


def test_high_key_limit_can_be_lifted_to_all_of_64_bits() -> None:
    bitmap = BitMap64([0, 2**63, 2**64 - 1])
    data = encode64(bitmap, high_key_limit=UNSIGNED_HIGH_KEY_LIMIT)
    assert decode64(data, high_key_limit=UNSIGNED_HIGH_KEY_LIMIT) == bitmap
    with pytest.raises(FormatError, match="above the limit"):
        decode64(data)
    with pytest.raises(FormatError, match="18446744073709551615"):
        encode64(bitmap)


def test_largest_high_key_of_java_is_taken() -> None:
    bitmap = BitMap64([JAVA_HIGH_KEY_LIMIT << 32])
    assert decode64(encode64(bitmap)) == bitmap


def test_encoding_leaves_the_bitmap_as_it_was() -> None:
    bitmap = BitMap64(list(range(10)), optimize=False)
    assert bitmap.get_statistics()["n_run_containers"] == 0
    assert decode64(encode64(bitmap)) == bitmap
    assert bitmap.get_statistics()["n_run_containers"] == 0


def test_few_bytes_of_runs_represent_a_whole_32_bit_range_without_being_expanded() -> None:
    full = BitMap()
    full.add_range(0, 2**32)
    data = encode32(full)
    assert len(data) < 2**20
    assert len(decode32(data)) == 2**32


def test_cardinality_of_bitsets_is_counted_without_numpy_2_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encode32(BitMap(range(0, 200_000, 2)))
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    assert len(decode32(data)) == 100_000
    assert structure._count_bits(np.full((1, 8192), 0xFF, np.uint8)).tolist() == [65536]


def every_kind_of_container(highs: list[int], seed: int) -> BitMap64:
    rng = np.random.default_rng(seed)
    bitmap = BitMap64()
    for high in highs:
        base = high << 32
        for container in rng.choice(12, rng.integers(1, 6), replace=False):
            start = base + int(container) * 65536
            match rng.integers(0, 4):
                case 0:
                    bitmap.update((start + rng.integers(0, 65536, rng.integers(1, 50))).tolist())
                case 1:
                    bitmap |= BitMap64((start + np.flatnonzero(rng.random(65536) < 0.2)).tolist())
                case 2:
                    bitmap.add_range(start + int(rng.integers(0, 999)), start + int(rng.integers(1000, 65537)))
                case _:
                    for piece in rng.choice(600, 5, replace=False):
                        bitmap.add_range(start + 100 * int(piece), start + 100 * int(piece) + int(rng.integers(1, 99)))
    return bitmap


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=4, unique=True), st.integers(0, 2**32))
def test_any_mix_of_containers_comes_back(highs: list[int], seed: int) -> None:
    bitmap = every_kind_of_container(highs, seed)
    for data in (encode64(bitmap), bitmap.serialize()):
        assert decode64(data) == bitmap


@settings(max_examples=200, deadline=None)
@given(st.sets(st.integers(0, (JAVA_HIGH_KEY_LIMIT << 32) + 2**32 - 1), max_size=50))
def test_any_set_of_values_comes_back(values: set[int]) -> None:
    assert list(decode64(encode64(BitMap64(values)))) == sorted(values)


@settings(max_examples=200, deadline=None)
@given(st.sets(st.integers(0, 2**32 - 1), max_size=50))
def test_any_set_of_32_bit_values_comes_back(values: set[int]) -> None:
    assert list(decode32(encode32(BitMap(values)))) == sorted(values)
