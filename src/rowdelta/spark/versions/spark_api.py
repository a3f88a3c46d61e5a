"""What rowdelta needs of Spark and of Iceberg's Spark module that differs between their versions.

`Spark41` and `Spark35` implement it. A method belongs here only if no code works on all supported versions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Iterable

    import pyarrow as pa
    from pyspark.errors import PySparkException
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

    from rowdelta.spark.gateway import Gateway

Result = TypeVar("Result")


@dataclass(frozen=True)
class SqlPlace:
    """The place in a statement that an error is about.

    Attributes:
        statement: The whole statement; empty if it is unknown.
        start: The offset of the first character.
        end: The offset after the last character.
        summary: The place as the message shows it.
    """

    statement: str
    start: int
    end: int
    summary: str


class SparkApi(ABC):
    """What differs between the versions of Spark.

    Attributes:
        message_attribute: The attribute in which PySpark keeps the message of an error from Java.
        trace_attribute: The attribute in which it keeps the stack trace.
        staging_catalog: The setting of the catalog of staged writes, and its class.
        staging_option: The option of a staged write that has its group; None if the name of its table says enough.
        python_names: The names of PySpark that are not public: a module and an attribute, separated by a colon.
        java_names: The classes of Spark and Iceberg that are not public, each with the methods that are called, as in
            `internals`.
    """

    message_attribute: ClassVar[str]
    trace_attribute: ClassVar[str]
    staging_catalog: ClassVar[tuple[str, str]]
    staging_option: ClassVar[str | None] = None
    python_names: ClassVar[tuple[str, ...]]
    java_names: ClassVar[dict[str, tuple[str, ...]]]

    # Columns

    @abstractmethod
    def make_column(self, java_column: Any) -> Column:
        """Wraps a Java column."""

    @abstractmethod
    def make_expression_column(self, jvm: Any, expression: Any) -> Any:
        """Makes a Java column of a Catalyst expression."""

    @abstractmethod
    def get_expression_name(self, column: Column) -> str:
        """Returns the simple class name of a column's expression."""

    @abstractmethod
    def cast_strictly(self, gateway: Gateway, value: Column, java_type: Any) -> Column:
        """Casts a value, and fails if it does not fit, whatever the session's settings."""

    @abstractmethod
    def try_cast(self, value: Column, data_type: DataType | str) -> Column:
        """Casts a value; null if it does not fit."""

    @abstractmethod
    def select_scalar(self, frame: DataFrame) -> Column:
        """Makes a scalar subquery of a frame with one row and one column."""

    # Frames

    @abstractmethod
    def collect_arrow(self, frame: DataFrame) -> pa.Table:
        """Collects a frame as an Arrow table."""

    @abstractmethod
    def read_arrow_schema(self, schema: pa.Schema) -> StructType:
        """Converts an Arrow schema; a timestamp without a zone is `timestamp_ntz`."""

    @abstractmethod
    def make_frame(self, spark: SparkSession, table: pa.Table, schema: StructType) -> DataFrame:
        """Makes a frame of an Arrow table of a single chunk."""

    @abstractmethod
    def parse_schema(self, text: str) -> StructType:
        """Parses the columns of a table, as in CREATE TABLE."""

    # Errors and logs

    @abstractmethod
    def get_condition(self, error: PySparkException) -> str | None:
        """Returns the name that Spark gives to an error, such as `UNRESOLVED_COLUMN.WITH_SUGGESTION`."""

    @abstractmethod
    def unwrap_error(self, error: Exception) -> Exception:
        """Returns the error of the expression that made a task fail, if Spark wraps it; otherwise the error itself."""

    @abstractmethod
    def list_sql_places(self, error: PySparkException) -> list[SqlPlace]:
        """Lists the places in statements that an error is about."""

    @abstractmethod
    def get_error_loggers(self) -> Iterable[logging.Logger]:
        """Returns the loggers through which PySpark logs SQL errors before it raises them."""

    # The session

    @abstractmethod
    def get_session_class(self, jvm: Any) -> Any:
        """Returns the Java class of a session."""

    @abstractmethod
    def get_dataset_class(self, jvm: Any) -> Any:
        """Returns the Java class of a frame."""

    @abstractmethod
    def make_default_settings(self, jvm: Any) -> Any:
        """Makes the settings for generated SQL: those of a new session, in ANSI mode."""

    @abstractmethod
    def get_call_parser(self, jvm: Any, parser: Any) -> Any:
        """Returns the parser of CALL statements, given Spark's own."""

    @abstractmethod
    def list_setting_names(self, spark: SparkSession) -> list[str]:
        """Lists the names of the session's settings."""

    @abstractmethod
    def inherit_properties(self, spark: SparkSession, work: Callable[[], Result]) -> Callable[[], Result]:
        """Makes work in a new thread inherit the tags and properties of the caller's jobs.

        That is possible if Python threads have their own Java threads; otherwise the work stays as it is.
        """

    # Iceberg

    @abstractmethod
    def make_spark_table(self, iceberg: Any, table: Any) -> Any:
        """Makes Iceberg's table for Spark of one of its table objects. It is never refreshed."""

    @abstractmethod
    def make_relation(self, gateway: Gateway, spark_table: Any) -> Any:
        """Makes the logical plan that reads a table."""

    def prepare_staged_write(self, spark: SparkSession, group: str) -> dict[str, str]:
        """Prepares the session for a write that Iceberg does not commit, and returns the options of that write.

        The write gets every column of the table; on format version 3 also those of row lineage. Its table has the name
        of the group, in a catalog that the session needs. Iceberg gives it to the thread's active session, which may be
        another one in a new thread.
        """
        setting, catalog = self.staging_catalog
        if spark.conf.get(setting, None) is None:
            spark.conf.set(setting, catalog)
        return {} if self.staging_option is None else {self.staging_option: group}

    @abstractmethod
    def count_cached_queries(self, manager: Any) -> int:
        """Counts the queries that Spark caches; a large number if it caches some and does not say how many."""

    # Delta Lake

    @abstractmethod
    def read_delta_snapshot(self, log: Any, version: int, none: Any) -> Any:
        """Returns an older snapshot of a log; `none` is Scala's None."""

    @abstractmethod
    def list_delta_commits(self, log: Any, first: int, last: int, none: Any) -> Any:
        """Returns a Scala iterator over the versions and the files of a range of commits."""
