"""Resolves a name in SQL to a temporary view, or to an Iceberg table with its branch or snapshot."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from rowdelta.spark.gateway import Gateway
from rowdelta.spark.quoting import quote_where_needed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

_SELECTOR: Final = re.compile(r"(branch|tag|snapshot_id|at_timestamp)_.+", re.IGNORECASE | re.DOTALL)
_MAIN: Final = "main"


@dataclass(frozen=True)
class NamedTable:
    """An Iceberg table that a statement names.

    Attributes:
        table: Catalog, namespace and name of the table.
        qualifier: The parts that may qualify its columns; for `db.t.branch_x` they end with the branch.
        branch: The branch to read or change.
        snapshot_id: The snapshot that an id, a tag or a time selects; None for the head of the branch.
    """

    table: tuple[str, ...]
    qualifier: tuple[str, ...]
    branch: str = _MAIN
    snapshot_id: int | None = None

    @property
    def sql(self) -> str:
        """The table's name in SQL, quoted only if needed."""
        return quote_where_needed(self.table)


def find_table(spark: SparkSession, parts: Sequence[str], version: str | int | None = None) -> NamedTable | None:
    """Finds the Iceberg table of a name, as Spark would; None if there is none, or something else.

    Args:
        spark: The session.
        parts: The parts of the name.
        version: The version for time travel: text, or a time in microseconds.
    """
    gateway = Gateway(spark)
    if _is_temporary(gateway, parts):
        return None
    try:
        resolved = gateway.iceberg.spark.Spark3Util.catalogAndIdentifier(gateway.session, list(parts))
        identifier = resolved.identifier()
        loaded = resolved.catalog().loadTable(identifier, *([] if version is None else [version]))
    except (Py4JError, PySparkException):  # Spark reports what is wrong when it runs the statement
        return None
    if not gateway.java_class("org.apache.iceberg.spark.source.SparkTable").isInstance(loaded):
        return None
    if not gateway.java_class("org.apache.iceberg.HasTableOperations").isInstance(loaded.table()):
        return None  # a metadata table
    qualifier = (
        str(resolved.catalog().name()),
        *(str(part) for part in identifier.namespace()),
        str(identifier.name()),
    )
    selected = _is_selector(loaded, qualifier[-1])
    pinned = loaded.branch() is None and (selected or version is not None)
    return NamedTable(
        table=qualifier[:-1] if selected else qualifier,
        qualifier=qualifier,
        branch=str(loaded.branch() or _MAIN),
        snapshot_id=int(loaded.snapshotId()) if pinned else None,
    )


class TemporaryView:
    """A temporary view, distinguished from later ones of the same name."""

    def __init__(self, frame: DataFrame, name: str) -> None:
        frame.createOrReplaceTempView(name)
        self.name = name
        self._spark = frame.sparkSession
        self._plan = self._read_current_plan()

    @property
    def has_ended(self) -> bool:
        """Whether its session was stopped."""
        return self._spark.sparkContext._jsc is None

    @property
    def is_there(self) -> bool:
        """Whether the session still has it: it was neither dropped nor replaced."""
        return bool(self._read_current_plan() == self._plan)

    def _read_current_plan(self) -> Any:
        """Reads the plan that Spark has of the view, which includes the time when it was made."""
        plan = Gateway(self._spark).session.sessionState().catalog().getRawTempView(self.name)
        return plan.get() if plan.isDefined() else None


def drop_temporary_view(spark: SparkSession, name: str) -> None:
    """Drops a view but not its cached data, which `spark.catalog.dropTempView` would drop too."""
    Gateway(spark).session.sessionState().catalog().dropTempView(name)


def is_temporary_view(gateway: Gateway, name: str) -> bool:
    """Whether SQL text names a temporary view; False if it is not a name."""
    try:
        parts = gateway.session.sessionState().sqlParser().parseMultipartIdentifier(name)
        return bool(gateway.session.sessionState().catalog().isTempView(parts))
    except (Py4JError, PySparkException):
        return False


def _is_temporary(gateway: Gateway, parts: Sequence[str]) -> bool:
    names = gateway.jvm.PythonUtils.toSeq(list(parts))
    return bool(gateway.session.sessionState().catalog().isTempView(names))


def _is_selector(loaded: Any, last: str) -> bool:
    """Whether the last part selects a branch or a snapshot, rather than naming a table."""
    return _SELECTOR.fullmatch(last) is not None and not str(loaded.name()).lower().endswith(f".{last.lower()}")
