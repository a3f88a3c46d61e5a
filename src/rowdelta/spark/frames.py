"""Inspects a DataFrame through its Java plan: size, row count, columns and schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from rowdelta.spark.versions import SPARK

if TYPE_CHECKING:
    from pyspark.sql import Column

    from rowdelta.spark.gateway import Gateway


def estimate_size(frame: DataFrame) -> int:
    """Estimates a frame's size, as Spark does; exact for a cached frame that has been computed."""
    java: Any = frame._jdf
    # py4j returns a BigInt as a number or as an object
    return int(str(java.queryExecution().optimizedPlan().stats().sizeInBytes()))


def count_computed_rows(frame: DataFrame) -> int | None:
    """Counts the rows of a cached frame that has been computed; None for any other.

    A frame keeps its first statistics, even from before it was computed. So this reads those of a new frame over it.
    """
    java: Any = frame.select("*")._jdf
    leaves = _to_list(java.queryExecution().optimizedPlan().collectLeaves())
    if len(leaves) != 1 or leaves[0].getClass().getSimpleName() != "InMemoryRelation":
        return None
    if not leaves[0].cacheBuilder().isCachedColumnBuffersLoaded():
        return None
    return int(str(leaves[0].stats().rowCount().get()))


def find_columns_used(frame: DataFrame, *values: Column) -> set[str]:
    """Finds the columns of a frame that some expressions read."""
    java: Any = frame.select(*values)._jdf
    used = set()
    for expression in _to_list(java.queryExecution().analyzed().expressions()):
        used |= {str(attribute.name()) for attribute in _to_list(expression.references().toSeq())}
    return used


def move_to_session(gateway: Gateway, frame: DataFrame) -> DataFrame:
    """Moves a frame to another session: the session of a streaming batch does not adapt its plans."""
    java: Any = frame._jdf
    datasets = SPARK.get_dataset_class(gateway.jvm)
    return type(frame)(datasets.ofRows(gateway.session, java.queryExecution().logical()), gateway.spark)


def select_scalar(frame: DataFrame) -> Column:
    """Makes a scalar subquery of a frame with one row and one column."""
    return SPARK.select_scalar(frame)


def read_relation(gateway: Gateway, spark_table: Any) -> DataFrame:
    """Makes a frame of all rows of a Java table of Spark, which need not be in a catalog."""
    rows = SPARK.get_dataset_class(gateway.jvm).ofRows(gateway.session, SPARK.make_relation(gateway, spark_table))
    return DataFrame(rows, gateway.spark)


def get_java_schema(frame: DataFrame) -> Any:
    """Returns a frame's schema as a Java object."""
    java: Any = frame._jdf
    return java.schema()


def get_analyzed_plan(frame: DataFrame) -> Any:
    """Returns a frame's analyzed plan, in which every name is resolved, as a Java object."""
    java: Any = frame._jdf
    return java.queryExecution().analyzed()


def _to_list(sequence: Any) -> list[Any]:
    return [sequence.apply(index) for index in range(sequence.size())]
