"""Spark 3.5, with Iceberg 1.12 and newer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext, inheritable_thread_target
from pyspark.errors.exceptions.captured import UnknownException, convert_exception
from pyspark.sql import DataFrame
from pyspark.sql.column import Column
from pyspark.sql.pandas.serializers import ArrowStreamSerializer
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType, _parse_datatype_string

from rowdelta.spark.jvm_packages import get_packages
from rowdelta.spark.versions.internals import JAVA_NAMES, PYTHON_NAMES, SPARK_TABLE
from rowdelta.spark.versions.spark_api import SparkApi, SqlPlace

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType

    from rowdelta.spark.gateway import Gateway
    from rowdelta.spark.versions.spark_api import Result

_ANSI: Final = "spark.sql.ansi.enabled"
_SPARK_THROWABLE: Final = "org.apache.spark.SparkThrowable"
_MAX_CAUSES: Final = 20  # causes can form a cycle


class Spark35(SparkApi):
    """Spark 3.5: a column is a Catalyst expression, and PySpark has few methods for Arrow tables."""

    message_attribute = "desc"
    trace_attribute = "stackTrace"
    staging_catalog = ("spark.sql.catalog.default_cache_iceberg", "org.apache.iceberg.spark.SparkCachedTableCatalog")
    staging_option = "rewritten-file-scan-task-set-id"
    python_names: ClassVar = (
        "pyspark:inheritable_thread_target",
        "pyspark.errors.exceptions.captured:convert_exception",
        "pyspark.sql.column:Column",
        "pyspark.sql.dataframe:DataFrame._collect_as_arrow",
        "pyspark.sql.pandas.serializers:ArrowStreamSerializer",
        "pyspark.sql.types:_parse_datatype_string",
        *PYTHON_NAMES,
    )
    java_names: ClassVar = {
        **JAVA_NAMES,
        "org.apache.spark.sql.Dataset": ("ofRows/2",),
        "org.apache.spark.sql.SparkSession": ("setActiveSession", "sessionUUID"),
        "org.apache.spark.sql.api.python.PythonSQLUtils": ("readArrowStreamFromFile", "toDataFrame"),
        "org.apache.spark.sql.catalyst.expressions.EvalMode": ("ANSI", "TRY"),
        "org.apache.spark.sql.catalyst.expressions.Cast": ("<init>/4",),
        "org.apache.spark.sql.catalyst.expressions.ScalarSubquery": ("<init>/6",),
        "org.apache.spark.sql.execution.CacheManager": ("isEmpty",),
        "org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation$": ("create/4",),
        "org.apache.spark.sql.catalyst.parser.extensions.IcebergSparkSqlExtensionsParser": ("parsePlan",),
        "org.apache.iceberg.spark.SparkCachedTableCatalog": (),
        SPARK_TABLE: (*JAVA_NAMES[SPARK_TABLE], "<init>/2"),
    }

    def make_column(self, java_column: Any) -> Column:
        return Column(java_column)

    def make_expression_column(self, jvm: Any, expression: Any) -> Any:
        return jvm.org.apache.spark.sql.Column(expression)

    def get_expression_name(self, column: Column) -> str:
        java: Any = column
        return str(java._jc.expr().getClass().getSimpleName())

    def cast_strictly(self, gateway: Gateway, value: Column, java_type: Any) -> Column:
        return self._cast(gateway.jvm, value, java_type, "ANSI")

    def try_cast(self, value: Column, data_type: DataType | str) -> Column:
        context: Any = SparkContext._active_spark_context
        jvm = get_packages(context._jvm)
        types = jvm.org.apache.spark.sql.types.DataType
        java_type = types.fromDDL(data_type) if isinstance(data_type, str) else types.fromJson(data_type.json())
        return self._cast(jvm, value, java_type, "TRY")

    def _cast(self, jvm: Any, value: Column, java_type: Any, mode: str) -> Column:
        source: Any = value
        expressions, none = jvm.org.apache.spark.sql.catalyst.expressions, _find_object(jvm.scala, "None")
        expression = expressions.Cast(source._jc.expr(), java_type, none, getattr(expressions.EvalMode, mode)())
        return self.make_column(self.make_expression_column(jvm, expression))

    def select_scalar(self, frame: DataFrame) -> Column:
        java: Any = frame._jdf
        jvm: Any = get_packages(frame.sparkSession._jvm)
        expressions, empty = jvm.org.apache.spark.sql.catalyst.expressions, jvm.PythonUtils.toSeq([])
        number = _find_object(expressions, "NamedExpression").newExprId()
        none = _find_object(jvm.scala, "None")
        subquery = expressions.ScalarSubquery(java.logicalPlan(), empty, number, empty, none, none)
        return self.make_column(self.make_expression_column(jvm, subquery))

    def collect_arrow(self, frame: DataFrame) -> pa.Table:
        schema, source = to_arrow_schema(frame.schema), cast("Any", frame)
        batches = source._collect_as_arrow()
        return pa.Table.from_batches(batches).cast(schema) if batches else schema.empty_table()

    def read_arrow_schema(self, schema: pa.Schema) -> StructType:
        known = pa.schema([field.with_type(_find_known_type(field.type)) for field in schema])
        return from_arrow_schema(known, prefer_timestamp_ntz=True)

    def make_frame(self, spark: SparkSession, table: pa.Table, schema: StructType) -> DataFrame:
        """Makes a frame as PySpark does, but not through pandas, which has no nulls in integers and no far years."""
        java: Any = spark
        jvm = java._jvm
        batches = table.cast(to_arrow_schema(schema)).to_batches(max_chunksize=_read_batch_size(java))

        def read_file(path: str) -> Any:
            return jvm.PythonSQLUtils.readArrowStreamFromFile(path)

        def make_server() -> Any:
            return jvm.ArrowIteratorServer()

        rows = java._sc._serialize_to_jvm(batches, ArrowStreamSerializer(), read_file, make_server)
        frame = DataFrame(jvm.PythonSQLUtils.toDataFrame(rows, schema.json(), java._jsparkSession), spark)
        frame._schema = schema
        return frame

    def parse_schema(self, text: str) -> StructType:
        schema = _parse_datatype_string(text)
        assert isinstance(schema, StructType)
        return schema

    def get_condition(self, error: PySparkException) -> str | None:
        return error.getErrorClass()

    def unwrap_error(self, error: Exception) -> Exception:
        """Finds the error of an expression behind the failure of its job, as Spark 4 raises it."""
        java: Any = error.java_exception.getCause() if isinstance(error, Py4JJavaError) else None
        context: Any = SparkContext._active_spark_context
        if java is None or context is None:
            return error
        throwable = get_packages(context._jvm).org.apache.spark.util.Utils.classForName(_SPARK_THROWABLE, True, False)
        for _ in range(_MAX_CAUSES):
            if java is None:
                break
            if throwable.isInstance(java) and java.getErrorClass() is not None:
                converted = convert_exception(java)
                if not isinstance(converted, UnknownException):
                    return converted
            java = java.getCause()
        return error

    def list_sql_places(self, error: PySparkException) -> list[SqlPlace]:
        origin: Any = getattr(error, "_origin", None)
        return [
            SqlPlace(_read_statement(context), context.startIndex(), context.stopIndex() + 1, str(context.summary()))
            for context in (() if origin is None else origin.getQueryContext())
            if hasattr(context, "sqlText")
        ]

    def get_error_loggers(self) -> list[logging.Logger]:
        return []

    def get_session_class(self, jvm: Any) -> Any:
        return jvm.org.apache.spark.sql.SparkSession

    def get_dataset_class(self, jvm: Any) -> Any:
        return jvm.org.apache.spark.sql.Dataset

    def make_default_settings(self, jvm: Any) -> Any:
        """Makes the settings of a new session in ANSI mode, which is the default of Spark 4."""
        settings = jvm.org.apache.spark.sql.internal.SQLConf()
        settings.setConfString(_ANSI, "true")
        return settings

    def get_call_parser(self, jvm: Any, parser: Any) -> Any:
        """Returns Iceberg's parser: the statement is not part of Spark's SQL."""
        return jvm.org.apache.spark.sql.catalyst.parser.extensions.IcebergSparkSqlExtensionsParser(parser)

    def list_setting_names(self, spark: SparkSession) -> list[str]:
        return [row.key for row in spark.sql("SET").collect()]

    def inherit_properties(self, spark: SparkSession, work: Callable[[], Result]) -> Callable[[], Result]:
        del spark
        inheriting: Callable[[], Result] = inheritable_thread_target(work)
        return inheriting

    def make_spark_table(self, iceberg: Any, table: Any) -> Any:
        return iceberg.spark.source.SparkTable(table, False)

    def make_relation(self, gateway: Gateway, spark_table: Any) -> Any:
        sql, none = gateway.jvm.org.apache.spark.sql, gateway.scala_object(gateway.jvm.scala, "None")
        relation = gateway.scala_object(sql.execution.datasources.v2, "DataSourceV2Relation")
        return relation.create(spark_table, none, none, sql.util.CaseInsensitiveStringMap.empty())

    def count_cached_queries(self, manager: Any) -> int:
        return 0 if manager.isEmpty() else sys.maxsize

    def read_delta_snapshot(self, log: Any, version: int, none: Any) -> Any:
        return log.getSnapshotAt(version, none, none)

    def list_delta_commits(self, log: Any, first: int, last: int, none: Any) -> Any:
        del none
        return log.getChangeLogFiles(first, last, False)


def _find_known_type(arrow_type: pa.DataType) -> pa.DataType:
    """Replaces an Arrow type that PySpark 3.5 does not know by one that holds the same values."""
    if pa.types.is_fixed_size_binary(arrow_type):
        return pa.binary()
    if pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type):
        return pa.list_(_find_known_type(arrow_type.value_type))
    if pa.types.is_struct(arrow_type):
        return pa.struct([field.with_type(_find_known_type(field.type)) for field in arrow_type])
    return arrow_type


def _find_object(package: Any, name: str) -> Any:
    """Finds a Scala `object`."""
    return getattr(getattr(package, f"{name}$"), "MODULE$")


def _read_batch_size(spark: Any) -> int | None:
    """Reads how many rows a batch may have; None for any number."""
    size = int(spark._jconf.arrowMaxRecordsPerBatch())
    return size if size > 0 else None


def _read_statement(context: Any) -> str:
    text = context.sqlText()
    return str(text.get()) if text.isDefined() else ""
