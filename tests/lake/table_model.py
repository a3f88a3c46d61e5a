"""A table, and what a plain Python model says is in it."""

from __future__ import annotations

import copy
import uuid
from typing import TYPE_CHECKING, Any, Final

from tests.lake.components import NAMESPACE
from tests.support.oracle import assert_same_rows
from tests.support.tables import VECTORS, create, make_frame

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

    import rowdelta as rd
    from tests.lake.lake import Lake

COLUMNS: Final = "id bigint, region string, v int"
REGIONS: Final = ("EU", "US", "ASIA")
ROWS: Final = 30


def region_of(key: int) -> str:
    """The partition of a key."""
    return REGIONS[key % len(REGIONS)]


class TableModel:
    """A table partitioned by region, and its rows by their ids.

    Attributes:
        lake: Where the table is.
        component: Its catalog.
        version: Its format version.
        table: The table.
        rows: The expected rows: the values of the other columns, by id and column.
        snapshots: The rows after each change, by the snapshot.
    """

    def __init__(self, lake: Lake, component: str, version: int, rows: dict[int, dict[str, Any]] | None = None) -> None:
        self.lake = lake
        self.component = component
        self.version = version
        self.columns = ["id", "region", "v"]
        self.snapshots: dict[int, dict[int, dict[str, Any]]] = {}
        self.name = f"{component}.{NAMESPACE}.t_{uuid.uuid4().hex[:10]}"
        properties = VECTORS if version > 2 else {}
        self.table: rd.Table = create(self.spark, self.name, COLUMNS, "region", version=version, properties=properties)
        self.rows: dict[int, dict[str, Any]] = {}
        self.append(range(ROWS) if rows is None else rows)

    @property
    def spark(self) -> SparkSession:
        """The session."""
        return self.lake.spark

    def append(self, keys: Iterable[int], v: int = 0) -> None:
        """Adds rows with Spark."""
        added = {key: {"region": region_of(key), "v": v or key} for key in keys}
        frame = self.frame([(key, row["region"], row["v"]) for key, row in added.items()])
        frame.coalesce(1).writeTo(self.name).append()
        self.rows |= added
        self.table.refresh()

    def frame(self, rows: list[tuple[Any, ...]], schema: str = COLUMNS) -> DataFrame:
        """A frame of a few rows."""
        return make_frame(self.spark, rows, schema)

    def set_values(self, keys: Iterable[int], **values: Any) -> None:
        """Expects values in some rows; a row that does not exist yet is added to its partition."""
        for key in keys:
            row = self.rows.setdefault(key, {"region": region_of(key)})
            row.update(values)

    def remove(self, keys: Iterable[int]) -> None:
        """Expects that rows are gone."""
        for key in list(keys):
            self.rows.pop(key, None)

    def list_rows(self, rows: dict[int, dict[str, Any]] | None = None) -> list[tuple[Any, ...]]:
        """Lists the expected rows, in the order of the columns."""
        given = self.rows if rows is None else rows
        return [(key, *(row.get(column) for column in self.columns[1:])) for key, row in given.items()]

    def check(self) -> None:
        """Compares the whole table with the model."""
        assert_same_rows(self.table.read(), self.list_rows())
        head = self.table.metadata.current_snapshot_id
        if head is not None:
            self.snapshots[head] = copy.deepcopy(self.rows)

    def check_with_iceberg(self) -> None:
        """Compares the whole table with the model, as Iceberg's own reader sees it."""
        assert_same_rows(self.spark.table(self.name), self.list_rows())
