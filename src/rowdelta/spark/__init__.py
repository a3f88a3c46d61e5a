"""The Spark session, its JVM and its SQL: the only folder that imports py4j or the internals of PySpark."""

from __future__ import annotations

from rowdelta.spark.arrow import arrow_frame, plain_values, rows_to_show
from rowdelta.spark.bulk_calls import NODE, MethodHandles
from rowdelta.spark.cached_frames import in_few_files, kept, kept_once
from rowdelta.spark.conjuncts import Conjuncts, split_conjuncts
from rowdelta.spark.frames import analyzed_plan, columns_used, computed_rows, in_session, java_schema, size_in_bytes
from rowdelta.spark.gateway import Gateway
from rowdelta.spark.generated_sql import run_sql, select_sql, sql_column, sql_columns, where_sql
from rowdelta.spark.interrupts import end_work, interruptible, stop_if_interrupted
from rowdelta.spark.java_errors import JavaError, Py4JError, Py4JJavaError, java_causes, java_message, java_name
from rowdelta.spark.jvm_packages import is_missing
from rowdelta.spark.launch import end_jvm, kill_jvm, launch_spark, remove_if_empty
from rowdelta.spark.metadata_columns import METADATA_COLUMNS
from rowdelta.spark.name_rule import ANY_CASE, NameRule, read_name_rule
from rowdelta.spark.planning_threads import beside
from rowdelta.spark.quiet_logs import quiet_pyspark, quiet_tasks
from rowdelta.spark.quoting import append_to_name, dotted, quote, quote_path, split_name, string_literal, unquote
from rowdelta.spark.single_values import json_values, shown
from rowdelta.spark.spark_errors import check_running, our_error, spark_error_of, translate_errors
from rowdelta.spark.sql_expression import check_expression, check_value
from rowdelta.spark.sql_names import (
    NamedTable,
    TemporaryView,
    drop_temporary_view,
    find_table,
    is_temporary_view,
)
from rowdelta.spark.sql_parser import (
    analysis_error,
    check_syntax,
    parse_statement,
    place_in_text,
    substitute_variables,
    text_of,
)
from rowdelta.spark.store_assignment import ansi_cast, can_store, sql_type
from rowdelta.spark.syntax_tree import Node
from rowdelta.spark.threads import Errand, drop
from rowdelta.spark.versions import DELTA_PACKAGE, ICEBERG_PACKAGE, check_spark

__all__ = [
    "ANY_CASE",
    "DELTA_PACKAGE",
    "ICEBERG_PACKAGE",
    "METADATA_COLUMNS",
    "NODE",
    "Conjuncts",
    "Errand",
    "Gateway",
    "JavaError",
    "MethodHandles",
    "NameRule",
    "NamedTable",
    "Node",
    "Py4JError",
    "Py4JJavaError",
    "TemporaryView",
    "analysis_error",
    "analyzed_plan",
    "ansi_cast",
    "append_to_name",
    "arrow_frame",
    "beside",
    "can_store",
    "check_expression",
    "check_running",
    "check_spark",
    "check_syntax",
    "check_value",
    "columns_used",
    "computed_rows",
    "dotted",
    "drop",
    "drop_temporary_view",
    "end_jvm",
    "end_work",
    "find_table",
    "in_few_files",
    "in_session",
    "interruptible",
    "is_missing",
    "is_temporary_view",
    "java_causes",
    "java_message",
    "java_name",
    "java_schema",
    "json_values",
    "kept",
    "kept_once",
    "kill_jvm",
    "launch_spark",
    "our_error",
    "parse_statement",
    "place_in_text",
    "plain_values",
    "quiet_pyspark",
    "quiet_tasks",
    "quote",
    "quote_path",
    "read_name_rule",
    "remove_if_empty",
    "rows_to_show",
    "run_sql",
    "select_sql",
    "shown",
    "size_in_bytes",
    "spark_error_of",
    "split_conjuncts",
    "split_name",
    "sql_column",
    "sql_columns",
    "sql_type",
    "stop_if_interrupted",
    "string_literal",
    "substitute_variables",
    "text_of",
    "translate_errors",
    "unquote",
    "where_sql",
]
