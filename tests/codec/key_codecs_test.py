from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowdelta.codec import get_codec
from rowdelta.codec import key_codecs as keys
from rowdelta.codec.deletion_vector import MAX_POSITION
from rowdelta.codec.key_codecs import IntegerCodec, find_codec
from rowdelta.codec.key_codecs import register as register_codec
from rowdelta.codec.roaring import JAVA_HIGH_KEY_LIMIT
from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

RANGES = {
    "long": (0, MAX_POSITION),
    "long-signed": (-(2**63), 2**63 - 1),
    "int": (-(2**31), 2**31 - 1),
    "date": (-(2**31), 2**31 - 1),
    "timestamp-micros": (-(2**63), 2**63 - 1),
}


@pytest.fixture
def registry() -> Iterator[None]:
    before = dict(keys._codecs)
    yield
    keys._codecs.clear()
    keys._codecs.update(before)


@settings(max_examples=100, deadline=None)
@given(st.data())
@pytest.mark.parametrize("name", RANGES)
def test_codec_keeps_order_and_gives_the_values_back(name: str, data: Any) -> None:
    low, high = RANGES[name]
    values = np.array(sorted(data.draw(st.lists(st.integers(low, high), max_size=20))), np.int64)
    encoded = get_codec(name).encode(values)
    assert encoded.dtype == np.uint64
    assert ((encoded[1:] > encoded[:-1]) == (values[1:] > values[:-1])).all()
    assert get_codec(name).decode(encoded).tolist() == values.tolist()


@pytest.mark.parametrize("name", RANGES)
def test_codec_takes_its_extremes_and_its_high_key_limit_fits_them(name: str) -> None:
    codec = get_codec(name)
    encoded = codec.encode(np.array(RANGES[name], np.int64))
    assert codec.decode(encoded).tolist() == list(RANGES[name])
    assert int(encoded[1]) >> 32 == codec.high_key_limit


@pytest.mark.parametrize(
    ("name", "value"),
    [("long", -1), ("long", MAX_POSITION + 1), ("int", 2**31), ("int", -(2**31) - 1), ("date", 2**40)],
)
def test_value_outside_the_codec_is_refused(name: str, value: int) -> None:
    with pytest.raises(FormatError, match=f"value {value} is outside"):
        get_codec(name).encode(np.array([0, value]))


def test_unsigned_value_above_a_long_is_refused() -> None:
    with pytest.raises(FormatError, match="value 18446744073709551615 is outside"):
        get_codec("long-signed").encode(np.array([2**64 - 1], np.uint64))


@pytest.mark.parametrize(("name", "value"), [("int", 2**32), ("long", MAX_POSITION + 1)])
def test_bitmap_value_without_a_key_is_refused(name: str, value: int) -> None:
    with pytest.raises(FormatError, match=f"bitmap value {value} stands for no value of codec '{name}'"):
        get_codec(name).decode(np.array([value], np.uint64))


def test_values_that_are_not_integers_are_refused() -> None:
    with pytest.raises(FormatError, match="takes integers, not float64"):
        get_codec("long").encode(np.array([1.0]))


def test_negative_long_is_pointed_to_the_signed_codec() -> None:
    with pytest.raises(FormatError, match="Hint: codec 'long-signed' takes every long"):
        get_codec("long").encode(np.array([-1]))


@pytest.mark.parametrize(
    ("type_name", "name"),
    [
        ("long", "long"),
        ("int", "int"),
        ("date", "date"),
        ("timestamp", "timestamp-micros"),
        ("timestamptz", "timestamp-micros"),
    ],
)
def test_type_has_a_default_codec(type_name: str, name: str) -> None:
    assert find_codec(type_name).name == name


def test_first_version_stays_within_the_limit_of_java() -> None:
    assert get_codec("long").high_key_limit == JAVA_HIGH_KEY_LIMIT


@pytest.mark.usefixtures("registry")
def test_own_codec_is_found_by_name_and_type_once_registered() -> None:
    short = IntegerCodec("short", ("short",), -(2**15), 2**15 - 1, bias=2**15)
    register_codec(short)
    assert get_codec("short") is short
    assert find_codec("short") is short
    with pytest.raises(FormatError, match="there is a key codec 'short' already"):
        register_codec(short)
