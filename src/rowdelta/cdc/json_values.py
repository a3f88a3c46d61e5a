"""JSON objects as rows of a table, with Debezium's ways to write times and decimals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.scan import quote

if TYPE_CHECKING:
    from pyspark.sql import Column

CORRUPT: Final = "_rd_corrupt"
OPTIONS: Final = {"columnNameOfCorruptRecord": CORRUPT}
# What Debezium and Kafka Connect call numbers that count from 1970.
_UNITS: Final = {
    "io.debezium.time.Timestamp": "millis",
    "org.apache.kafka.connect.data.Timestamp": "millis",
    "io.debezium.time.MicroTimestamp": "micros",
    "io.debezium.time.NanoTimestamp": "nanos",
}
# Read as text and converted here: Spark would take a number in a timestamp column for seconds.
_AS_TEXT: Final = (T.DateType, T.TimestampType, T.TimestampNTZType, T.DecimalType)
_NUMBER: Final = r"^-?\d+$"
_EXACT_DIGITS: Final = 18


class JsonRow:
    """Columns out of a JSON object.

    Args:
        types: The columns.
        time_unit: What a number in a timestamp column counts, where the message does not say.
    """

    def __init__(self, types: T.StructType, time_unit: str | None) -> None:
        self._types = types
        self._time_unit = time_unit
        fields = [T.StructField(column.name, _read_type(column.dataType)) for column in types.fields]
        self._schema = T.StructType([*fields, T.StructField(CORRUPT, T.StringType())])

    def parsed(self, text: Column) -> Column:
        """The object as Spark reads it; give it a name, and that name to the other methods."""
        return F.from_json(text, self._schema, OPTIONS)

    def values(self, parsed: str, names: Column) -> dict[str, Column]:
        """The columns by name.

        Args:
            parsed: The name of what `parsed` gave.
            names: A map from columns to the names of their types in the message's schema; null without one.
        """
        return {column.name: self._value(parsed, column, names) for column in self._types.fields}

    def _value(self, parsed: str, column: T.StructField, names: Column) -> Column:
        raw = F.col(f"{parsed}.{quote(column.name)}")
        if isinstance(column.dataType, T.DateType):
            days = F.date_add(F.lit("1970-01-01").cast("date"), raw.try_cast("int"))
            return F.when(raw.rlike(_NUMBER), days).otherwise(raw.try_cast("date"))
        if isinstance(column.dataType, T.DecimalType):
            return _exact_decimal(raw, column.dataType)
        if isinstance(column.dataType, (T.TimestampType, T.TimestampNTZType)):
            micros = self._micros(raw, names[column.name])
            number = F.timestamp_micros(micros)
            if isinstance(column.dataType, T.TimestampNTZType):
                number = F.timestamp_add("MICROSECOND", micros, F.lit("1970-01-01").cast("timestamp_ntz"))
            return F.when(raw.rlike(_NUMBER), number).otherwise(raw.try_cast(column.dataType))
        return raw

    def _micros(self, raw: Column, type_name: Column) -> Column:
        unit = F.lit(self._time_unit).cast("string")
        for name, known in _UNITS.items():
            unit = F.when(type_name == name, known).otherwise(unit)
        number = raw.try_cast("bigint")
        down = F.call_function("div", number - F.pmod(number, F.lit(1000)), F.lit(1000))
        return (
            F.when(unit == "micros", number)
            .when(unit == "millis", F.try_multiply(number, F.lit(1000)))
            .when(unit == "nanos", down)
        )

    def problems(self, parsed: str, names: Column) -> list[tuple[Column, Column]]:
        """Tests for values that do not fit, each with its reason."""
        found = [(F.col(f"{parsed}.{CORRUPT}").isNotNull(), F.lit("a value does not fit the type of its column"))]
        for column, value in self.values(parsed, names).items():
            kind = self._types[column].dataType
            if not isinstance(kind, _AS_TEXT):
                continue
            raw = F.col(f"{parsed}.{quote(column)}")
            reason = F.concat(F.lit(f"column {column!r} is {kind.simpleString()}, but the value is "), raw)
            if isinstance(kind, (T.TimestampType, T.TimestampNTZType)):
                unknown = F.lit(", and the message does not say what the number counts: give time_unit")
                reason = F.concat(reason, F.when(raw.rlike(_NUMBER), unknown).otherwise(F.lit("")))
            found.append((raw.isNotNull() & value.isNull(), reason))
        return found


def _read_type(kind: T.DataType) -> T.DataType:
    return T.StringType() if isinstance(kind, _AS_TEXT) else kind


def _exact_decimal(raw: Column, kind: T.DecimalType) -> Column:
    """A decimal, or null where digits would be lost."""
    value = raw.try_cast(kind)
    if kind.scale > _EXACT_DIGITS:
        return value
    return F.when(value == raw.try_cast(f"decimal(38, {_EXACT_DIGITS})"), value)
