"""A table for rowdelta and an identical copy for Iceberg SQL: the same statement must give the same rows."""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import rowdelta as rd
from tests.support.oracle import assert_same_tables
from tests.support.shared_files import share
from tests.support.tables import create

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from rowdelta.change import Result

VERBS = ("delete", "update", "merge")


class Kind(NamedTuple):
    """A format version, and how changes are written."""

    version: int
    mode: str

    @property
    def properties(self) -> dict[str, str]:
        """The table properties that choose the mode of every verb."""
        return {f"write.{verb}.mode": self.mode for verb in VERBS}

    def __str__(self) -> str:
        return f"v{self.version}-{self.mode}"


KINDS = [Kind(version, mode) for version in (3, 2) for mode in ("merge-on-read", "copy-on-write")]
DV = Kind(3, "merge-on-read")


@dataclass
class Copies:
    """Two tables with the same rows in the same files, made by the same commits."""

    spark: SparkSession
    ours: str
    theirs: str
    # Rows that a statement inserts get their ids in the order of its tasks, so only ids below this are compared.
    ids_compared: int | None = None

    @property
    def table(self) -> rd.Table:
        """The table that rowdelta changes."""
        return rd.table(self.spark, self.ours)

    def plain_spark(self, statement: str) -> None:
        """Runs a statement of Iceberg SQL on the copy; `{t}` stands for its name."""
        self.spark.sql(statement.replace("{t}", self.theirs))

    def both(self, statement: str) -> None:
        """Runs a statement of Iceberg SQL on both tables."""
        for name in (self.ours, self.theirs):
            self.spark.sql(statement.replace("{t}", name))

    def append(self, frame: DataFrame) -> None:
        """Appends rows to both tables, as one file for each partition."""
        for name in (self.ours, self.theirs):
            frame.coalesce(1).writeTo(name).append()

    def assert_same(self, after: Result | None = None, **numbers: int | None) -> None:
        """Compares the whole tables with their row lineage, and the numbers of a result with those given."""
        table = self.table
        found, expected = (self.spark.table(name) for name in (self.ours, self.theirs))
        if table.metadata.format_version > 2:
            lineage = (self._row_id(), "_last_updated_sequence_number")
            found, expected = (frame.selectExpr("*", *lineage) for frame in (found, expected))
        assert_same_tables(found, expected)
        self._level(table, rd.table(self.spark, self.theirs))
        if after is not None:
            assert {name: getattr(after, name) for name in numbers} == numbers

    def _level(self, *tables: rd.Table) -> None:
        """Commits empty snapshots until sequence numbers are equal: Iceberg SQL makes one even if nothing matches."""
        heads = [table.metadata.head("main") for table in tables]
        numbers = [0 if found is None else found.sequence_number for found in heads]
        for table, number in zip(tables, numbers, strict=True):
            for _ in range(max(numbers) - number if number else 0):
                table._handle.java_table.newFastAppend().commit()

    def _row_id(self) -> str:
        if self.ids_compared is None:
            return "_row_id"
        return f"if(_row_id < {self.ids_compared}, _row_id, null) AS _row_id"


@contextmanager
def copies(
    spark: SparkSession,
    columns: str,
    partitioned_by: str = "",
    kind: Kind = DV,
    properties: Mapping[str, str] | None = None,
) -> Iterator[Copies]:
    """Creates two empty tables, and drops them at the end."""
    unique = uuid.uuid4().hex[:10]
    names = f"lake.db.ours_{unique}", f"lake.db.theirs_{unique}"
    settings = {**kind.properties, **(properties or {})}
    try:
        for name in names:
            create(spark, name, columns, partitioned_by, version=kind.version, properties=settings)
        yield Copies(spark, *names)
    finally:
        for name in names:
            spark.sql(f"DROP TABLE IF EXISTS {name}")  # without PURGE: the files may be shared


COLUMNS = "id bigint NOT NULL, region string, a int, b int, p struct<x: int, y: string>, ts timestamp"


def numbered(spark: SparkSession, start: int, stop: int) -> DataFrame:
    """Rows of `COLUMNS`; one of seven has a null region, and one of five a null `b`."""
    return spark.range(start, stop, 1, 1).selectExpr(
        "id",
        "if(id % 7 = 6, null, concat('r', id % 3)) region",
        "cast(id % 10 as int) a",
        "if(id % 5 = 4, null, cast(id * 100 as int)) b",
        "named_struct('x', cast(id as int), 'y', concat('y', id)) p",
        "timestamp_seconds(1000000000 + id * 20000000) ts",
    )


def evolve(pair: Copies, partition_field: str) -> None:
    """Changes how two tables of `COLUMNS` are partitioned, renames `a` and `b` to each other, widens and adds columns.

    Args:
        pair: The tables.
        partition_field: A field of their partitions to drop; empty for none.
    """
    for change in (
        *([f"DROP PARTITION FIELD {partition_field}"] if partition_field else []),
        "ADD PARTITION FIELD bucket(3, id)",
        "RENAME COLUMN b TO old_b",
        "RENAME COLUMN a TO b",
        "RENAME COLUMN old_b TO a",
        "ADD COLUMN c string FIRST",
        "ALTER COLUMN a TYPE bigint",
        "ALTER COLUMN b TYPE bigint",
    ):
        pair.both(f"ALTER TABLE {{t}} {change}")


@contextmanager
def numbered_copies(
    spark: SparkSession, partitioned_by: str = "", kind: Kind = DV, properties: Mapping[str, str] | None = None
) -> Iterator[Copies]:
    """Two tables of `COLUMNS` with the ids 0 to 19, appended in two parts."""
    with copies(spark, COLUMNS, partitioned_by, kind, properties) as pair:
        for name in (pair.ours, pair.theirs):
            table = rd.table(spark, name)
            share(table, "0 to 9", lambda: numbered(spark, 0, 10))
            share(table, "10 to 19", lambda: numbered(spark, 10, 20))
        yield pair
