"""Plain rows of changes as JSON objects, in files or in Kafka."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.cdc.json_source import JsonObject, check_fields, is_one_object
from rowdelta.cdc.json_values import JsonRow, check_notation
from rowdelta.cdc.op_column import OpColumn
from rowdelta.cdc.records import AT, BAD, DELETED, EXTRA, HELPERS, ORDER, RAW, SKIP, find_first_reason
from rowdelta.choices import DecimalNotation, TimeUnit, UnknownFields, check_choice
from rowdelta.errors import InputError
from rowdelta.spark import parse_schema, quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rowdelta.cdc.records import Shape

_TEXT: Final = "_rd_text"
_PROBLEM: Final = "_rd_problem"
_OFFSET: Final = "_rd_offset"
_OWN: Final = (_TEXT, _PROBLEM, _OFFSET)


@dataclass(frozen=True)
class JsonRows:
    """JSON objects with the names of the table's columns, one for each record.

    Without an op column, a message without a value is refused, because it may be a delete. With one it is a tombstone,
    and skipped. If the source has a column `offset`, as Kafka does, it orders the changes by default.

    Attributes:
        schema: The fields to read, as SQL; by default the table's columns, and `op`.
        op: The field with the operation, as in `OpColumn`; None if every row is an upsert.
        value: The column with the object, as text or bytes.
        time_unit: The unit of numbers in timestamp columns: `millis`, `micros` or `nanos`.
        decimals: The notation of text in decimal columns, as in `Debezium`.
        unknown_fields: Fields that are not read, even if they differ only in case: `bad` refuses the record, `ignore`
            skips them. By default `ignore` if a schema is given, and `bad` otherwise.
        options: Options of Spark's JSON reader.

    Examples:
        >>> reader = rd.cdc.JsonRows(schema="id bigint, status string, kind string", op="kind")
        >>> reader.aside
        ('kind',)
    """

    schema: str | None = None
    op: str | None = None
    value: str = "value"
    time_unit: TimeUnit | None = None
    decimals: DecimalNotation = "text"
    options: dict[str, str] = field(default_factory=dict)
    unknown_fields: UnknownFields | None = None

    def __post_init__(self) -> None:
        check_notation(self.time_unit, self.decimals)
        if self.unknown_fields is not None:
            check_choice("value of unknown_fields", self.unknown_fields, UnknownFields)

    @property
    def aside(self) -> tuple[str, ...]:
        """Fields that only the reader uses."""
        return () if self.op is None else (self.op,)

    def read(self, frame: DataFrame, shape: Shape) -> DataFrame:
        """Reads the records of a batch; see `Records.read`."""
        if self.value not in frame.columns:
            raise InputError(
                f"the source has no column {self.value!r} with JSON",
                hint=f"its columns are {', '.join(frame.columns)}: name one with JsonRows(value=...)",
            )
        types = self._read_types(shape)
        rows = JsonRow(types, self.time_unit, self.decimals, self.options)
        offset = F.col("offset") if "offset" in frame.columns else F.lit(None)
        text = F.col(quote(self.value)).cast("string")
        nothing = F.lit(None).cast("map<string, struct<name: string, scale: string>>")
        parsed = JsonObject("_rd_parsed", F.col(_TEXT), nothing)
        frame = frame.select(text.alias(_TEXT), offset.cast("bigint").alias(_OFFSET))
        frame = frame.select("*", rows.parse(rows.quote_decimals(parsed.text)).alias(parsed.name))
        frame = frame.select("*", *(value.alias(name) for name, value in rows.convert(parsed).items()))
        values = {name: F.col(quote(name)) for name in types.names}
        tests: list[tuple[Column, str | Column]] = [
            (parsed.text.isNull(), "the message has no value, and it is unknown whether that means a delete"),
            (~is_one_object(parsed.text), "malformed JSON"),
            *rows.check(parsed, values),
            *(check_fields(parsed.text, types) if self._refuses_unknown else ()),
        ]
        problem = F.when(~self._is_empty(), find_first_reason(*tests)).alias(_PROBLEM)
        return self._make_records(frame.select(*values.values(), _TEXT, _OFFSET, problem), shape)

    @property
    def _refuses_unknown(self) -> bool:
        return self.unknown_fields == "bad" or (self.unknown_fields is None and self.schema is None)

    def _read_types(self, shape: Shape) -> T.StructType:
        if self.schema is not None:
            return parse_schema(self.schema)
        names, types = shape.names, shape.types
        return T.StructType(
            [
                *types.fields,
                *(T.StructField(name, T.StringType()) for name in self.aside if not names.find(name, types.names)),
            ]
        )

    def _is_empty(self) -> Column:
        """Tests for a blank line, or a tombstone after a delete in the op column."""
        blank = F.coalesce(F.trim(_TEXT) == "", F.lit(False))
        return blank if self.op is None else blank | F.col(_TEXT).isNull() | (F.trim(_TEXT) == "null")

    def _make_records(self, frame: DataFrame, shape: Shape) -> DataFrame:
        """Reads the rows as `OpColumn` does, and adds the problems of the JSON."""
        records = OpColumn(op=self.op).read(frame, shape)
        columns = [name for name in records.columns if name not in {*HELPERS, *_OWN}]
        skip = self._is_empty()
        return records.select(
            *(F.col(quote(name)) for name in columns),
            DELETED,
            F.col(_OFFSET).alias(ORDER),
            F.when(~skip, F.coalesce(_PROBLEM, BAD)).alias(BAD),
            F.col(_TEXT).alias(RAW),
            AT,
            skip.alias(SKIP),
            EXTRA,
        )
