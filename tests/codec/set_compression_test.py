from __future__ import annotations

import zlib
from struct import pack
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64

from rowdelta.codec import bitmap_from_sorted, encode_deletion_vector
from rowdelta.codec import set_compression as sets
from rowdelta.codec.frame_compression import compress
from rowdelta.codec.roaring import UNSIGNED_HIGH_KEY_LIMIT
from rowdelta.codec.set_compression import get_compression
from rowdelta.errors import FormatError

DELTA = get_compression("delta-zstd")


def stored(count: int, first: int, width: int, planes: bytes, *, magic: bytes = b"RDS1") -> bytes:
    content = pack("<4sQQB", magic, count, first, width) + compress("zstd", planes)
    return content + pack("<I", zlib.crc32(content))


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["roaring", "delta-zstd"]), st.sets(st.integers(0, 2**64 - 1), max_size=60))
def test_any_set_comes_back(name: str, values: set[int]) -> None:
    compression = get_compression(name)
    data = compression.encode(BitMap64(values), high_key_limit=UNSIGNED_HIGH_KEY_LIMIT)
    decoded = compression.decode(data, cardinality=len(values), high_key_limit=UNSIGNED_HIGH_KEY_LIMIT)
    assert decoded == BitMap64(values)


@pytest.mark.parametrize("values", [[], [0], [2**62], range(5), [0, 2**62], range(0, 10**6, 3), range(7, 10**6)])
def test_regular_set_comes_back(values: Any) -> None:
    assert DELTA.decode(DELTA.encode(BitMap64(values))) == BitMap64(values)


def test_roaring_is_the_framed_vector() -> None:
    assert get_compression("roaring").encode(BitMap64([1, 2])) == encode_deletion_vector(BitMap64([1, 2]))


def test_sparse_keys_take_less_than_half_of_roaring() -> None:
    rng = np.random.default_rng(0)
    bitmap = bitmap_from_sorted(np.sort(rng.choice(20_000_000, 1_000_000, replace=False)))
    assert len(DELTA.encode(bitmap)) < 800_000 < len(encode_deletion_vector(bitmap)) / 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "has 0 bytes"),
        (stored(2, 5, 1, b"\0", magic=b"RDS2"), "magic b'RDS2'"),
        (stored(2, 5, 1, b"\0")[:-1] + b"?", "checksum"),
        (stored(3, 5, 1, b"\0"), "gives 1 bytes|has 1 bytes of gaps, not 2 times 1"),
        (stored(2, 5, 1, b"\0\0"), "more than the limit of 1"),
        (stored(2, 5, 0, b""), "gaps of 0 bytes"),
        (stored(2, 5, 9, bytes(9)), "gaps of 9 bytes"),
        (stored(1, 5, 1, b""), "claims 1 values"),
        (stored(0, 5, 0, b""), "claims 0 values from 5"),
        (stored(2**40, 5, 1, b"\0"), "claims 1099511627776 values"),
        (stored(2, 5, 8, b"\xff" * 8), "run past 64 bits"),
        (stored(2, 2**64 - 1, 1, b"\0"), "run past 64 bits"),
        (stored(1, 2**63, 0, b""), "value 9223372036854775808, above the high key limit"),
    ],
)
def test_damaged_delta_set_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        DELTA.decode(data)


def test_delta_set_of_another_cardinality_is_refused() -> None:
    with pytest.raises(FormatError, match="has 2 values but its metadata says 3"):
        DELTA.decode(DELTA.encode(BitMap64([1, 2])), cardinality=3)


def test_delta_set_of_too_many_values_is_pointed_to_roaring() -> None:
    bitmap = BitMap64()
    bitmap.add_range(0, sets.MAX_DELTA_VALUES + 1)
    with pytest.raises(FormatError, match=r"Hint: set write\.deletion-vector\.compression to roaring"):
        DELTA.encode(bitmap)


def test_value_above_the_high_key_limit_is_not_stored() -> None:
    with pytest.raises(FormatError, match="value 9223372036854775808 is above"):
        DELTA.encode(BitMap64([2**63]))


def test_own_compression_is_found_once_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(sets.RoaringSet):
        name = "other"

    monkeypatch.setattr(sets, "_compressions", dict(sets._compressions))
    other = Other()
    sets.register_compression(other)
    assert get_compression("other") is other
