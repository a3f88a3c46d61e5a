"""JSON objects as rows of a table, with Debezium's ways to write times and decimals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.cdc.json_decimals import DECIMAL, decimal_of_base64, exact_decimal, is_base64, quoted_decimals
from rowdelta.cdc.json_source import CORRUPT, OPTIONS
from rowdelta.cdc.value_checks import any_of
from rowdelta.choices import DecimalNotation, TimeUnit, check_choice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column

    from rowdelta.cdc.json_source import JsonObject

# What Debezium and Kafka Connect call numbers that count from 1970.
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
class _About:
    """What is known of a column besides its value; of a value inside another one, nothing is."""

    declared: Column
    is_quoted: Column

    @staticmethod
    def column(found: JsonObject, column: str) -> _About:
        return _About(found.declared[column], found.is_quoted(column))


class JsonRow:
    """Columns out of a JSON object.

    Args:
        types: The columns.
        time_unit: What a number in a timestamp column counts, where the message does not say.
        decimals: How text in a decimal column is written, where the message does not say: `text` or `base64`.
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

    def exact(self, text: Column) -> Column:
        """The text, or one around it, with numbers in quotes where Spark would lose digits of a decimal."""
        return quoted_decimals(text, self._types)

    def parsed(self, text: Column) -> Column:
        """The object as Spark reads it; give it a name, and that name to the other methods."""
        return F.from_json(text, self._schema, self._options)

    def values(self, found: JsonObject) -> dict[str, Column]:
        """The columns by name; one is null where its value does not fit."""
        return {
            column.name: self._converted(found.raw(column.name), column.dataType, _About.column(found, column.name))
            for column in self._types.fields
        }

    def problems(self, found: JsonObject, values: Mapping[str, Column]) -> list[tuple[Column, Column]]:
        """Tests for values that do not fit, each with its reason, given the columns with what `values` gave."""
        problems = [(found.raw(CORRUPT).isNotNull(), F.lit("a value does not fit the type of its column"))]
        for column in self._types.fields:
            kind, raw = column.dataType, found.raw(column.name)
            is_text = isinstance(kind, _AS_TEXT)
            test = raw.isNotNull() & values[column.name].isNull() if is_text else self._unfit(raw, kind)
            if test is None:
                continue
            shown = raw if is_text else F.to_json(raw)
            reason = F.concat(F.lit(f"column {column.name!r} is {kind.simpleString()}, but the value is "), shown)
            if isinstance(kind, (T.TimestampType, T.TimestampNTZType)):
                unknown = F.lit(", and the message does not say what the number counts: give time_unit")
                reason = F.concat(reason, F.when(raw.rlike(_NUMBER), unknown).otherwise(F.lit("")))
            elif isinstance(kind, T.DecimalType) and self._decimals == "text":
                maybe = F.lit(", and the message does not say what that is: give decimals='base64' if it is that")
                reason = F.concat(reason, F.when(is_base64(raw), maybe).otherwise(F.lit("")))
            problems.append((test, reason))
        return problems

    def _converted(self, raw: Column, kind: T.DataType, about: _About | None) -> Column:
        """A value as the table wants it; null where it does not fit."""
        if not _holds_text(kind):
            return raw
        if isinstance(kind, T.StructType):
            parts = [
                self._converted(raw.getField(part.name), part.dataType, None).alias(part.name) for part in kind.fields
            ]
            return F.when(raw.isNotNull(), F.struct(*parts))
        if isinstance(kind, T.ArrayType):
            return F.transform(raw, lambda item: self._converted(item, kind.elementType, None))
        if isinstance(kind, T.MapType):
            return F.transform_values(raw, lambda _, item: self._converted(item, kind.valueType, None))
        return self._scalar(raw, kind, about)

    def _scalar(self, raw: Column, kind: T.DataType, about: _About | None) -> Column:
        if isinstance(kind, T.DateType):
            days = F.date_add(F.lit("1970-01-01").cast("date"), raw.try_cast("int"))
            return F.when(raw.rlike(_NUMBER), days).otherwise(raw.try_cast("date"))
        if isinstance(kind, T.DecimalType):
            return self._decimal(raw, kind, about)
        return self._timestamp(raw, kind, about)

    def _decimal(self, raw: Column, kind: T.DecimalType, about: _About | None) -> Column:
        exact = exact_decimal(raw, kind)
        told = F.lit(self._decimals == "base64")
        if about is None:
            return F.when(told & is_base64(raw), decimal_of_base64(raw, F.lit(kind.scale), kind)).otherwise(exact)
        encoded = F.coalesce(about.declared["name"] == DECIMAL, told)
        scale = F.coalesce(about.declared["scale"].try_cast("int"), F.lit(kind.scale))
        # Kafka Connect may also be told to write such a decimal as a number.
        text = is_base64(raw) & (~raw.rlike(_NUMBER) | about.is_quoted)
        return F.when(encoded & text, decimal_of_base64(raw, scale, kind)).otherwise(exact)

    def _timestamp(self, raw: Column, kind: T.DataType, about: _About | None) -> Column:
        micros = self._micros(raw, F.lit(None).cast("string") if about is None else about.declared["name"])
        if not isinstance(kind, T.TimestampNTZType):
            return F.when(raw.rlike(_NUMBER), F.timestamp_micros(micros)).otherwise(raw.try_cast(kind))
        # A time of no zone is the one of UTC, whether it is counted or has its zone written behind it.
        instant = F.when(raw.rlike(_ZONE), F.unix_micros(raw.try_cast("timestamp"))).otherwise(micros)
        counted = F.timestamp_add("MICROSECOND", instant, F.lit("1970-01-01").cast("timestamp_ntz"))
        return F.when(raw.rlike(_NUMBER) | raw.rlike(_ZONE), counted).otherwise(raw.try_cast(kind))

    def _micros(self, raw: Column, type_name: Column) -> Column:
        unit = F.lit(self._time_unit).cast("string")
        for name, known in _UNITS.items():
            unit = F.when(type_name == name, known).otherwise(unit)
        number = raw.try_cast("bigint")
        down = F.call_function("div", F.try_subtract(number, F.pmod(number, F.lit(1000))), F.lit(1000))
        return (
            F.when(unit == "micros", number)
            .when(unit == "millis", F.try_multiply(number, F.lit(1000)))
            .when(unit == "nanos", down)
        )

    def _unfit(self, raw: Column, kind: T.DataType) -> Column | None:
        """Whether a value, or one inside it, does not fit or is a null that may not be; None where all fit."""
        if isinstance(kind, _AS_TEXT):
            return raw.isNotNull() & self._converted(raw, kind, None).isNull()
        if isinstance(kind, T.StructType):
            tests = [self._unfit_part(raw.getField(part.name), part.dataType, part.nullable) for part in kind.fields]
            inside = any_of(*tests)
            return None if inside is None else raw.isNotNull() & inside
        if isinstance(kind, T.ArrayType):
            return self._unfit_items(raw, kind.elementType, kind.containsNull)
        if isinstance(kind, T.MapType):
            return self._unfit_items(F.map_values(raw), kind.valueType, kind.valueContainsNull)
        return None

    def _unfit_part(self, raw: Column, kind: T.DataType, nullable: bool) -> Column | None:  # noqa: FBT001 - of a type
        missing = None if nullable else raw.isNull()
        return any_of(self._unfit(raw, kind), missing)

    def _unfit_items(self, raw: Column, kind: T.DataType, nullable: bool) -> Column | None:  # noqa: FBT001 - of a type
        if nullable and not _holds_text(kind) and not _holds_required(kind):
            return None

        def is_unfit(item: Column) -> Column:
            test = self._unfit_part(item, kind, nullable)
            assert test is not None
            return test

        return F.exists(raw, is_unfit)


def _parts(kind: T.DataType) -> list[T.DataType]:
    if isinstance(kind, T.StructType):
        return [part.dataType for part in kind.fields]
    if isinstance(kind, T.ArrayType):
        return [kind.elementType]
    return [kind.valueType] if isinstance(kind, T.MapType) else []


def _holds_text(kind: T.DataType) -> bool:
    return isinstance(kind, _AS_TEXT) or any(map(_holds_text, _parts(kind)))


def _holds_required(kind: T.DataType) -> bool:
    """Whether some value inside may not be null."""
    own = (
        (isinstance(kind, T.StructType) and not all(part.nullable for part in kind.fields))
        or (isinstance(kind, T.ArrayType) and not kind.containsNull)
        or (isinstance(kind, T.MapType) and not kind.valueContainsNull)
    )
    return own or any(map(_holds_required, _parts(kind)))


def _read_type(kind: T.DataType) -> T.DataType:
    """What Spark is to read a value as: itself, with text for what is converted here, and nulls allowed everywhere."""
    if isinstance(kind, T.StructType):
        return T.StructType([T.StructField(part.name, _read_type(part.dataType)) for part in kind.fields])
    if isinstance(kind, T.ArrayType):
        return T.ArrayType(_read_type(kind.elementType))
    if isinstance(kind, T.MapType):
        return T.MapType(kind.keyType, _read_type(kind.valueType))
    return T.StringType() if isinstance(kind, _AS_TEXT) else kind
