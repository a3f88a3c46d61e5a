"""Key codecs: they map the values of an equality column to unsigned 64-bit integers, and keep their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rowdelta.codec.deletion_vector import MAX_POSITION
from rowdelta.codec.roaring import JAVA_HIGH_KEY_LIMIT, UNSIGNED_HIGH_KEY_LIMIT
from rowdelta.errors import FormatError

_INT32_BIAS, _INT64_BIAS = 2**31, 2**63


class KeyCodec(Protocol):
    """The interface of a codec. `encode` must keep order and `decode` must undo it."""

    @property
    def name(self) -> str:
        """The name in a blob's `codec` property."""

    @property
    def types(self) -> tuple[str, ...]:
        """The Iceberg types whose default codec this is."""

    @property
    def high_key_limit(self) -> int:
        """The largest upper 32 bits that an encoded value may have."""

    def encode(self, values: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
        """Turns column values into bitmap values."""

    def decode(self, encoded: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Turns bitmap values back into column values."""


@dataclass(frozen=True)
class IntegerCodec:
    """Integers from `minimum` to `maximum`, moved up by `bias` so that none is negative.

    Examples:
        >>> codec = IntegerCodec("int", ("int",), -(2**31), 2**31 - 1, bias=2**31)
        >>> codec.encode(np.array([-1, 0, 1])).tolist()
        [2147483647, 2147483648, 2147483649]
        >>> codec.decode(codec.encode(np.array([-1, 0, 1]))).tolist()
        [-1, 0, 1]
    """

    name: str
    types: tuple[str, ...]
    minimum: int
    maximum: int
    bias: int = 0
    high_key_limit: int = UNSIGNED_HIGH_KEY_LIMIT

    def encode(self, values: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
        """Turns column values into bitmap values."""
        if values.dtype.kind not in "iu":
            raise FormatError(f"codec {self.name!r} takes integers, not {values.dtype}")
        if len(values):
            for extreme in (int(values.min()), int(values.max())):
                if not self.minimum <= extreme <= self.maximum:
                    raise FormatError(
                        f"value {extreme} is outside {self.minimum} to {self.maximum}, "
                        f"the range of codec {self.name!r}",
                        hint="codec 'long-signed' takes every long" if self.name == "long" else None,
                    )
        # Unsigned addition wraps, so it adds the bias to negative values as well.
        return values.astype(np.int64).view(np.uint64) + np.uint64(self.bias)

    def decode(self, encoded: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Turns bitmap values back into column values."""
        if len(encoded):
            for extreme in (int(encoded.min()), int(encoded.max())):
                if not self.minimum <= extreme - self.bias <= self.maximum:
                    raise FormatError(f"bitmap value {extreme} stands for no value of codec {self.name!r}")
        return (encoded.astype(np.uint64) - np.uint64(self.bias)).view(np.int64)


_codecs: dict[str, KeyCodec] = {}


def register(codec: KeyCodec) -> None:
    """Adds a codec under its name.

    Raises:
        FormatError: There is a codec of that name.

    Examples:
        >>> register(IntegerCodec("long", ("long",), 0, 10))
        Traceback (most recent call last):
        ...
        rowdelta.errors.FormatError: there is a key codec 'long' already
        Hint: choose another name
    """
    if codec.name in _codecs:
        raise FormatError(f"there is a key codec {codec.name!r} already", hint="choose another name")
    _codecs[codec.name] = codec


def get(name: str) -> KeyCodec:
    """Finds a codec by name.

    Examples:
        >>> get("long").encode(np.array([7])).tolist()
        [7]
        >>> get("uuid")
        Traceback (most recent call last):
        ...
        rowdelta.errors.FormatError: unknown key codec 'uuid'
        Hint: known codecs: date, int, long, long-signed, timestamp-micros
    """
    if name not in _codecs:
        raise FormatError(f"unknown key codec {name!r}", hint=f"known codecs: {', '.join(sorted(_codecs))}")
    return _codecs[name]


def find_codec(type_name: str) -> KeyCodec:
    """Finds the default codec of an Iceberg type.

    Examples:
        >>> find_codec("timestamptz").name
        'timestamp-micros'
        >>> find_codec("string")
        Traceback (most recent call last):
        ...
        rowdelta.errors.FormatError: no key codec takes the type 'string'
        Hint: types that have one: date, int, long, timestamp, timestamptz
    """
    for codec in _codecs.values():
        if type_name in codec.types:
            return codec
    types = sorted(name for codec in _codecs.values() for name in codec.types)
    raise FormatError(f"no key codec takes the type {type_name!r}", hint=f"types that have one: {', '.join(types)}")


for _codec in (
    IntegerCodec("long", ("long",), 0, MAX_POSITION, high_key_limit=JAVA_HIGH_KEY_LIMIT),
    IntegerCodec("long-signed", (), -_INT64_BIAS, _INT64_BIAS - 1, bias=_INT64_BIAS),
    IntegerCodec("int", ("int",), -_INT32_BIAS, _INT32_BIAS - 1, bias=_INT32_BIAS, high_key_limit=0),
    IntegerCodec("date", ("date",), -_INT32_BIAS, _INT32_BIAS - 1, bias=_INT32_BIAS, high_key_limit=0),
    IntegerCodec("timestamp-micros", ("timestamp", "timestamptz"), -_INT64_BIAS, _INT64_BIAS - 1, bias=_INT64_BIAS),
):
    register(_codec)
