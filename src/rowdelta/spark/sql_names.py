"""What a name in SQL stands for: a temporary view, or an Iceberg table with its branch or snapshot."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from rowdelta.spark.gateway import Gateway
from rowdelta.spark.quoting import dotted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

_SELECTOR: Final = re.compile(r"(branch|tag|snapshot_id|at_timestamp)_.+", re.IGNORECASE | re.DOTALL)
_MAIN: Final = "main"


@dataclass(frozen=True)
class NamedTable:
    """An Iceberg table as a statement names it.

    Attributes:
        table: Catalog, namespace and name of the table.
        qualifier: What columns may be qualified with; for `db.t.branch_x` it ends in the branch.
        branch: The branch that is read or changed.
        snapshot_id: The snapshot that is named by an id, a tag or a time; None for the head of the branch.
    """

    table: tuple[str, ...]
    qualifier: tuple[str, ...]
    branch: str = _MAIN
    snapshot_id: int | None = None

    @property
    def sql(self) -> str:
        """The table's name in SQL, quoted where it must be."""
        return dotted(self.table)


def find_table(spark: SparkSession, parts: Sequence[str], version: str | int | None = None) -> NamedTable | None:
    """The Iceberg table of a name, as Spark would find it; None for anything else, and where there is nothing.

    Args:
        spark: The session.
        parts: The parts of the name.
        version: Time travel: a version as text, or a time in microseconds.
    """
    gateway = Gateway(spark)
    if _is_temporary(gateway, parts):
        return None
    try:
        found = gateway.iceberg.spark.Spark3Util.catalogAndIdentifier(gateway.session, list(parts))
        identifier = found.identifier()
        loaded = found.catalog().loadTable(identifier, *([] if version is None else [version]))
    except (Py4JError, PySparkException):  # Spark says what is wrong, in its own words
        return None
    if not gateway.java_class("org.apache.iceberg.spark.source.SparkTable").isInstance(loaded):
        return None
    if not gateway.java_class("org.apache.iceberg.HasTableOperations").isInstance(loaded.table()):
        return None  # a metadata table
    qualifier = (str(found.catalog().name()), *(str(part) for part in identifier.namespace()), str(identifier.name()))
    selected = _is_selector(loaded, qualifier[-1])
    pinned = loaded.branch() is None and (selected or version is not None)
    return NamedTable(
        table=qualifier[:-1] if selected else qualifier,
        qualifier=qualifier,
        branch=str(loaded.branch() or _MAIN),
        snapshot_id=int(loaded.snapshotId()) if pinned else None,
    )


class TemporaryView:
    """A temporary view as it was made: another one of the same name is not it."""

    def __init__(self, frame: DataFrame, name: str) -> None:
        frame.createOrReplaceTempView(name)
        self.name = name
        self._spark = frame.sparkSession
        self._made = self._current()

    @property
    def has_ended(self) -> bool:
        """Whether the Spark of its session was stopped."""
        return self._spark.sparkContext._jsc is None

    @property
    def is_there(self) -> bool:
        """Whether the session still has it, neither dropped nor replaced."""
        return bool(self._current() == self._made)

    def _current(self) -> Any:
        """What Spark keeps of a view has the time at which it was made."""
        found = Gateway(self._spark).session.sessionState().catalog().getRawTempView(self.name)
        return found.get() if found.isDefined() else None


def drop_temporary_view(spark: SparkSession, name: str) -> None:
    """Drops a view, and leaves what is cached alone (`spark.catalog.dropTempView` would not)."""
    Gateway(spark).session.sessionState().catalog().dropTempView(name)


def is_temporary_view(gateway: Gateway, name: str) -> bool:
    """Whether a name as in SQL is that of a temporary view; False where it is no name."""
    try:
        parts = gateway.session.sessionState().sqlParser().parseMultipartIdentifier(name)
        return bool(gateway.session.sessionState().catalog().isTempView(parts))
    except (Py4JError, PySparkException):
        return False


def _is_temporary(gateway: Gateway, parts: Sequence[str]) -> bool:
    names = gateway.jvm.scala.jdk.javaapi.CollectionConverters.asScala(list(parts)).toSeq()
    return bool(gateway.session.sessionState().catalog().isTempView(names))


def _is_selector(loaded: Any, last: str) -> bool:
    """Whether the last part picks a branch or a snapshot, and is not the name of a table."""
    return _SELECTOR.fullmatch(last) is not None and not str(loaded.name()).lower().endswith(f".{last.lower()}")
