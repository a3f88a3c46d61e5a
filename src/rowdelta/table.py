"""`rd.table()`: an Iceberg table and its verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.iceberg import TableHandle, list_delete_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
