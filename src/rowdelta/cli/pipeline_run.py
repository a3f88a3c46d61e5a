"""Runs a pipeline that a file describes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pyspark
import typer
from pyspark.sql import SparkSession

from rowdelta.cdc import Debezium, OpColumn, stream
from rowdelta.cli.changes import spark_errors
from rowdelta.errors import InputError, TableError
from rowdelta.iceberg import ICEBERG_PACKAGE
from rowdelta.session import session
from rowdelta.table import table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rowdelta.cdc import BatchProgress, Records
    from rowdelta.cli.pipeline_config import Pipeline
    from rowdelta.table import Table

KAFKA_PACKAGE: Final = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"


def run_pipeline(pipeline: Pipeline, *, kafka: bool, as_json: bool) -> None:
    """Starts Spark, opens or makes the table, and follows the stream to its end."""
    with spark_errors():
        spark = _spark(pipeline, kafka=kafka)
        target = _table(spark, pipeline)
        told = _as_json if as_json else _as_line
        changes = stream(
            _source(spark, pipeline),
            target,
            pipeline.key,
            format=_format(pipeline),
            on_progress=told,
            **pipeline.stream,
        )
        running = changes.start(pipeline.checkpoint, every=pipeline.every, available_now=pipeline.every is None)
        try:
            running.await_termination()
        except KeyboardInterrupt:
            running.stop()
            typer.echo("stopped", err=True)


def _spark(pipeline: Pipeline, *, kafka: bool) -> SparkSession:
    config = {name: str(value) for name, value in pipeline.conf.items()}
    if kafka:
        config["spark.jars.packages"] = ",".join([config.get("spark.jars.packages", ICEBERG_PACKAGE), KAFKA_PACKAGE])
    elif pipeline.source.kafka and SparkSession.getActiveSession() is None:
        raise InputError("a Kafka source needs Spark's Kafka package", hint="run it with --kafka")
    return session(pipeline.warehouse or ".", config=config)


def _table(spark: SparkSession, pipeline: Pipeline) -> Table:
    try:
        return table(spark, pipeline.table)
    except TableError:
        if pipeline.create is None:
            raise
    namespace = pipeline.table.rpartition(".")[0]
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
    properties = {"format-version": "3", **pipeline.properties}
    listed = ", ".join(f"'{name}'='{value}'" for name, value in properties.items())
    spark.sql(f"CREATE TABLE {pipeline.table} ({pipeline.create}) USING iceberg TBLPROPERTIES ({listed})")
    return table(spark, pipeline.table)


def _source(spark: SparkSession, pipeline: Pipeline) -> DataFrame:
    source = pipeline.source
    if source.kafka:
        return spark.readStream.format("kafka").options(**source.kafka).load()
    assert source.files is not None
    reader = spark.readStream.options(**{"maxFilesPerTrigger": "1", **source.options})
    if pipeline.format == "debezium":
        return reader.text(source.files)
    if source.schema is None:
        raise InputError("plain rows in files need a schema", hint="source: {files: ..., schema: 'id bigint, ...'}")
    return reader.schema(source.schema).json(source.files)


def _format(pipeline: Pipeline) -> Records:
    if pipeline.format == "debezium":
        return Debezium(time_unit=pipeline.time_unit)
    if pipeline.format == "changes":
        return OpColumn(op=pipeline.op)
    raise InputError(f"unknown format {pipeline.format!r}", hint="use debezium or changes")


def _as_line(progress: BatchProgress) -> None:
    typer.echo(str(progress))


def _as_json(progress: BatchProgress) -> None:
    document: dict[str, Any] = progress.to_dict()
    typer.echo(json.dumps(document))
