"""Converts JSON objects to rows of a table, with Debezium's notations of times and decimals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.cdc.json_decimals import DECIMAL, decode_decimal, is_base64, quote_decimals, read_decimal
from rowdelta.cdc.json_source import CORRUPT, OPTIONS
from rowdelta.cdc.value_checks import combine_tests
from rowdelta.choices import DecimalNotation, TimeUnit, check_choice
from rowdelta.spark import parse_column, try_cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column

    from rowdelta.cdc.json_source import JsonObject

# Debezium's and Kafka Connect's types of numbers that count from 1970.
_UNITS: Final = {
    "io.debezium.time.Timestamp": "millis",
    "org.apache.kafka.connect.data.Timestamp": "millis",
    "io.debezium.time.MicroTimestamp": "micros",
    "io.debezium.time.NanoTimestamp": "nanos",
}
# Read as text and converted here: Spark would take a number in a timestamp column for seconds, and round decimals.
_AS_TEXT: Final = (T.DateType, T.TimestampType, T.TimestampNTZType, T.DecimalType)
_NUMBER: Final = r"^-?\d+$"
_ZONE: Final = r":\d\d.*(Z|[+-]\d\d(:?\d\d)?)$"


def check_notation(time_unit: TimeUnit | None, decimals: DecimalNotation) -> None:
    """Refuses an unknown notation of times or decimals."""
    if time_unit is not None:
        check_choice("time_unit", time_unit, TimeUnit)
    check_choice("decimals", decimals, DecimalNotation)


@dataclass(frozen=True)
class _Context:
    """What the message says about a column besides its value. Nested values have none."""

    declared: Column
    is_quoted: Column

    @staticmethod
    def column(parsed: JsonObject, column: str) -> _Context:
        return _Context(parsed.declared[column], parsed.is_quoted(column))


class JsonRow:
    """Reads the columns of a JSON object.

    Args:
        types: The columns.
        time_unit: The unit of numbers in timestamp columns, if the message does not say.
        decimals: The notation of text in decimal columns, if the message does not say: `text` or `base64`.
        options: Further options of Spark's JSON reader.
    """

    def __init__(
        self,
        types: T.StructType,
        time_unit: TimeUnit | None,
        decimals: DecimalNotation = "text",
        options: Mapping[str, str] | None = None,
    ) -> None:
        self._types = types
        self._time_unit = time_unit
        self._decimals = decimals
        self._options = {**(options or {}), **OPTIONS}
        fields = [T.StructField(column.name, _read_type(column.dataType)) for column in types.fields]
        self._schema = T.StructType([*fields, T.StructField(CORRUPT, T.StringType())])

    def quote_decimals(self, text: Column) -> Column:
        """Quotes numbers in JSON text where Spark would lose digits of a decimal."""
        return quote_decimals(text, self._types)

    def parse(self, text: Column) -> Column:
        """Parses an object with Spark. Name the column, and pass a `JsonObject` of that name to the other methods."""
        return F.from_json(text, self._schema, self._options)

    def convert(self, parsed: JsonObject) -> dict[str, Column]:
        """Converts the columns, by name; null if a value does not fit."""
        return {
            column.name: self._convert(parsed.raw(column.name), column.dataType, _Context.column(parsed, column.name))
            for column in self._types.fields
        }

    def check(self, parsed: JsonObject, values: Mapping[str, Column]) -> list[tuple[Column, Column]]:
        """Returns tests for values that do not fit, each with its reason; `values` are the converted columns."""
        problems = [(parsed.raw(CORRUPT).isNotNull(), F.lit("a value does not fit the type of its column"))]
        for column in self._types.fields:
            type_, raw = column.dataType, parsed.raw(column.name)
            is_text = isinstance(type_, _AS_TEXT)
            test = raw.isNotNull() & values[column.name].isNull() if is_text else self._find_misfit(raw, type_)
            if test is None:
                continue
            text = raw if is_text else F.to_json(raw)
            reason = F.concat(F.lit(f"column {column.name!r} is {type_.simpleString()}, but the value is "), text)
            if isinstance(type_, (T.TimestampType, T.TimestampNTZType)):
                unknown = F.lit(", and the message does not say what the number counts: give time_unit")
                reason = F.concat(reason, F.when(raw.rlike(_NUMBER), unknown).otherwise(F.lit("")))
            elif isinstance(type_, T.DecimalType) and self._decimals == "text":
                maybe = F.lit(", and the message does not say what that is: give decimals='base64' if it is that")
                reason = F.concat(reason, F.when(is_base64(raw), maybe).otherwise(F.lit("")))
            problems.append((test, reason))
        return problems

    def _convert(self, raw: Column, type_: T.DataType, about: _Context | None) -> Column:
        """Converts a value to the type of the table; null if it does not fit."""
        if not _holds_text(type_):
            return raw
        if isinstance(type_, T.StructType):
            parts = [
                self._convert(raw.getField(part.name), part.dataType, None).alias(part.name) for part in type_.fields
            ]
            return F.when(raw.isNotNull(), F.struct(*parts))
        if isinstance(type_, T.ArrayType):
            return F.transform(raw, lambda item: self._convert(item, type_.elementType, None))
        if isinstance(type_, T.MapType):
            return F.transform_values(raw, lambda _, item: self._convert(item, type_.valueType, None))
        return self._convert_scalar(raw, type_, about)

    def _convert_scalar(self, raw: Column, type_: T.DataType, about: _Context | None) -> Column:
        if isinstance(type_, T.DateType):
            days = F.date_add(F.lit("1970-01-01").cast("date"), try_cast(raw, "int"))
            return F.when(raw.rlike(_NUMBER), days).otherwise(try_cast(raw, "date"))
        if isinstance(type_, T.DecimalType):
            return self._convert_decimal(raw, type_, about)
        return self._convert_timestamp(raw, type_, about)

    def _convert_decimal(self, raw: Column, type_: T.DecimalType, about: _Context | None) -> Column:
        exact = read_decimal(raw, type_)
        is_encoded = F.lit(self._decimals == "base64")
        if about is None:
            return F.when(is_encoded & is_base64(raw), decode_decimal(raw, F.lit(type_.scale), type_)).otherwise(exact)
        encoded = F.coalesce(about.declared["name"] == DECIMAL, is_encoded)
        scale = F.coalesce(try_cast(about.declared["scale"], "int"), F.lit(type_.scale))
        # Kafka Connect can also be configured to write such a decimal as a number.
        text = is_base64(raw) & (~raw.rlike(_NUMBER) | about.is_quoted)
        return F.when(encoded & text, decode_decimal(raw, scale, type_)).otherwise(exact)

    def _convert_timestamp(self, raw: Column, type_: T.DataType, about: _Context | None) -> Column:
        micros = self._read_micros(raw, F.lit(None).cast("string") if about is None else about.declared["name"])
        if not isinstance(type_, T.TimestampNTZType):
            return F.when(raw.rlike(_NUMBER), F.timestamp_micros(micros)).otherwise(try_cast(raw, type_))
        # A time without a zone is in UTC, whether it is a number or text with a zone.
        instant = F.when(raw.rlike(_ZONE), F.unix_micros(try_cast(raw, "timestamp"))).otherwise(micros)
        counted = F.lit("1970-01-01").cast("timestamp_ntz") + parse_column("INTERVAL '0.000001' SECOND") * instant
        return F.when(raw.rlike(_NUMBER) | raw.rlike(_ZONE), counted).otherwise(try_cast(raw, type_))

    def _read_micros(self, raw: Column, type_name: Column) -> Column:
        unit = F.lit(self._time_unit).cast("string")
        for name, type_unit in _UNITS.items():
            unit = F.when(type_name == name, type_unit).otherwise(unit)
        number = try_cast(raw, "bigint")
        rounded_down = F.call_function("div", F.try_subtract(number, F.pmod(number, F.lit(1000))), F.lit(1000))
        return (
            F.when(unit == "micros", number)
            .when(unit == "millis", F.try_multiply(number, F.lit(1000)))
            .when(unit == "nanos", rounded_down)
        )

    def _find_misfit(self, raw: Column, type_: T.DataType) -> Column | None:
        """Tests whether a value, or one inside it, does not fit or must not be null; None if all fit."""
        if isinstance(type_, _AS_TEXT):
            return raw.isNotNull() & self._convert(raw, type_, None).isNull()
        if isinstance(type_, T.StructType):
            tests = [
                self._find_misfit_in_part(raw.getField(part.name), part.dataType, part.nullable)
                for part in type_.fields
            ]
            inside = combine_tests(*tests)
            return None if inside is None else raw.isNotNull() & inside
        if isinstance(type_, T.ArrayType):
            return self._find_misfit_in_items(raw, type_.elementType, type_.containsNull)
        if isinstance(type_, T.MapType):
            return self._find_misfit_in_items(F.map_values(raw), type_.valueType, type_.valueContainsNull)
        return None

    def _find_misfit_in_part(self, raw: Column, type_: T.DataType, nullable: bool) -> Column | None:  # noqa: FBT001 - of a type
        missing = None if nullable else raw.isNull()
        return combine_tests(self._find_misfit(raw, type_), missing)

    def _find_misfit_in_items(self, raw: Column, type_: T.DataType, nullable: bool) -> Column | None:  # noqa: FBT001 - of a type
        if nullable and not _holds_text(type_) and not _holds_required(type_):
            return None

        def is_unfit(item: Column) -> Column:
            test = self._find_misfit_in_part(item, type_, nullable)
            assert test is not None
            return test

        return F.exists(raw, is_unfit)


def _list_parts(type_: T.DataType) -> list[T.DataType]:
    if isinstance(type_, T.StructType):
        return [part.dataType for part in type_.fields]
    if isinstance(type_, T.ArrayType):
        return [type_.elementType]
    return [type_.valueType] if isinstance(type_, T.MapType) else []


def _holds_text(type_: T.DataType) -> bool:
    return isinstance(type_, _AS_TEXT) or any(map(_holds_text, _list_parts(type_)))


def _holds_required(type_: T.DataType) -> bool:
    """Whether a value inside must not be null."""
    own = (
        (isinstance(type_, T.StructType) and not all(part.nullable for part in type_.fields))
        or (isinstance(type_, T.ArrayType) and not type_.containsNull)
        or (isinstance(type_, T.MapType) and not type_.valueContainsNull)
    )
    return own or any(map(_holds_required, _list_parts(type_)))


def _read_type(type_: T.DataType) -> T.DataType:
    """Returns the type with which Spark reads a value: text for what is converted here, and nulls everywhere."""
    if isinstance(type_, T.StructType):
        return T.StructType([T.StructField(part.name, _read_type(part.dataType)) for part in type_.fields])
    if isinstance(type_, T.ArrayType):
        return T.ArrayType(_read_type(type_.elementType))
    if isinstance(type_, T.MapType):
        return T.MapType(type_.keyType, _read_type(type_.valueType))
    return T.StringType() if isinstance(type_, _AS_TEXT) else type_
