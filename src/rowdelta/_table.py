"""`rd.table()`: an Iceberg table and its operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta._deprecated import rename_arguments, warn_deprecated
from rowdelta.debt import Debt, DeleteDebt, advise, measure_debt
from rowdelta.feed import ChangeRequest, read_changes
from rowdelta.iceberg import TableHandle, list_delete_files
from rowdelta.maintenance import (
    DEFAULT_MEMORY,
    DEFAULT_MIN_INPUT_FILES,
    Compact,
    CompactOptions,
    Expire,
    RemoveDangling,
    RemoveOrphans,
    Resolve,
    RewriteDeletes,
)
from rowdelta.read import MAX_BROADCAST_BYTES, create_view, read_live_frame
from rowdelta.spark import check_expression, check_running, translate_errors
from rowdelta.verbs import TOMBSTONE_COLUMN, ChangeRules, Delete, DeleteKeys, Merge, Update, Upsert

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from rowdelta.choices import CompactStrategy, Encoding, Images, Isolation, Mode, Scope, Tie, Tombstones
    from rowdelta.debt import TableAdvice
    from rowdelta.feed import State
    from rowdelta.iceberg import TableMetadata
    from rowdelta.maintenance import OlderThan, OnProgress


class Table:
    """An Iceberg table in a catalog of Spark. `rd.table()` opens one.

    Examples:
        >>> t = rd.table(spark, "lake.db.orders")
        >>> t.read().count()
        4
    """

    def __init__(self, handle: TableHandle) -> None:
        self._opened = handle

    @property
    def _handle(self) -> TableHandle:
        check_running(self._opened.spark)
        return self._opened

    def __repr__(self) -> str:
        metadata = self._opened.metadata
        branch = "" if self.branch == "main" else f" branch={self.branch}"
        return f"<rowdelta table {self.name}{branch} v{metadata.format_version} at {metadata.location}>"

    @property
    def name(self) -> str:
        """The name with which the table was opened.

        Examples:
            >>> t.name
            'lake.db.orders'
        """
        return self._opened.name

    @property
    def branch(self) -> str:
        """The branch that operations read and change.

        Examples:
            >>> t.branch
            'main'
        """
        return self._opened.branch

    @property
    def metadata(self) -> TableMetadata:
        """Schema, specs, properties, snapshots, branches and tags, as of the last refresh.

        Examples:
            >>> t.metadata.format_version, [column.name for column in t.metadata.schema.fields]
            (3, ['id', 'status', 'amount'])
        """
        return self._handle.metadata

    def refresh(self) -> Table:
        """Reads the newest metadata from the catalog.

        Examples:
            >>> list(t.metadata.tags)
            []
            >>> _ = spark.sql("ALTER TABLE lake.db.orders CREATE TAG audit")  # by Spark, not by rowdelta
            >>> list(t.metadata.tags), list(t.refresh().metadata.tags)
            ([], ['audit'])
        """
        with translate_errors(self._handle.spark):
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
        check_deletes: bool = False,
    ) -> DataFrame:
        """Reads the live rows, with every kind of delete applied.

        A table without equality deletes is read by Iceberg alone. Otherwise Iceberg reads the rows, and a Spark join
        removes the deleted ones. Filters and column selections still reach the scan.

        Args:
            where: Rows to keep, as a SQL predicate or a Column.
            columns: Columns to return; all by default.
            snapshot_id: The state after this snapshot.
            timestamp: The state at this time, as a datetime or ISO text, in UTC without a time zone. On main, the same
                as `TIMESTAMP AS OF`; on another branch, the newest snapshot of its current history up to then.
            tag: The state of this tag.
            max_broadcast_bytes: Deletes that take more memory than this are joined by a shuffle.
            check_deletes: Read every deletion vector first. Iceberg's reader treats some damaged ones as empty
                and returns deleted rows.

        Raises:
            FormatError: With `check_deletes`, a deletion vector or its Puffin file is damaged.

        Examples:
            >>> t.read(where="amount > 10", columns=["id", "amount"]).show()
            +---+------+
            | id|amount|
            +---+------+
            |  2|  20.0|
            |  3|  30.0|
            |  4|  40.0|
            +---+------+
            >>> before = t.metadata.current_snapshot_id
            >>> _ = t.delete("id = 1").execute()
            >>> t.read().count(), t.read(snapshot_id=before).count()
            (3, 4)
        """
        handle = self._handle
        with translate_errors(handle.spark):
            handle.refresh()
            frame = read_live_frame(
                handle,
                max_broadcast_bytes,
                snapshot_id=snapshot_id,
                timestamp=timestamp,
                tag=tag,
                verify=check_deletes,
                where=None if where is None else check_expression(handle.gateway, where, "where"),
            )
            if columns is None:
                return frame
            return frame.select(*([columns] if isinstance(columns, str) else columns))

    def changes(
        self,
        start: State | None = None,
        end: State | None = None,
        *,
        columns: str | Sequence[str] | None = None,
        where: str | Column | None = None,
        key: str | Sequence[str] | None = None,
        images: Images = "all",
        net: bool = False,
    ) -> DataFrame:
        """Reads the change feed: the rows that changed between two states, over every kind of delete.

        The frame has the table's columns, then `_change_type` (`insert`, `delete`, `update_preimage` or
        `update_postimage`), `_commit_snapshot_id`, `_commit_timestamp` and `_change_ordinal`, the place of the commit
        in the range. Rows have the schema of `end`. Only data files that were added, removed or got new deletes are
        read. Compaction and resolve give no changes, nor do rows that are written again with the same values.

        Args:
            start: The older state, whose own changes are not returned: a snapshot id, a tag, or a time as in
                `t.read()`. By default, the empty table.
            end: The newer state; by default, the head of the branch.
            columns: The columns to return, by name. A change of other columns alone is no change.
            where: The rows to compare, as a SQL predicate or a Column: the feed of a table with only these rows.
            key: The columns that identify a row. An update is found by the row's id on format version 3, if the update
                kept it, and otherwise by the key: by default, the table's identifier fields. Without either, it is a
                delete and an insert.
            images: `all` rows of an update, or only the row `after` it.
            net: Combine all commits of the range: at most one change of each row, and none if it changed back.

        Raises:
            InputError: `start` has expired, or is not an ancestor of `end`.

        Examples:
            >>> before = t.metadata.current_snapshot_id
            >>> _ = t.update().set("amount", 0).where("status = 'void'").execute()
            >>> _ = t.upsert(changes, key="id", order_by="seq", delete_when="op = 'D'").execute()
            >>> feed = t.changes(before, key="id").drop("_commit_snapshot_id", "_commit_timestamp")
            >>> feed.orderBy("_change_ordinal", "id", "_change_type").show()
            +---+-------+------+----------------+---------------+
            | id| status|amount|    _change_type|_change_ordinal|
            +---+-------+------+----------------+---------------+
            |  3|   void|   0.0|update_postimage|              0|
            |  3|   void|  30.0| update_preimage|              0|
            |  1|shipped|  10.0|update_postimage|              1|
            |  1|    new|  10.0| update_preimage|              1|
            |  2|    new|  20.0|          delete|              1|
            |  7|    new|   5.0|          insert|              1|
            +---+-------+------+----------------+---------------+
        """
        handle = self._handle
        with translate_errors(handle.spark):
            handle.refresh()
            return read_changes(handle, start, end, ChangeRequest(columns, where, key, images, net))

    def view(self, name: str) -> DataFrame:
        """Creates a temporary view of the live rows. It stays current through every change by rowdelta.

        Args:
            name: The view's name in Spark SQL.

        Examples:
            >>> live = t.view("orders")
            >>> _ = t.delete_keys(changes, key="id").execute()
            >>> spark.sql("SELECT count(*) AS orders FROM orders").show()
            +------+
            |orders|
            +------+
            |     2|
            +------+
        """
        with translate_errors(self._handle.spark):
            self._handle.refresh()
            return create_view(self._handle, name)

    def delete(
        self,
        where: str | Column | None = None,
        *,
        alias: str | None = None,
        mode: Mode | None = None,
        isolation: Isolation | None = None,
    ) -> Delete:
        """Deletes the rows that match a predicate.

        A predicate that covers whole files drops them by metadata only. Otherwise the positions of the rows become
        deletion vectors (format version 3) or position deletes (version 2), or copy-on-write rewrites the files.

        Args:
            where: The rows to delete, as a SQL predicate or a Column; all rows by default.
            alias: The name of the table in the predicate, for correlated subqueries.
            mode: `merge-on-read` or `copy-on-write`; by default the property `write.delete.mode` decides.
            isolation: `serializable` or `snapshot`; by default `write.delete.isolation-level` decides.

        Examples:
            >>> t.delete("status = 'void'").execute().rows_deleted
            1
        """
        return Delete(self._handle, where, alias=alias, mode=mode, isolation=isolation)

    def update(
        self, *, alias: str | None = None, mode: Mode | None = None, isolation: Isolation | None = None
    ) -> Update:
        """Sets columns of the rows that match a predicate.

        Args:
            alias: The name of the table in values and the predicate, for correlated subqueries.
            mode: `merge-on-read` or `copy-on-write`; by default the property `write.update.mode` decides.
            isolation: `serializable` or `snapshot`; by default `write.update.isolation-level` decides.

        Examples:
            >>> t.update().set("amount", "amount * 1.1").where("status = 'new'").execute().rows_updated
            2
        """
        return Update(self._handle, alias=alias, mode=mode, isolation=isolation)

    def merge(
        self,
        source: DataFrame,
        on: str | Column | Sequence[str],
        *,
        target_alias: str = "t",
        source_alias: str = "s",
        mode: Mode | None = None,
        isolation: Isolation | None = None,
    ) -> Merge:
        """Merges rows of a source into the table; add clauses, then call `.execute()`.

        Args:
            source: The rows to merge.
            on: When rows match: the name of a column that both have, several names, or a condition such as
                `t.id = s.id`. A null matches nothing.
            target_alias: The name of the table in conditions.
            source_alias: The name of the source in conditions.
            mode: `merge-on-read` or `copy-on-write`; by default the property `write.merge.mode` decides.
            isolation: `serializable` or `snapshot`; by default `write.merge.isolation-level` decides.

        Examples:
            >>> merge = t.merge(changes.where("seq > 1"), on="id").when_matched_delete("s.op = 'D'")
            >>> result = merge.when_matched_update_all().when_not_matched_insert_all().execute()
            >>> result.rows_deleted, result.rows_updated, result.rows_inserted
            (1, 1, 1)
        """
        return Merge(self._handle, source, on, (target_alias, source_alias), mode=mode, isolation=isolation)

    def delete_keys(
        self,
        keys: DataFrame,
        key: str | Sequence[str],
        *,
        encoding: Encoding | None = None,
        scope: Scope = "auto",
        resolve: bool | None = None,
    ) -> DeleteKeys:
        """Deletes all rows with the given keys: by position, or by the keys alone, as `upsert` does.

        Args:
            keys: The keys; other columns are ignored. A null key deletes the rows where the column is null. Without
                any key, nothing changes and no snapshot is made.
            key: The column or columns of the key.
            encoding: `equality-delete-vector`, `hash-map` or `full-row`: use this encoding or fail. By default the
                table's properties decide, and fall back to standard delete files where another is not possible.
            scope: The rows that a delete applies to. `auto`: those of its partition, if the key columns determine the
                partition and no rows were written under another spec; otherwise those of the whole table. `global`:
                always the whole table. `partition`: other columns of `keys` may name the partition.
            resolve: Whether to look up the rows, as in `upsert`.

        Examples:
            >>> gone = spark.createDataFrame([(1,), (3,)], "id bigint")
            >>> result = t.delete_keys(gone, key="id").execute()
            >>> result.keys, result.encodings
            (2, {'equality-delete-vector': 1})
            >>> t.read().count()
            2
        """
        return DeleteKeys(self._handle, keys, key, encoding, scope, resolve=resolve)

    def upsert(
        self,
        changes: DataFrame,
        key: str | Sequence[str],
        order_by: str | Column | Sequence[str | Column] | None = None,
        delete_when: str | Column | None = None,
        columns: Sequence[str] | None = None,
        *,
        tie: Tie = "error",
        scope: Scope = "auto",
        encoding: Encoding | None = None,
        merge_schema: bool = False,
        resolve: bool | None = None,
        keep_newer: bool = False,
        tombstones: Tombstones = "drop",
        tombstone_column: str = TOMBSTONE_COLUMN,
        unsent: str | Column | None = None,
    ) -> Upsert:
        """Replaces, inserts and deletes rows by key, in one snapshot. The last change of each key wins.

        By default, the old rows are looked up in one scan of the key columns and deleted by position, so that every
        engine can read the table at once. With `resolve=False`, or if the table allows equality delete vectors, their
        keys are written down instead: then the table is not read, and the cost depends only on the changes.

        Args:
            changes: Whole rows, by the names of the table's columns; a missing column gets its default, or null.
                `order_by` and `delete_when` may use other columns.
            key: The column or columns that identify a row.
            order_by: One or several values that grow from an older change of a key to a newer one; a null is oldest.
                It orders the changes of this call. An older change that arrives in a later call still replaces the row,
                unless `keep_newer` is set.
            delete_when: Which changes delete their key, as a SQL predicate or a Column.
            columns: Set only these columns and keep the rest of an existing row; this reads the table, as a merge does.
            tie: If two different changes of a key are equally new: `error`, or `any` to take one of them.
            scope: As in `delete_keys`. With `partition`, the old row must be in the partition of the new one.
            encoding: `equality-delete-vector`, `hash-map` or `full-row`: use this encoding or fail.
            merge_schema: Add columns to the table that only the changes have.
            resolve: Whether to look up the old rows. By default, the property `write.upsert.resolve` decides; without
                it, the rows are looked up unless the table allows equality delete vectors or `encoding` is given.
            keep_newer: Ignore a change that is not newer than the row in the table, by the columns of `order_by`, which
                the table must have. It looks up the old rows.
            tombstones: With `keep`, a deleted key leaves a row with the key, the columns of `order_by`, and true in
                `tombstone_column`, so that `keep_newer` also ignores changes that are older than the delete.
            tombstone_column: The boolean column of the table that marks these rows.
            unsent: An array of the names of the columns that a change does not carry: they keep the value of the old
                row. It looks up the old rows.

        Examples:
            >>> result = t.upsert(changes, key="id", order_by="seq", delete_when="op = 'D'").execute()
            >>> result.keys, result.keys_deleted, result.rows_written
            (3, 1, 2)
            >>> t.read().orderBy("id").show()
            +---+-------+------+
            | id| status|amount|
            +---+-------+------+
            |  1|shipped|  10.0|
            |  3|   void|  30.0|
            |  4|   paid|  40.0|
            |  7|    new|   5.0|
            +---+-------+------+
        """
        rules = ChangeRules.from_arguments(key, order_by, delete_when, tie, unsent=unsent)
        return Upsert(
            self._handle,
            changes,
            rules,
            columns=columns,
            scope=scope,
            encoding=encoding,
            merge_schema=merge_schema,
            resolve=resolve,
            keep_newer=keep_newer,
            tombstones=tombstones,
            tombstone_column=tombstone_column,
        )

    @rename_arguments(where="partitions")
    def resolve(
        self,
        partitions: str | Column | None = None,
        publish: str | None = None,
        *,
        verify: bool | None = None,
        memory: str | int = DEFAULT_MEMORY,
        partial_progress: bool = False,
        progress: OnProgress | None = None,
    ) -> Resolve:
        """Converts equality deletes to deletion vectors (format version 3) or position deletes (version 2).

        It reads only the key columns, and only of files that can contain a key. One snapshot replaces the deletes and
        removes data files without a live row. Changes that other writers commit meanwhile are kept.

        Args:
            partitions: Only the deletes of these partitions, as a predicate on partition columns. Deletes of the whole
                table then stay.
            publish: A branch to move to the resolved state: `main`, for a table opened with another branch.
            verify: Compare all visible rows before the commit; by default for tables below 1 GB.
            memory: The memory of the driver for the positions of one group of files.
            partial_progress: Commit group by group, so that an interrupted run keeps its finished groups.
            progress: Called after each group of files. By default a bar is shown if stderr is a terminal.

        Examples:
            >>> _ = t.delete_keys(changes, key="id").execute()
            >>> result = t.resolve().execute()
            >>> result.equality_deletes, result.positions  # one file of three keys; two of them had a row
            (1, 2)
            >>> spark.table("lake.db.orders").count()  # Iceberg reads the table without rowdelta
            2
        """
        return Resolve(
            self._handle, partitions, publish, memory, progress, verify=verify, partial_progress=partial_progress
        )

    @rename_arguments(where="delete_files")
    def rewrite_deletes(
        self,
        target_encoding: Encoding | None = None,
        delete_files: str | Column | None = None,
        *,
        min_input_files: int = DEFAULT_MIN_INPUT_FILES,
        target_size: str | int | None = None,
        verify: bool | None = None,
        progress: OnProgress | None = None,
    ) -> RewriteDeletes:
        """Rewrites delete files in another encoding, or merges small ones. What they delete stays the same.

        Equality deletes keep their sequence number; those with the same key, partition and number become one. Position
        deletes become one for each data file, or deletion vectors on version 3.

        Args:
            target_encoding: The encoding of equality deletes: `equality-delete-vector`, `full-row` or `hash-map`. By
                default it does not change.
            delete_files: Only these delete files, as a predicate on the columns of `t.delete_files()`, such as
                `encoding = 'full-row' AND bytes < 1000`.
            min_input_files: If the encoding does not change, merge only groups of at least this many files.
            target_size: The approximate maximum size of a file with the position deletes of several data files; by
                default `write.delete.target-file-size-bytes` decides.
            verify: Compare all visible rows before each commit; by default for tables below 1 GB.
            progress: As for `resolve`.

        Examples:
            >>> _ = t.delete_keys(changes, key="id", encoding="full-row").execute()
            >>> rewrite = t.rewrite_deletes("equality-delete-vector", delete_files="encoding = 'full-row'")
            >>> rewrite.execute().equality_deletes
            1
        """
        return RewriteDeletes(
            self._handle,
            target_encoding,
            delete_files,
            min_input_files=min_input_files,
            target_size=target_size,
            verify=verify,
            progress=progress,
        )

    @rename_arguments(where="data_files")
    def compact(
        self,
        strategy: CompactStrategy = "binpack",
        *,
        sort_order: str | None = None,
        data_files: str | None = None,
        options: Mapping[str, str] | None = None,
        verify: bool | None = None,
        memory: str | int = DEFAULT_MEMORY,
        progress: OnProgress | None = None,
    ) -> Compact:
        """Rewrites data files with Iceberg's own action, after resolving the equality deletes.

        Args:
            strategy: `binpack`, `sort` or `zorder`.
            sort_order: The columns to sort by, such as `region, ts DESC`; for zorder the columns to interleave.
            data_files: Only data files that may hold rows that match this SQL predicate.
            options: Options of Iceberg's `rewrite_data_files`, such as `delete-file-threshold` or `rewrite-all`.
            verify: Compare all visible rows before the branch moves; by default for tables below 1 GB.
            memory: As for `resolve`.
            progress: As for `resolve`.

        Examples:
            >>> _ = t.delete("id = 1").execute()
            >>> result = t.compact("sort", sort_order="status, id", options={"rewrite-all": "true"}).execute()
            >>> result.data_files_rewritten, result.data_files_added, result.verified
            (1, 1, True)
        """
        rewrite = CompactOptions(strategy, sort_order, data_files, dict(options or {}))
        return Compact(self._handle, rewrite, memory, progress, verify=verify)

    def delete_files(self, snapshot_id: int | None = None) -> DataFrame:
        """Lists every live delete file, with its encoding, its size and the data files that it can still apply to.

        Args:
            snapshot_id: A snapshot; by default the head of the branch.

        Returns:
            A DataFrame with `path`, `content` (`position` or `equality`), `encoding`, `records`, `bytes`, `sequence`,
            `partition`, `applies_to`, `dangling`, and `format`, `key`, `referenced_data_file`, `content_offset`,
            `spec_id`, `snapshot_id`.

        Examples:
            >>> _ = t.delete("status = 'void'").execute()
            >>> t.delete_files().select("content", "encoding", "records", "applies_to", "dangling").show()
            +--------+---------------+-------+----------+--------+
            | content|       encoding|records|applies_to|dangling|
            +--------+---------------+-------+----------+--------+
            |position|deletion-vector|      1|         1|   false|
            +--------+---------------+-------+----------+--------+
        """
        with translate_errors(self._handle.spark):
            self._handle.refresh()
            return list_delete_files(self._handle, snapshot_id)

    @rename_arguments(verify="check_deletes")
    def debt(self, snapshot_id: int | None = None, *, check_deletes: bool = False) -> DeleteDebt:
        """Measures what the deletes cost readers, who can read the table, and what to do about it.

        It reads only metadata. The costs are by partition and data file.

        Args:
            snapshot_id: A snapshot; by default the head of the branch.
            check_deletes: Also read every deletion vector, and refuse a damaged one, as `read` does.

        Raises:
            FormatError: With `check_deletes`, a deletion vector or its Puffin file is damaged.

        Examples:
            >>> _ = t.delete_keys(changes, key="id").execute()
            >>> debt = t.debt()
            >>> debt.keys, debt.readers, debt.advice[0].call
            (3, 'only rowdelta', 't.resolve().execute()')
        """
        with translate_errors(self._handle.spark):
            return measure_debt(self._handle, snapshot_id, DeleteDebt, verify=check_deletes)

    def advise(self) -> TableAdvice:
        """Recommends an encoding, modes and a maintenance schedule, from the recent commits of the table.

        Examples:
            >>> for advice in t.advise().recommendations:
            ...     print(f"{advice.topic}: {advice.choice}")
            encoding: as it is: deletion vectors
            mode: as it is
            expire: once a day
            orphans: once a week
        """
        with translate_errors(self._handle.spark):
            return advise(measure_debt(self._handle, None, Debt), self._handle.metadata)

    def remove_dangling(self, *, progress: OnProgress | None = None) -> RemoveDangling:
        """Removes delete files that no longer apply to any data file.

        Args:
            progress: As for `resolve`, with all files in one group.

        Examples:
            >>> _ = t.delete_keys(changes.where("id = 7"), key="id").execute()  # no data file can have this key
            >>> t.remove_dangling().execute().delete_files_removed
            1
        """
        return RemoveDangling(self._handle, progress)

    def expire(
        self,
        older_than: OlderThan | None = None,
        retain_last: int | None = None,
        *,
        progress: OnProgress | None = None,
    ) -> Expire:
        """Removes old snapshots of every branch, and then the files that no other snapshot needs.

        Branches and tags stay with everything that they need, unless they are older than their own age limit. If
        `gc.enabled` is false, nothing is removed. On a table converted from Delta, Delta's data files always stay.

        Args:
            older_than: A datetime, ISO text (both UTC without a zone), or a timedelta before now. By default the
                property `history.expire.max-snapshot-age-ms` decides (5 days).
            retain_last: The number of snapshots of each branch to keep in any case.
            progress: As for `resolve`; a group is up to 1,000 files to remove.

        Examples:
            >>> _ = t.delete().execute()  # deletes every row, in a second snapshot
            >>> import datetime as dt
            >>> result = t.expire(older_than=dt.timedelta(0), retain_last=1).execute()
            >>> result.snapshots_expired, result.data_files_removed
            (1, 1)
        """
        return Expire(self._handle, older_than, retain_last, progress)

    def remove_orphans(
        self, older_than: OlderThan | None = None, *, progress: OnProgress | None = None, dry_run: bool | None = None
    ) -> RemoveOrphans:
        """Removes files in the table's folder that no snapshot refers to; `.plan()` lists them and removes none.

        Args:
            older_than: Only files that are older: a datetime, ISO text or a timedelta. The default is 3 days. The
                minimum is 24 hours, because a younger file may belong to a commit in progress.
            progress: As for `expire`.
            dry_run: Deprecated; `True` makes `.execute()` only list the files. Use `.plan()` instead.

        Examples:
            >>> t.remove_orphans().plan().orphan_files  # lists them
            ()
            >>> t.remove_orphans().execute().files_removed
            0
        """
        if dry_run is not None:
            instead = "use .plan() to list the files" if dry_run else "omit it, .execute() removes the files"
            warn_deprecated(f"remove_orphans(dry_run={dry_run}) is deprecated: {instead}", stacklevel=2)
        return RemoveOrphans(self._handle, older_than, progress, dry_run=bool(dry_run))


def table(spark: SparkSession, name: str, branch: str = "main") -> Table:
    """Opens an Iceberg table in any catalog of the session.

    Args:
        spark: A classic Spark session with Iceberg 1.10 or newer; `rd.session()` starts one.
        name: The table's name as in SQL.
        branch: The branch to read and change.

    Raises:
        SessionError: The session is a Spark Connect client, or has no Iceberg or a version that is too old.
        TableError: The table does not exist or is not an Iceberg table.
        InputError: The table has no such branch.

    Examples:
        >>> rd.table(spark, "lake.db.orders").read().count()
        4
        >>> rd.table(spark, "lake.db.orders", branch="ingest")
        Traceback (most recent call last):
        rowdelta.errors.InputError: no branch 'ingest'
        Hint: the branches are main
    """
    return Table(TableHandle(spark, name, branch))
