"""Files of rows and keys that a command takes, with the types of the table they are for."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructField, StructType

from rowdelta.cli.options import READERS
from rowdelta.errors import InputError
from rowdelta.spark import Py4JError, java_causes, quiet_tasks, quote

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from rowdelta._table import Table

_SHOWN: Final = 200
_ONE_A_LINE: Final = 'each line is one object, such as {"id": 1}'
# A text has no nested values; JSON writes bytes as base64. Spark's reader knows how to make these.
_BY_THE_READER: Final = (StructType, ArrayType, MapType, BinaryType)


def read_rows(path: Path, target: Table) -> DataFrame:
    """Reads a file of rows.

    Values of text formats are taken as they are written and become the types of the table's columns, so that `007`
    stays what it is in a text column and no digit of a decimal gets lost. Other columns get the types that Spark sees
    in them. A value that does not fit is an error.
    """
    handle = target._handle  # noqa: SLF001 - its session and types; to read the table would read its deletes
    format_name, place = READERS[path.suffix.lower()], str(path.absolute())
    reader = handle.spark.read.format(format_name)
    if format_name not in {"csv", "json"}:
        return reader.load(place)
    reader = reader.option("mode", "FAILFAST").option("header", "true")
    with _bad_lines_named(path, handle.spark):
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


@contextmanager
def _bad_lines_named(path: Path, spark: SparkSession) -> Iterator[None]:
    """Says which line of a file of JSON is none, where Spark says only that there is one."""
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
    """Whether a reader of JSON found something else; a file can also be unreadable."""
    return any("MALFORMED" in said or kind.startswith("Json") for kind, said in java_causes(error))


def _check_lines(path: Path) -> None:
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            try:
                is_object = not line.strip() or isinstance(json.loads(line.strip()), (dict, list))
                reason = "it is no object"
            except json.JSONDecodeError as error:
                is_object, reason = False, f"{error.msg} at column {error.colno}"
            if not is_object:
                shown = line.strip()[:_SHOWN]
                raise InputError(f"{path}, line {number} is not a JSON object: {reason}\n{shown}", hint=_ONE_A_LINE)
