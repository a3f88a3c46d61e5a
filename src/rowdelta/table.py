"""`rd.table()`: an Iceberg table and its verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.iceberg import TableHandle, list_delete_files
from rowdelta.ops import Delete, DeleteKeys, Merge, Update
from rowdelta.scan import MAX_BROADCAST_BYTES, create_view, live_frame

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from rowdelta.iceberg import TableMetadata


class Table:
    """An Iceberg table that Spark knows. Made by `rd.table()`."""

    def __init__(self, handle: TableHandle) -> None:
        self._handle = handle

    def __repr__(self) -> str:
        metadata = self.metadata
        branch = "" if self.branch == "main" else f" branch={self.branch}"
        return f"<rowdelta table {self.name}{branch} v{metadata.format_version} at {metadata.location}>"

    @property
    def name(self) -> str:
        """The name that the table was opened with."""
        return self._handle.name

    @property
    def branch(self) -> str:
        """The branch that is read and changed."""
        return self._handle.branch

    @property
    def metadata(self) -> TableMetadata:
        """Schema, specs, properties, snapshots, branches and tags, as of the last refresh."""
        return self._handle.metadata

    def refresh(self) -> Table:
        """Reads the newest metadata from the catalog."""
        self._handle.refresh()
        return self

    def read(
        self,
        where: str | Column | None = None,
        columns: Sequence[str | Column] | None = None,
        *,
        snapshot_id: int | None = None,
        timestamp: str | dt.datetime | None = None,
        tag: str | None = None,
        max_broadcast_bytes: int = MAX_BROADCAST_BYTES,
    ) -> DataFrame:
        """The live rows: every kind of delete applied.

        A table without equality deletes is read by Iceberg alone. Otherwise Iceberg reads it without them, and they are
        applied as joins inside Spark; filters and columns still reach the scan.

        Args:
            where: Rows to keep, as a SQL predicate or a Column.
            columns: Columns to return; all of them when left out.
            snapshot_id: The state after this snapshot.
            timestamp: The state at this time, as a datetime or ISO text; without a time zone it is UTC.
            tag: The state of this tag.
            max_broadcast_bytes: Deletes that take more memory are joined by a shuffle instead.

        Examples:
            >>> t.read(where="amount > 10", columns=["id", "amount"]).show()  # doctest: +SKIP
        """
        self._handle.refresh()
        frame = live_frame(self._handle, max_broadcast_bytes, snapshot_id=snapshot_id, timestamp=timestamp, tag=tag)
        if where is not None:
            frame = frame.where(where)
        return frame if columns is None else frame.select(*columns)

    def view(self, name: str) -> DataFrame:
        """Makes a temporary view of the live rows, and keeps it current through every change that rowdelta makes.

        Args:
            name: The view's name in Spark SQL.
        """
        self._handle.refresh()
        return create_view(self._handle, name)

    def delete(
        self, where: str | Column | None = None, *, mode: str | None = None, isolation: str | None = None
    ) -> Delete:
        """Deletes the rows that match a predicate.

        A predicate that covers whole files drops them in metadata alone. Otherwise the positions of the rows become
        deletion vectors (format version 3) or position deletes (version 2), or the files are written anew.

        Args:
            where: SQL text or a Column; all rows when it is left out.
            mode: `merge-on-read` or `copy-on-write`; left out, the property `write.delete.mode` decides.
            isolation: `serializable` or `snapshot`; left out, `write.delete.isolation-level` decides.

        Examples:
            >>> t.delete("status = 'void'").execute()  # doctest: +SKIP
        """
        return Delete(self._handle, where, mode, isolation)

    def update(self, *, mode: str | None = None, isolation: str | None = None) -> Update:
        """Sets columns of the rows that match a predicate.

        Args:
            mode: `merge-on-read` or `copy-on-write`; left out, the property `write.update.mode` decides.
            isolation: `serializable` or `snapshot`; left out, `write.update.isolation-level` decides.

        Examples:
            >>> t.update().set("amount", "amount * 1.1").where("region = 'EU'").execute()  # doctest: +SKIP
        """
        return Update(self._handle, mode, isolation)

    def merge(
        self,
        source: DataFrame,
        on: str | Column | Sequence[str],
        *,
        target_alias: str = "t",
        source_alias: str = "s",
        mode: str | None = None,
        isolation: str | None = None,
    ) -> Merge:
        """Merges rows of a source into the table; add clauses, then call `.execute()`.

        Args:
            source: The rows to merge.
            on: When rows match: the name of a column that both have, several of them, or a condition such as
                `t.id = s.id`. A null matches nothing.
            target_alias: What conditions call the table.
            source_alias: What conditions call the source.
            mode: `merge-on-read` or `copy-on-write`; left out, the property `write.merge.mode` decides.
            isolation: `serializable` or `snapshot`; left out, `write.merge.isolation-level` decides.

        Examples:
            >>> merge = t.merge(changes, on="id").when_matched_delete("s.op = 'D'")  # doctest: +SKIP
            >>> merge.when_matched_update_all().when_not_matched_insert_all().execute()  # doctest: +SKIP
        """
        return Merge(self._handle, source, on, (target_alias, source_alias), mode=mode, isolation=isolation)

    def delete_keys(
        self, keys: DataFrame, key: str | Sequence[str], *, encoding: str | None = None, scope: str = "auto"
    ) -> DeleteKeys:
        """Deletes every row that has one of some keys, without looking for the rows.

        Args:
            keys: The keys; other columns are ignored, save those that partitions are made of. A null key deletes the
                rows where the column is null.
            key: The column or columns that make up the key.
            encoding: `deletion-vector`, `hash-map` or `full-row`: use this one or fail. Left out, the table's
                properties decide, and what is not possible falls back to standard delete files.
            scope: `partition` (the keys carry the partition columns), `global` (all partitions), or `auto`.

        Examples:
            >>> t.delete_keys(spark.createDataFrame([(7,), (9,)], "id bigint"), key="id").execute()  # doctest: +SKIP
        """
        return DeleteKeys(self._handle, keys, key, encoding, scope)

    def delete_files(self, snapshot_id: int | None = None) -> DataFrame:
        """Every live delete file: its kind, its size, and the data files that it can still apply to.

        Args:
            snapshot_id: A snapshot; the head of the branch when it is left out.

        Returns:
            A DataFrame with `path`, `content` (`position` or `equality`), `encoding`, `records`, `bytes`, `sequence`,
            `partition`, `applies_to`, `dangling`, and `format`, `key`, `referenced_data_file`, `content_offset`,
            `spec_id`, `snapshot_id`.
        """
        self._handle.refresh()
        return list_delete_files(self._handle, snapshot_id)


def table(spark: SparkSession, name: str, branch: str = "main") -> Table:
    """Opens an Iceberg table of any catalog that the session knows.

    Args:
        spark: A classic Spark session with Iceberg 1.10 or newer; `rd.session()` makes one.
        name: The table's name as in SQL.
        branch: The branch to read and change.

    Raises:
        SessionError: The session is a Spark Connect client, has no Iceberg, or one that is too old.
        TableError: There is no such table, or it is not an Iceberg table.
        InputError: The table has no such branch.

    Examples:
        >>> import rowdelta as rd
        >>> t = rd.table(spark, "lake.db.orders")  # doctest: +SKIP
        >>> t.delete_files().show()  # doctest: +SKIP
    """
    return Table(TableHandle(spark, name, branch))
