"""Files of rows and keys that a command takes, with the types of the table they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructField, StructType

from rowdelta.errors import InputError
from rowdelta.iceberg import quote

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame

    from rowdelta.table import Table

READERS: Final = {".parquet": "parquet", ".orc": "orc", ".csv": "csv", ".json": "json", ".jsonl": "json"}
# A text has no nested values; JSON writes bytes as base64. Spark's reader knows how to make these.
_BY_THE_READER: Final = (StructType, ArrayType, MapType, BinaryType)


def read_rows(path: Path, target: Table) -> DataFrame:
    """Reads a file of rows.

    Values of text formats are taken as they are written and become the types of the table's columns, so that `007`
    stays what it is in a text column and no digit of a decimal gets lost. Other columns get the types that Spark sees
    in them. A value that does not fit is an error.
    """
    if path.suffix not in READERS:
        raise InputError(f"{path.name} is no kind of file that is known", hint=f"use one of {', '.join(READERS)}")
    handle = target._handle  # noqa: SLF001 - its session and types; to read the table would read its deletes
    format_name, place = READERS[path.suffix], str(path.absolute())
    reader = handle.spark.read.format(format_name)
    if format_name not in {"csv", "json"}:
        return reader.load(place)
    reader = reader.option("mode", "FAILFAST").option("header", "true")
    found = reader.option("inferSchema", "true").load(place).schema
    fold = handle.name_rule.fold
    types = {fold(field.name): field.dataType for field in handle.column_types.fields}
    wanted = {field.name: types.get(fold(field.name), field.dataType) for field in found.fields}
    known = {name: type_ for name, type_ in wanted.items() if fold(name) in types}
    # Of a CSV file everything is read as text, and of JSON what has a type that the table knows.
    texts = {name for name in (wanted if format_name == "csv" else known) if _has_text(wanted[name])}
    schema = StructType([StructField(name, StringType() if name in texts else kind) for name, kind in wanted.items()])
    rows = reader.option("inferSchema", "false").schema(schema).load(place)
    return rows.select(*(F.col(quote(name)).cast(kind) for name, kind in wanted.items()))


def _has_text(type_: DataType) -> bool:
    return not isinstance(type_, _BY_THE_READER)
