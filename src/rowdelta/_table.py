"""`rd.table()`: an Iceberg table and its verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta._deprecated import rename_arguments, warn_deprecated
from rowdelta.debt import Debt, DeleteDebt, advise, measure_debt
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
from rowdelta.read import MAX_BROADCAST_BYTES, create_view, live_frame
from rowdelta.spark import check_expression, check_running, translate_errors
from rowdelta.verbs import ChangeRules, Delete, DeleteKeys, Merge, Update, Upsert

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from rowdelta.choices import CompactStrategy, Encoding, Isolation, Mode, Scope, Tie
    from rowdelta.debt import TableAdvice
    from rowdelta.iceberg import TableMetadata
    from rowdelta.maintenance import OlderThan, OnProgress


class Table:
    """An Iceberg table that Spark knows. Made by `rd.table()`.

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
        """The name that the table was opened with.

        Examples:
            >>> t.name
            'lake.db.orders'
        """
        return self._opened.name

    @property
    def branch(self) -> str:
        """The branch that is read and changed.

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
        """The live rows: every kind of delete applied.

        A table without equality deletes is read by Iceberg alone. Otherwise Iceberg reads it without them, and they are
        applied as joins inside Spark; filters and columns still reach the scan.

        Args:
            where: Rows to keep, as a SQL predicate or a Column.
            columns: Columns to return; all of them when left out.
            snapshot_id: The state after this snapshot.
            timestamp: The state at this time, as a datetime or ISO text; without a time zone it is UTC. On main, what
                `TIMESTAMP AS OF` gives; on another branch, the newest snapshot of its present line up to then.
            tag: The state of this tag.
            max_broadcast_bytes: Deletes that take more memory are joined by a shuffle instead.
            check_deletes: Read every deletion vector first. Iceberg's reader takes some damaged ones for empty, and
                gives deleted rows back.

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
            frame = live_frame(
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

    def view(self, name: str) -> DataFrame:
        """Makes a temporary view of the live rows, and keeps it current through every change that rowdelta makes.

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

        A predicate that covers whole files drops them in metadata alone. Otherwise the positions of the rows become
        deletion vectors (format version 3) or position deletes (version 2), or the files are written anew.

        Args:
            where: SQL text or a Column; all rows when it is left out.
            alias: What the predicate calls the table, for subqueries that look at the row from inside.
            mode: `merge-on-read` or `copy-on-write`; left out, the property `write.delete.mode` decides.
            isolation: `serializable` or `snapshot`; left out, `write.delete.isolation-level` decides.

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
            alias: What values and the predicate call the table, for subqueries that look at the row from inside.
            mode: `merge-on-read` or `copy-on-write`; left out, the property `write.update.mode` decides.
            isolation: `serializable` or `snapshot`; left out, `write.update.isolation-level` decides.

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
            on: When rows match: the name of a column that both have, several of them, or a condition such as
                `t.id = s.id`. A null matches nothing.
            target_alias: What conditions call the table.
            source_alias: What conditions call the source.
            mode: `merge-on-read` or `copy-on-write`; left out, the property `write.merge.mode` decides.
            isolation: `serializable` or `snapshot`; left out, `write.merge.isolation-level` decides.

        Examples:
            >>> merge = t.merge(changes.where("seq > 1"), on="id").when_matched_delete("s.op = 'D'")
            >>> result = merge.when_matched_update_all().when_not_matched_insert_all().execute()
            >>> result.rows_deleted, result.rows_updated, result.rows_inserted
            (1, 1, 1)
        """
        return Merge(self._handle, source, on, (target_alias, source_alias), mode=mode, isolation=isolation)

    def delete_keys(
        self, keys: DataFrame, key: str | Sequence[str], *, encoding: Encoding | None = None, scope: Scope = "auto"
    ) -> DeleteKeys:
        """Deletes every row that has one of some keys, without looking for the rows.

        Args:
            keys: The keys; other columns are ignored. A null key deletes the rows where the column is null. Without
                any key there is nothing to do, and no snapshot.
            key: The column or columns that make up the key.
            encoding: `equality-delete-vector`, `hash-map` or `full-row`: use this one or fail. By default the table's
                properties decide, and what is not possible falls back to standard delete files.
            scope: `auto` files deletes by partition where the key columns determine it, and no rows were written under
                another spec; otherwise they are for the whole table. `global` is always for the whole table. With
                `partition` the other columns of `keys` say which partition a row is in, if the key does not.

        Examples:
            >>> gone = spark.createDataFrame([(1,), (3,)], "id bigint")
            >>> result = t.delete_keys(gone, key="id").execute()
            >>> result.keys, result.encodings
            (2, {'equality-delete-vector': 1})
            >>> t.read().count()
            2
        """
        return DeleteKeys(self._handle, keys, key, encoding, scope)

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
    ) -> Upsert:
        """Replaces, inserts and deletes rows by key, without looking for them.

        Of several changes of a key the last one wins. Its row is written, and its key is noted down as deleted for all
        older rows, in one snapshot. Nothing of the table is read.

        Args:
            changes: Whole rows, by the names of the table's columns; a column that is missing gets its default, or
                null. Other columns may serve `order_by` and `delete_when`.
            key: The column or columns that identify a row.
            order_by: What grows from an older change of a key to a newer one; several are compared one by one, and a
                null is oldest. It orders the changes of this call alone. The row in the table is not read, so an older
                change still replaces it if it arrives in a later call.
            delete_when: Which changes delete their key, as a SQL predicate or a Column.
            columns: Set these alone and keep the rest of an existing row; this reads the table, as a merge does.
            tie: `error` when two different changes of a key are equally new, or `any` to take one of them.
            scope: As in `delete_keys`. With `partition` the old row must be in the partition of the new one.
            encoding: `equality-delete-vector`, `hash-map` or `full-row`: use this one or fail.
            merge_schema: Add columns to the table that only the changes have.

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
        rules = ChangeRules.of(key, order_by, delete_when, tie)
        return Upsert(
            self._handle, changes, rules, columns=columns, scope=scope, encoding=encoding, merge_schema=merge_schema
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
        """Turns equality deletes of every encoding into deletion vectors (version 3) or position deletes (version 2).

        Only the key columns are read, and only of files that a key can be in. The new deletes come and the old ones go
        in one snapshot; what other writers do meanwhile is kept. Data files without a live row go, too.

        Args:
            partitions: Only the deletes of these partitions, as a predicate on partition columns. Deletes of the whole
                table then stay.
            publish: A branch to move forward to the resolved state: `main`, for a table opened with another branch.
            verify: Compare all visible rows before and after; left out, tables below 1 GB are compared.
            memory: How much memory the driver may take to collect the positions of one group of files.
            partial_progress: Commit group by group, so that an interrupted run has not been for nothing.
            progress: Called after each group of files; left out, a bar is shown when stderr is a terminal.

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
        """Writes delete files anew: in another encoding, or many small ones as few. What they delete stays the same.

        Equality deletes keep their age; those of one key, partition and age become one. Position deletes become one
        for each data file, and deletion vectors on version 3.

        Args:
            target_encoding: `equality-delete-vector`, `full-row` or `hash-map` for equality deletes; by default they
                keep theirs.
            delete_files: Only these delete files, as a predicate on the columns of `t.delete_files()`, such as
                `encoding = 'full-row' AND bytes < 1000`.
            min_input_files: Merge where there are at least so many and the encoding stays.
            target_size: About how large a file with the position deletes of several data files may become; left out,
                `write.delete.target-file-size-bytes` decides.
            verify: Compare all visible rows before each commit; left out, tables below 1 GB are compared.
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
            sort_order: The columns to sort by, `region, ts DESC`; for zorder the columns to interleave.
            data_files: Only data files that may hold rows that match this SQL predicate.
            options: Options of Iceberg's `rewrite_data_files`, such as `delete-file-threshold` or `rewrite-all`.
            verify: Compare all visible rows before the branch moves; left out, tables below 1 GB are compared.
            memory: As for `resolve`.
            progress: As for `resolve`.

        Examples:
            >>> _ = t.delete("id = 1").execute()
            >>> result = t.compact("sort", sort_order="status, id", options={"rewrite-all": "true"}).execute()
            >>> result.data_files_rewritten, result.data_files_added, result.verified
            (1, 1, True)
        """
        asked = CompactOptions(strategy, sort_order, data_files, dict(options or {}))
        return Compact(self._handle, asked, memory, progress, verify=verify)

    def delete_files(self, snapshot_id: int | None = None) -> DataFrame:
        """Every live delete file: its kind, its size, and the data files that it can still apply to.

        Args:
            snapshot_id: A snapshot; the head of the branch when it is left out.

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
        """What the deletes cost readers, by partition and data file, who can read the table, and what to do about it.

        All of it comes from metadata; no data is read.

        Args:
            snapshot_id: A snapshot; the head of the branch by default.
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
        """Which encoding, mode and maintenance fit the way in which the table is changed, by its recent commits.

        Examples:
            >>> for found in t.advise().recommendations:
            ...     print(f"{found.topic}: {found.choice}")
            encoding: as it is: deletion vectors
            mode: as it is
            expire: once a day
            orphans: once a week
        """
        with translate_errors(self._handle.spark):
            return advise(measure_debt(self._handle, None, Debt), self._handle.metadata)

    def remove_dangling(self, *, progress: OnProgress | None = None) -> RemoveDangling:
        """Removes delete files that apply to no data file any more.

        Args:
            progress: As for `resolve`; all of them are one group.

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
        """Removes old snapshots of every branch, and the files that no other snapshot needs.

        Branches and tags are kept, with what they point at, unless they are older than their own age limit. Nothing
        is removed where `gc.enabled` is false; on a table converted from Delta, Delta's data files always stay.

        Args:
            older_than: A datetime, ISO text (both UTC without a zone), or a timedelta before now; left out, the
                property `history.expire.max-snapshot-age-ms` decides (5 days).
            retain_last: Snapshots of each branch to keep in any case.
            progress: As for `resolve`; a group is up to 1,000 files that are removed.

        Examples:
            >>> _ = t.delete().execute()  # every row goes, in a second snapshot
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
            instead = "use .plan() to list the files" if dry_run else "leave it out, .execute() removes the files"
            warn_deprecated(f"remove_orphans(dry_run={dry_run}) is deprecated: {instead}", stacklevel=2)
        return RemoveOrphans(self._handle, older_than, progress, dry_run=bool(dry_run))


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
        >>> rd.table(spark, "lake.db.orders").read().count()
        4
        >>> rd.table(spark, "lake.db.orders", branch="ingest")
        Traceback (most recent call last):
        rowdelta.errors.InputError: no branch 'ingest'
        Hint: the branches are main
    """
    return Table(TableHandle(spark, name, branch))
