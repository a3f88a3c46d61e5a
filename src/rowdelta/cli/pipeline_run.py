"""Runs a pipeline that a file describes."""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyspark
import typer
from pyspark.errors import AnalysisException

from rowdelta._session import session
from rowdelta._table import table
from rowdelta.cdc import Debezium, JsonRows, stream
from rowdelta.cli.catalog_options import CATALOG, Place
from rowdelta.cli.connect import full_name
from rowdelta.cli.interrupts import finish_before_interrupt
from rowdelta.cli.output import print_json
from rowdelta.errors import InputError, TableError
from rowdelta.spark import RELEASE, quote_string, run_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rowdelta._table import Table
    from rowdelta.cdc import BatchProgress, Records
    from rowdelta.cli.pipeline_config import Pipeline, Source

KAFKA_PACKAGE: Final = f"org.apache.spark:spark-sql-kafka-0-10_{RELEASE.scala}:{pyspark.__version__}"
# The whole topic, as with the files of a folder, and no more at once than a batch may hold.
_KAFKA: Final = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "1000000"}
_FILES: Final = {"maxFilesPerTrigger": "1"}
# Characters in strings whose meaning depends on Spark's settings: escapes, quotes and variables.
_DEPENDS_ON_SETTINGS: Final = re.compile(r"""[\\'"`$]""")
# Arguments of `stream()` that other entries of the file set.
_ELSEWHERE: Final = {"source", "table", "key", "format", "progress"}


def run_pipeline(pipeline: Pipeline, place: Place, *, kafka: bool, as_json: bool) -> None:
    """Starts Spark, opens or creates the table, and runs the stream to its end.

    Args:
        pipeline: The content of the file.
        place: A warehouse or Spark settings of the command line, which win over those of the file.
        kafka: Load Spark's Kafka package.
        as_json: Print batches as JSON, one per line.
    """
    reader, further = _make_reader(pipeline), _build_arguments(pipeline)
    spark = _start_spark(pipeline, place, kafka=kafka)
    lines = None if sys.stderr.isatty() else _print_line  # in a terminal, the stream prints its own lines
    changes = stream(
        _read_source(spark, pipeline.source),
        _open_table(spark, pipeline, place),
        pipeline.key,
        format=reader,
        progress=_print_json_line if as_json else lines,
        **further,
    )
    running = changes.start(pipeline.checkpoint, every=pipeline.every, available_now=pipeline.every is None)
    with finish_before_interrupt(running.stop):  # a batch is finished, or undone and repeated after a restart
        running.await_termination()


def _start_spark(pipeline: Pipeline, place: Place, *, kafka: bool) -> SparkSession:
    config = _merge_settings(pipeline, place)
    if kafka:
        config["spark.jars.packages"] = ",".join(filter(None, [config.get("spark.jars.packages"), KAFKA_PACKAGE]))
    return session(_choose_warehouse(pipeline, place), CATALOG, config=config)


def _merge_settings(pipeline: Pipeline, place: Place) -> dict[str, str]:
    return {**_format_options(pipeline.conf), **place.settings}


def _choose_warehouse(pipeline: Pipeline, place: Place) -> str | None:
    """Chooses the folder of the catalog `lake`; the current folder if neither a folder nor a catalog is named."""
    own_catalog = any(name.startswith("spark.sql.catalog.") for name in _merge_settings(pipeline, place))
    named = pipeline.warehouse if place.warehouse is None else str(place.warehouse)
    return named or (None if own_catalog else ".")


def _open_table(spark: SparkSession, pipeline: Pipeline, place: Place) -> Table:
    folder = _choose_warehouse(pipeline, place)
    named = Place(None if folder is None else Path(folder), _merge_settings(pipeline, place))
    name = full_name(spark, pipeline.table, named)
    try:
        return table(spark, name)
    except TableError:
        if pipeline.create is None:
            raise
    run_sql(spark, f"CREATE NAMESPACE IF NOT EXISTS {name.rpartition('.')[0]}")
    _create(spark, name, pipeline.create, {"format-version": "3", **pipeline.properties})
    return table(spark, name)


def _create(spark: SparkSession, name: str, columns: str, properties: dict[str, Any]) -> None:
    """Creates the table with all of its properties, or no table.

    The columns are SQL of the user, and follow the settings of the session. Properties must not: a separate statement
    sets those whose text a setting could change.
    """
    texts = {key: str(value) for key, value in properties.items()}
    plain = {key: value for key, value in texts.items() if not _DEPENDS_ON_SETTINGS.search(key + value)}
    spark.sql(f"CREATE TABLE {name} ({columns}) USING iceberg TBLPROPERTIES ({_format_properties(plain)})")
    rest = {key: value for key, value in texts.items() if key not in plain}
    if not rest:
        return
    try:
        run_sql(spark, f"ALTER TABLE {name} SET TBLPROPERTIES ({_format_properties(rest)})")
    except BaseException:
        run_sql(spark, f"DROP TABLE {name}")
        raise


def _format_properties(properties: dict[str, str]) -> str:
    return ", ".join(f"{quote_string(key)}={quote_string(value)}" for key, value in properties.items())


def _read_source(spark: SparkSession, source: Source) -> DataFrame:
    if not source.kafka:
        assert source.files is not None
        return spark.readStream.options(**{**_FILES, **_format_options(source.options)}).text(source.files)
    options = _format_options({**_KAFKA, **source.kafka, **source.options})
    try:
        return spark.readStream.format("kafka").options(**options).load()
    except AnalysisException as error:
        if "find data source" not in str(error):
            raise
        raise InputError(
            "Spark has no Kafka package", hint=f"run it with --kafka, which loads {KAFKA_PACKAGE}"
        ) from error


def _format_options(values: dict[str, Any]) -> dict[str, str]:
    """Converts options to text for Spark: lists with commas, and offsets of partitions as JSON."""
    return {name: _format_option(value) for name, value in values.items()}


def _format_option(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return json.dumps(value) if isinstance(value, (dict, bool)) else str(value)


def _make_reader(pipeline: Pipeline) -> Records:
    if pipeline.format == "debezium":
        return Debezium(
            time_unit=pipeline.time_unit,
            decimals=pipeline.decimals,
            unknown_fields=pipeline.unknown_fields or "bad",
            position=pipeline.position,
        )
    if pipeline.format == "changes" and pipeline.position:
        raise InputError("position is for format: debezium", hint="plain rows have their order in a column: order_by")
    if pipeline.format == "changes":
        return JsonRows(
            pipeline.source.schema,
            pipeline.op,
            time_unit=pipeline.time_unit,
            decimals=pipeline.decimals,
            options=_format_options(pipeline.source.options),
            unknown_fields=pipeline.unknown_fields,
        )
    raise InputError(f"unknown format {pipeline.format!r}", hint="use debezium or changes")


def _build_arguments(pipeline: Pipeline) -> dict[str, Any]:
    accepted = set(inspect.signature(stream).parameters) - _ELSEWHERE
    unknown = [name for name in pipeline.stream if name not in accepted]
    if unknown:
        raise InputError(
            f"stream has unknown entries {', '.join(unknown)}", hint=f"known are {', '.join(sorted(accepted))}"
        )
    return pipeline.stream


def _print_line(progress: BatchProgress) -> None:
    typer.echo(str(progress))


def _print_json_line(progress: BatchProgress) -> None:
    print_json(progress.to_dict(), indent=None)
