"""Decimals in JSON: numbers, text, or the bytes of an integer in base64, as Kafka Connect and Debezium write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.spark import try_cast

if TYPE_CHECKING:
    from pyspark.sql import Column

DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
# Debezium's decimal without a fixed scale is an object with value and scale.
_OBJECT: Final = r"^\{"
_BASE64: Final = r"^[A-Za-z0-9+/]+={0,2}$"
_MOST_DIGITS: Final = 38
_HEX_DIGITS: Final = 32  # 16 bytes hold more than the 38 digits that a decimal has
# A number with a fraction or an exponent, and the text that may precede it in an array or a map.
_FRACTION: Final = r"(-?\d+)(?=[.eE])(?:\.(\d*))?([eE][+-]?\d+)?"
_TEXT: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_NEXT: Final = r"[\s\]]*,[\s\[]*"
_OTHERS: Final = rf"(?:{_TEXT}|null|-?\d+){_NEXT}"


def is_base64(raw: Column) -> Column:
    """Tests whether text can be base64, as many numbers can."""
    return raw.rlike(_BASE64)


def read_decimal(raw: Column, type_: T.DecimalType) -> Column:
    """Reads a decimal from a number, its text, or an object of `scale` and `value`; null if digits would be lost."""
    encoded, scale = F.get_json_object(raw, "$.value"), try_cast(F.get_json_object(raw, "$.scale"), "int")
    return F.when(raw.rlike(_OBJECT), decode_decimal(encoded, scale, type_)).otherwise(_read_text_decimal(raw, type_))


def decode_decimal(raw: Column, scale: Column, type_: T.DecimalType) -> Column:
    """Decodes a decimal from its unscaled value, big-endian bytes in base64; null if it does not fit."""
    digits = F.hex(F.try_to_binary(raw, F.lit("base64")))
    sign = F.when(F.substring(digits, 1, 1) >= "8", "F").otherwise("0")
    whole = F.concat(F.call_function("repeat", sign, _HEX_DIGITS - F.length(digits)), digits)
    high = F.conv(F.substring(whole, 1, 16), 16, -10).cast("decimal(38, 0)")
    low = F.conv(F.substring(whole, 17, 16), 16, 10).cast("decimal(38, 0)")
    number = F.try_add(F.try_multiply(high, F.lit(str(1 << 64)).cast("decimal(20, 0)")), low)
    text = F.concat(number.cast("string"), F.lit("E"), (-scale).cast("string"))
    fits = F.length(digits).between(1, _HEX_DIGITS)
    if type_.precision == _MOST_DIGITS:  # no wider type could show lost digits
        fits &= scale <= type_.scale
    return F.when(fits, _read_text_decimal(text, type_))


def quote_decimals(text: Column, types: T.StructType) -> Column:
    """Quotes fractions in JSON that are for decimals: Spark reads a number as a double, but text as it is.

    The names of fields identify them. A name that elsewhere stands for floats is not quoted.
    """
    floats = {name for name, *_ in _find_leaves(types, (T.FloatType, T.DoubleType))}
    decimals = [leaf for leaf in _find_leaves(types, (T.DecimalType,)) if leaf[0] not in floats]
    for in_map, opening, key in ((False, r"[\s\[]*", ""), (True, r"\{\s*", rf"{_TEXT}\s*:\s*")):
        names = "|".join(sorted({rf"\Q{name}\E" for name, is_map in decimals if is_map == in_map}))
        if names:
            start = rf'"(?:{names})"\s*:\s*{opening}|\G(?!^){_NEXT}'  # \G: directly after the previous match
            text = F.regexp_replace(text, rf"((?:{start})(?:{key}{_OTHERS})*+{key}){_FRACTION}", '$1"$2.$3$4"')
    return text


def _find_leaves(
    type_: T.DataType, wanted: tuple[type[T.DataType], ...], name: str = "", *, in_map: bool = False
) -> list[tuple[str, bool]]:
    """Returns the fields with values of some types, also in arrays and maps, and whether they are maps."""
    if isinstance(type_, T.StructType):
        return [leaf for part in type_.fields for leaf in _find_leaves(part.dataType, wanted, part.name)]
    if isinstance(type_, T.ArrayType):
        return _find_leaves(type_.elementType, wanted, name, in_map=in_map)
    if isinstance(type_, T.MapType):
        return _find_leaves(type_.valueType, wanted, name, in_map=True)
    return [(name, in_map)] if isinstance(type_, wanted) else []


def _read_text_decimal(raw: Column, type_: T.DecimalType) -> Column:
    value = try_cast(raw, type_)
    if type_.precision == _MOST_DIGITS:
        return F.when(~raw.rlike(rf"\.\d{{{type_.scale}}}\d*[1-9]"), value)
    wider = T.DecimalType(_MOST_DIGITS, _MOST_DIGITS - (type_.precision - type_.scale))
    return F.when(value == try_cast(raw, wider), value)
