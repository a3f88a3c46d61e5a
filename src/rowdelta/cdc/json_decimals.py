"""Decimals in JSON: numbers, text, or the bytes of an integer in base64, as Kafka Connect and Debezium write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

if TYPE_CHECKING:
    from pyspark.sql import Column

DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
# Debezium's decimal of no fixed scale is an object that holds both.
_OBJECT: Final = r"^\{"
_BASE64: Final = r"^[A-Za-z0-9+/]+={0,2}$"
_MOST_DIGITS: Final = 38
_HEX_DIGITS: Final = 32  # 16 bytes hold more than the 38 digits that a decimal has


def is_base64(raw: Column) -> Column:
    """Whether text can be base64; many numbers can, too."""
    return raw.rlike(_BASE64)


def exact_decimal(raw: Column, kind: T.DecimalType) -> Column:
    """A decimal out of a number, its text, or an object of `scale` and `value`; null where digits would be lost."""
    encoded, scale = F.get_json_object(raw, "$.value"), F.get_json_object(raw, "$.scale").try_cast("int")
    return F.when(raw.rlike(_OBJECT), decimal_of_base64(encoded, scale, kind)).otherwise(_of_text(raw, kind))


def decimal_of_base64(raw: Column, scale: Column, kind: T.DecimalType) -> Column:
    """A decimal out of its unscaled value, big-endian bytes in base64; null where it does not fit."""
    digits = F.hex(F.try_to_binary(raw, F.lit("base64")))
    sign = F.when(F.substring(digits, 1, 1) >= "8", "F").otherwise("0")
    whole = F.concat(F.repeat(sign, _HEX_DIGITS - F.length(digits)), digits)
    high = F.conv(F.substring(whole, 1, 16), 16, -10).cast("decimal(38, 0)")
    low = F.conv(F.substring(whole, 17, 16), 16, 10).cast("decimal(38, 0)")
    number = F.try_add(F.try_multiply(high, F.lit(str(1 << 64)).cast("decimal(20, 0)")), low)
    text = F.concat(number.cast("string"), F.lit("E"), (-scale).cast("string"))
    fits = F.length(digits).between(1, _HEX_DIGITS)
    if kind.precision == _MOST_DIGITS:  # there is no wider type that would show lost digits
        fits &= scale <= kind.scale
    return F.when(fits, _of_text(text, kind))


def _of_text(raw: Column, kind: T.DecimalType) -> Column:
    value = raw.try_cast(kind)
    if kind.precision == _MOST_DIGITS:
        return F.when(~raw.rlike(rf"\.\d{{{kind.scale}}}\d*[1-9]"), value)
    wider = T.DecimalType(_MOST_DIGITS, _MOST_DIGITS - (kind.precision - kind.scale))
    return F.when(value == raw.try_cast(wider), value)
