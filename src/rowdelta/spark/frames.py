"""What Spark expects of a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rowdelta.spark.gateway import Gateway


def size_in_bytes(frame: DataFrame) -> int:
    """Spark's estimate of a frame's size; exact for one that is kept in memory and has been computed."""
    java: Any = frame._jdf
    # py4j may hand a BigInt over as a number or as an object
    return int(str(java.queryExecution().optimizedPlan().stats().sizeInBytes()))


def computed_rows(frame: DataFrame) -> int | None:
    """How many rows a frame has that is kept in memory and has been computed; None for any other.

    A frame remembers what was once said of it. This may be asked before it is computed, so another one is asked.
    """
    java: Any = frame.select("*")._jdf
    leaves = _items(java.queryExecution().optimizedPlan().collectLeaves())
    if len(leaves) != 1 or leaves[0].getClass().getSimpleName() != "InMemoryRelation":
        return None
    if not leaves[0].cacheBuilder().isCachedColumnBuffersLoaded():
        return None
    return int(str(leaves[0].stats().rowCount().get()))


def columns_used(frame: DataFrame, *values: Column) -> set[str]:
    """The columns of a frame that some expressions read."""
    java: Any = frame.select(*values)._jdf
    used = set()
    for expression in _items(java.queryExecution().analyzed().expressions()):
        used |= {str(attribute.name()) for attribute in _items(expression.references().toSeq())}
    return used


def in_session(gateway: Gateway, frame: DataFrame) -> DataFrame:
    """The same frame in another session: a batch of a stream comes in one that does not adapt its plans."""
    java: Any = frame._jdf
    classic = gateway.jvm.org.apache.spark.sql.classic
    return type(frame)(classic.Dataset.ofRows(gateway.session, java.queryExecution().logical()), gateway.spark)


def java_schema(frame: DataFrame) -> Any:
    """A frame's schema as a Java object."""
    java: Any = frame._jdf
    return java.schema()


def analyzed_plan(frame: DataFrame) -> Any:
    """A frame's plan as a Java object, once Spark has bound every name in it."""
    java: Any = frame._jdf
    return java.queryExecution().analyzed()


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(index) for index in range(sequence.size())]
