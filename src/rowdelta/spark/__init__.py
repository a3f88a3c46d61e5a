"""The Spark session, its JVM and its SQL: the only folder that imports py4j or the internals of PySpark."""

from __future__ import annotations

from rowdelta.spark.arrow import collect_arrow, convert_to_display_rows, convert_to_plain_values, make_frame_from_arrow
from rowdelta.spark.bulk_calls import NODE, MethodHandles
from rowdelta.spark.cached_frames import (
    cache_frame,
    cache_frame_unless_source_cached,
    coalesce_by_size,
    has_other_cached_queries,
)
from rowdelta.spark.conjuncts import Conjuncts, split_conjuncts
from rowdelta.spark.delta_logs import list_delta_commits, read_delta_snapshot, read_delta_version
from rowdelta.spark.frames import (
    count_computed_rows,
    estimate_size,
    find_columns_used,
    get_analyzed_plan,
    get_java_schema,
    move_to_session,
    read_relation,
    select_scalar,
)
from rowdelta.spark.gateway import Gateway
from rowdelta.spark.generated_sql import parse_column, parse_columns, run_procedure, run_sql, select_sql, where_sql
from rowdelta.spark.iceberg_tables import make_spark_table, prepare_staged_write
from rowdelta.spark.interrupts import end_work, run_interruptibly, stop_if_interrupted
from rowdelta.spark.java_errors import (
    JavaError,
    Py4JError,
    Py4JJavaError,
    read_java_causes,
    read_java_message,
    read_java_name,
)
from rowdelta.spark.java_proxies import JavaProxies, Signature
from rowdelta.spark.jvm_packages import is_missing
from rowdelta.spark.launch import end_jvm, find_running_context, kill_jvm, launch_spark, remove_at_exit_if_empty
from rowdelta.spark.metadata_columns import METADATA_COLUMNS
from rowdelta.spark.name_rule import ANY_CASE, NameRule, read_name_rule
from rowdelta.spark.planning_threads import plan_during_job
from rowdelta.spark.quiet_logs import quiet_pyspark, quiet_tasks
from rowdelta.spark.quoting import (
    append_to_name,
    quote,
    quote_path,
    quote_string,
    quote_where_needed,
    split_name,
    unquote,
)
from rowdelta.spark.session_settings import list_setting_names, parse_schema
from rowdelta.spark.single_values import convert_to_json_values, format_value
from rowdelta.spark.spark_errors import (
    check_running,
    get_condition,
    get_spark_error,
    list_sql_places,
    read_message,
    set_message,
    translate_errors,
    translate_spark_error,
)
from rowdelta.spark.sql_expression import check_expression, check_value
from rowdelta.spark.sql_names import (
    NamedTable,
    TemporaryView,
    drop_temporary_view,
    find_table,
    is_temporary_view,
)
from rowdelta.spark.sql_parser import (
    check_syntax,
    find_analysis_error,
    parse_statement,
    substitute_variables,
    underline_in_text,
)
from rowdelta.spark.store_assignment import can_store, cast_strictly, try_cast, write_sql_type
from rowdelta.spark.syntax_tree import Node
from rowdelta.spark.threads import run_in_pool
from rowdelta.spark.versions import RELEASE, check_delta, check_spark

__all__ = [
    "ANY_CASE",
    "METADATA_COLUMNS",
    "NODE",
    "RELEASE",
    "Conjuncts",
    "Gateway",
    "JavaError",
    "JavaProxies",
    "MethodHandles",
    "NameRule",
    "NamedTable",
    "Node",
    "Py4JError",
    "Py4JJavaError",
    "Signature",
    "TemporaryView",
    "append_to_name",
    "cache_frame",
    "cache_frame_unless_source_cached",
    "can_store",
    "cast_strictly",
    "check_delta",
    "check_expression",
    "check_running",
    "check_spark",
    "check_syntax",
    "check_value",
    "coalesce_by_size",
    "collect_arrow",
    "convert_to_display_rows",
    "convert_to_json_values",
    "convert_to_plain_values",
    "count_computed_rows",
    "drop_temporary_view",
    "end_jvm",
    "end_work",
    "estimate_size",
    "find_analysis_error",
    "find_columns_used",
    "find_running_context",
    "find_table",
    "format_value",
    "get_analyzed_plan",
    "get_condition",
    "get_java_schema",
    "get_spark_error",
    "has_other_cached_queries",
    "is_missing",
    "is_temporary_view",
    "kill_jvm",
    "launch_spark",
    "list_delta_commits",
    "list_setting_names",
    "list_sql_places",
    "make_frame_from_arrow",
    "make_spark_table",
    "move_to_session",
    "parse_column",
    "parse_columns",
    "parse_schema",
    "parse_statement",
    "plan_during_job",
    "prepare_staged_write",
    "quiet_pyspark",
    "quiet_tasks",
    "quote",
    "quote_path",
    "quote_string",
    "quote_where_needed",
    "read_delta_snapshot",
    "read_delta_version",
    "read_java_causes",
    "read_java_message",
    "read_java_name",
    "read_message",
    "read_name_rule",
    "read_relation",
    "remove_at_exit_if_empty",
    "run_in_pool",
    "run_interruptibly",
    "run_procedure",
    "run_sql",
    "select_scalar",
    "select_sql",
    "set_message",
    "split_conjuncts",
    "split_name",
    "stop_if_interrupted",
    "substitute_variables",
    "translate_errors",
    "translate_spark_error",
    "try_cast",
    "underline_in_text",
    "unquote",
    "where_sql",
    "write_sql_type",
]
