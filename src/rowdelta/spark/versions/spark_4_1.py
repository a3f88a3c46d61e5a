"""Spark 4.1, with Iceberg 1.11 and newer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pyspark import inheritable_thread_target
from pyspark.errors import QueryContextType
from pyspark.logger import PySparkLogger
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from rowdelta.spark.versions.internals import JAVA_NAMES, PYTHON_NAMES, SPARK_TABLE
from rowdelta.spark.versions.spark_api import SparkApi, SqlPlace

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

    import pyarrow as pa
    from pyspark.errors import PySparkException
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

    from rowdelta.spark.gateway import Gateway
    from rowdelta.spark.versions.spark_api import Result


class Spark41(SparkApi):
    """Spark 4.1: the classic session has packages of its own, and a column is no longer a Catalyst expression."""

    message_attribute = "_desc"
    trace_attribute = "_stackTrace"
    staging_catalog = ("spark.sql.catalog.default_rewrite_catalog", "org.apache.iceberg.spark.SparkRewriteTableCatalog")
    python_names: ClassVar = (
        "pyspark:inheritable_thread_target",
        "pyspark.errors:QueryContextType",
        "pyspark.logger:PySparkLogger",
        "pyspark.sql.classic.column:Column",
        "pyspark.sql.types:StructType.fromDDL",
        *PYTHON_NAMES,
    )
    java_names: ClassVar = {
        **JAVA_NAMES,
        "org.apache.spark.sql.classic.Dataset": ("ofRows/2",),
        "org.apache.spark.sql.classic.ExpressionUtils": ("column/1",),
        "org.apache.spark.sql.classic.SparkSession": ("setActiveSession", "sessionUUID"),
        "org.apache.spark.sql.execution.CacheManager": ("numCachedEntries",),
        "org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation$": ("create/5",),
        "org.apache.spark.sql.internal.Cast": ("<init>/4",),
        "org.apache.spark.sql.internal.Cast$Ansi$": (),
        "org.apache.iceberg.spark.SparkRewriteTableCatalog": (),
        SPARK_TABLE: (*JAVA_NAMES[SPARK_TABLE], "<init>/1"),
    }

    def make_column(self, java_column: Any) -> Column:
        return ClassicColumn(java_column)

    def make_expression_column(self, jvm: Any, expression: Any) -> Any:
        return jvm.org.apache.spark.sql.classic.ExpressionUtils.column(expression)

    def get_expression_name(self, column: Column) -> str:
        java: Any = column
        return str(java._jc.node().getClass().getSimpleName())

    def cast_strictly(self, gateway: Gateway, value: Column, java_type: Any) -> Column:
        source: Any = value
        node, sql = source._jc.node(), gateway.jvm.org.apache.spark.sql
        mode = gateway.jvm.scala.Some(gateway.scala_object(sql.internal, "Cast$Ansi"))
        return self.make_column(sql.Column(sql.internal.Cast(node, java_type, mode, node.origin())))

    def try_cast(self, value: Column, data_type: DataType | str) -> Column:
        return value.try_cast(data_type)

    def select_scalar(self, frame: DataFrame) -> Column:
        return frame.scalar()

    def collect_arrow(self, frame: DataFrame) -> pa.Table:
        return frame.toArrow()

    def read_arrow_schema(self, schema: pa.Schema) -> StructType:
        return from_arrow_schema(schema, prefer_timestamp_ntz=True)

    def make_frame(self, spark: SparkSession, table: pa.Table, schema: StructType) -> DataFrame:
        return spark.createDataFrame(table, schema)

    def parse_schema(self, text: str) -> StructType:
        schema = StructType.fromDDL(text)
        assert isinstance(schema, StructType)
        return schema

    def get_condition(self, error: PySparkException) -> str | None:
        return error.getCondition()

    def unwrap_error(self, error: Exception) -> Exception:
        return error

    def list_sql_places(self, error: PySparkException) -> list[SqlPlace]:
        return [
            SqlPlace(_read_statement(context), context.startIndex(), context.stopIndex() + 1, context.summary())
            for context in error.getQueryContext() or ()
            if context.contextType() is QueryContextType.SQL
        ]

    def get_error_loggers(self) -> list[logging.Logger]:
        return [PySparkLogger.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]

    def get_session_class(self, jvm: Any) -> Any:
        return jvm.org.apache.spark.sql.classic.SparkSession

    def get_dataset_class(self, jvm: Any) -> Any:
        return jvm.org.apache.spark.sql.classic.Dataset

    def make_default_settings(self, jvm: Any) -> Any:
        return jvm.org.apache.spark.sql.internal.SQLConf()

    def get_call_parser(self, jvm: Any, parser: Any) -> Any:
        del jvm
        return parser

    def list_setting_names(self, spark: SparkSession) -> list[str]:
        return list(spark.conf.getAll)

    def inherit_properties(self, spark: SparkSession, work: Callable[[], Result]) -> Callable[[], Result]:
        inherit: Any = inheritable_thread_target(spark)
        inheriting: Callable[[], Result] = inherit(work) if callable(inherit) else work
        return inheriting

    def make_spark_table(self, iceberg: Any, table: Any) -> Any:
        return iceberg.spark.source.SparkTable(table)

    def make_relation(self, gateway: Gateway, spark_table: Any) -> Any:
        sql, none = gateway.jvm.org.apache.spark.sql, gateway.scala_object(gateway.jvm.scala, "None")
        relation = gateway.scala_object(sql.execution.datasources.v2, "DataSourceV2Relation")
        return relation.create(spark_table, none, none, sql.util.CaseInsensitiveStringMap.empty(), none)

    def count_cached_queries(self, manager: Any) -> int:
        return int(manager.numCachedEntries())

    def read_delta_snapshot(self, log: Any, version: int, none: Any) -> Any:
        return log.getSnapshotAt(version, none, none, False)

    def list_delta_commits(self, log: Any, first: int, last: int, none: Any) -> Any:
        return log.getChangeLogFiles(first, last, none, False)


def _read_statement(context: Any) -> str:
    text = context._q.sqlText()  # Spark's own object; PySpark exposes only the part
    return str(text.get()) if text.isDefined() else ""
