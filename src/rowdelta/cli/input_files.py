"""Reads the files of rows and keys that commands take, with the types of the table that they are for."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructField, StructType

from rowdelta.cli.options import READERS
from rowdelta.errors import InputError
from rowdelta.spark import Py4JError, quiet_tasks, quote, read_java_causes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from rowdelta._table import Table

_LINE_LENGTH: Final = 200
_ONE_A_LINE: Final = 'each line is one object, such as {"id": 1}'
# Text has no nested values, and JSON writes bytes as base64: Spark's reader makes these.
_BY_THE_READER: Final = (StructType, ArrayType, MapType, BinaryType)


def read_rows(path: Path, target: Table) -> DataFrame:
    """Reads a file of rows.

    In text formats, values are read as text and cast to the types of the table's columns, so that `007` stays `007` in
    a text column and decimals keep every digit. Spark infers the types of other columns. A value that does not fit is
    an error.
    """
    handle = target._handle  # noqa: SLF001 - only its session and types; `read()` would read its deletes
    format_name, place = READERS[path.suffix.lower()], str(path.absolute())
    reader = handle.spark.read.format(format_name)
    if format_name not in {"csv", "json"}:
        return reader.load(place)
    reader = reader.option("mode", "FAILFAST").option("header", "true")
    with _name_bad_lines(path, handle.spark):
        inferred = reader.option("inferSchema", "true").load(place).schema
    fold = handle.name_rule.fold
    types = {fold(field.name): field.dataType for field in handle.column_types.fields}
    wanted = {field.name: types.get(fold(field.name), field.dataType) for field in inferred.fields}
    of_table = {name: type_ for name, type_ in wanted.items() if fold(name) in types}
    # All columns of a CSV file are read as text; of JSON, only the columns of the table.
    texts = {name for name in (wanted if format_name == "csv" else of_table) if _has_text(wanted[name])}
    schema = StructType([StructField(name, StringType() if name in texts else type_) for name, type_ in wanted.items()])
    rows = reader.option("inferSchema", "false").schema(schema).load(place)
    return rows.select(*(F.col(quote(name)).cast(type_) for name, type_ in wanted.items()))


def _has_text(type_: DataType) -> bool:
    return not isinstance(type_, _BY_THE_READER)


@contextmanager
def _name_bad_lines(path: Path, spark: SparkSession) -> Iterator[None]:
    """Names the line of a JSON file that is not JSON; Spark says only that there is one."""
    try:
        with quiet_tasks(spark):
            yield
    except (PySparkException, Py4JError) as error:
        if READERS[path.suffix.lower()] != "json" or not _is_of_parser(error):
            raise
        for file in sorted(path.glob("*.json*")) if path.is_dir() else [path]:
            _check_lines(file)
        raise InputError(f"{path} is not JSON, one object on each line") from error


def _is_of_parser(error: PySparkException | Py4JError) -> bool:
    """Whether the JSON reader failed on the text of the file; a file can also be unreadable."""
    return any("MALFORMED" in message or name.startswith("Json") for name, message in read_java_causes(error))


def _check_lines(path: Path) -> None:
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            try:
                is_object = not line.strip() or isinstance(json.loads(line.strip()), (dict, list))
                reason = "it is not an object"
            except json.JSONDecodeError as error:
                is_object, reason = False, f"{error.msg} at column {error.colno}"
            if not is_object:
                text = line.strip()[:_LINE_LENGTH]
                raise InputError(f"{path}, line {number} is not a JSON object: {reason}\n{text}", hint=_ONE_A_LINE)
