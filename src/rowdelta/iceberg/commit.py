"""One snapshot for one operation: rows and deletes appear together, or not at all.

Iceberg makes the snapshot inside a transaction that is never committed: validation, sequence numbers and manifests
are all its own. Its manifest writer, though, leaves out where the blob of an equality delete vector lies, and then
cannot plan or remove the entry. So the manifests of that snapshot that hold vectors are written once more, whole and
one vector each, and the snapshot with these is what the catalog gets.
"""

from __future__ import annotations

import json
import logging
import random
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rowdelta.encoding import DeleteFileFacts, validate
from rowdelta.errors import CommitConflictError, CommitStateUnknownError, RowDeltaError, TableError
from rowdelta.iceberg.content_files import to_java
from rowdelta.iceberg.file_batches import pass_files
from rowdelta.iceberg.metadata import parse_snapshot
from rowdelta.iceberg.row_filter import check_whole_files
from rowdelta.iceberg.snapshot_reader import snapshot_files
from rowdelta.iceberg.vector_manifests import VectorManifests
from rowdelta.iceberg.written_manifests import WrittenManifests
from rowdelta.spark import JavaError, java_message, java_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rowdelta.encoding import DeleteEncoding
    from rowdelta.iceberg.content_files import ContentFile
    from rowdelta.iceberg.manifests import AvroFile
    from rowdelta.iceberg.metadata import Snapshot
    from rowdelta.iceberg.row_filter import RowFilter
    from rowdelta.iceberg.snapshot_reader import SnapshotFiles
    from rowdelta.iceberg.staged_files import StagedFiles
    from rowdelta.iceberg.table_handle import CommitMark, TableHandle
    from rowdelta.iceberg.table_update import TableUpdate
    from rowdelta.spark import Gateway

log: Final = logging.getLogger("rowdelta")
_FEW_MANIFESTS: Final = 16
_FEW_BYTES: Final = 4 << 20


@dataclass(frozen=True)
class NewDelete:
    """A delete file to be added, with its encoding.

    `sequence_number` is given for one that takes the place of an older one and keeps its age; then all new files of
    the change have one, and nothing but deletes is replaced.
    """

    file: ContentFile
    encoding: DeleteEncoding
    sequence_number: int | None = None


@dataclass(frozen=True)
class RowChange:
    """What one operation adds and removes.

    Attributes:
        deletes: New delete files.
        rows: New data files, already written.
        contents: Bytes of new files that are still to be written, by path; this is done while Iceberg makes manifests.
        removed_deletes: Delete files that go.
        removed_rows: Data files that go.
        whole_files: Drop every data file whose rows all match this filter; nothing but a validation may be beside it.
        validation: What other writers must not have done meanwhile; None for changes that depend on nothing.
        summary: Further entries of the snapshot's summary.
        kept_files: New data files that belong to somebody else, and stay where they are whatever becomes of the change.
        update: Changes of the table's description that take effect in the same step.
        operation: What the snapshot calls itself, where it is not what Iceberg would.
    """

    deletes: Sequence[NewDelete] = ()
    rows: StagedFiles | None = None
    contents: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    removed_deletes: Sequence[ContentFile] = ()
    removed_rows: Sequence[ContentFile] = ()
    whole_files: RowFilter | None = None
    validation: Validation | None = None
    summary: Mapping[str, str] = field(default_factory=dict)
    kept_files: Sequence[ContentFile] = ()
    update: TableUpdate | None = None
    operation: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no file comes or goes: such a commit only mends what other writers left out of manifests."""
        files = (self.deletes, self.removed_deletes, self.removed_rows, self.kept_files)
        return self.rows is None and self.whole_files is None and self.update is None and not any(files)

    @property
    def size_in_bytes(self) -> int:
        """The size of all new files; vectors that share a file count once."""
        deletes = {new.file.path: new.file.file_size_in_bytes for new in self.deletes}
        return sum(deletes.values()) + (0 if self.rows is None else self.rows.size_in_bytes)


@dataclass(frozen=True)
class Uncommitted:
    """A snapshot that is about to be committed: its manifests are on storage, and no one sees it yet.

    Attributes:
        handle: The table.
        listing: Its manifest list.
        parent_id: The snapshot that it follows.
    """

    handle: TableHandle
    listing: AvroFile
    parent_id: int | None


def parent_files(made: Uncommitted) -> SnapshotFiles:
    """The snapshot that one which is about to be committed follows."""
    handle = made.handle
    if made.parent_id not in handle.metadata.snapshots:
        handle.refresh()
    parent = handle.snapshot(made.parent_id)
    assert parent is not None
    files = snapshot_files(handle, parent)
    assert files is not None
    return files


@dataclass(frozen=True)
class Validation:
    """What a change relies on, checked against every snapshot since the one that it read.

    Attributes:
        snapshot_id: The snapshot that was read; None for an empty table.
        row_filter: Only changes to rows that can match this count.
        data_files: Files that must still be there.
        no_new_deletes: Other writers must not have deleted matching rows: an update would bring them back.
        no_new_rows: Other writers must not have added matching rows (serializable isolation).
        further: Called with what is about to be committed; raises what speaks against it.
    """

    snapshot_id: int | None
    row_filter: RowFilter
    data_files: Sequence[str] = ()
    no_new_deletes: bool = False
    no_new_rows: bool = False
    further: Callable[[Uncommitted], None] | None = None

    def configure(self, gateway: Gateway, delta: Any) -> None:
        """Tells Iceberg's `RowDelta`."""
        delta.conflictDetectionFilter(self.row_filter.expression)
        if self.data_files:
            delta.validateDataFilesExist(gateway.text_list(self.data_files))
        if self.snapshot_id is not None:
            delta.validateFromSnapshot(self.snapshot_id)
        if self.no_new_deletes:
            delta.validateDeletedFiles()
            delta.validateNoConflictingDeleteFiles()
        if self.no_new_rows:
            delta.validateNoConflictingDataFiles()


@contextmanager
def marked(handle: TableHandle, mark: CommitMark) -> Iterator[None]:
    """Every commit inside carries the mark: it is there if and only if the commit is."""
    before, handle.mark = handle.mark, mark
    try:
        yield
    finally:
        handle.mark = before


def commit_change(handle: TableHandle, change: RowChange) -> Snapshot:
    """Commits a change to the handle's branch, trying again when another writer was faster.

    Raises:
        CommitConflictError: Validation failed, or other writers were faster too often. The files of the change are
            gone. CommitStateUnknownError: The catalog did not answer; everything is left in place.
    """
    for new in change.deletes:
        _check(new)
    retries = _Retries(handle.metadata.properties)
    attempt = _Attempt(handle, change)
    try:
        with handle.io.writing(change.contents) as wait:
            while not attempt.succeeds(retries, wait):
                attempt = _Attempt(handle, change)
    except BaseException:
        if not attempt.in_doubt and not attempt.done:
            attempt.clean_up(None)
            _remove_files(handle, change)
        raise
    handle.catch_up()
    show_to_spark(handle)
    assert attempt.snapshot is not None
    return attempt.snapshot


def show_to_spark(handle: TableHandle) -> None:
    """Makes Spark forget what it knew of the table; the commit has happened, so a failure here must not fail it."""
    try:
        handle.spark.catalog.refreshTable(handle.full_name)
    except JavaError as error:
        log.warning("a cached query over %s cannot be computed again: %s", handle.name, java_message(error))


def _check(new: NewDelete) -> None:
    file = new.file
    assert file.content is not None
    validate(
        DeleteFileFacts(
            content=file.content,
            file_format=file.file_format,
            encoding=new.encoding,
            equality_field_ids=tuple(file.equality_ids or ()) or None,
            referenced_data_file=file.referenced_data_file,
            path=file.path,
        )
    )


def _remove_files(handle: TableHandle, change: RowChange) -> None:
    handle.io.discard({new.file.path for new in change.deletes})
    if change.rows is not None:
        change.rows.remove()


class _LostRaceError(Exception):
    """The table moved on between two looks at it."""


class _Retries:
    """Iceberg's own settings for commits that lost a race."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._left = int(properties.get("commit.retry.num-retries", 4))
        self._wait_ms = int(properties.get("commit.retry.min-wait-ms", 100))
        self._max_wait_ms = int(properties.get("commit.retry.max-wait-ms", 60_000))
        self._deadline = time.monotonic() + int(properties.get("commit.retry.total-timeout-ms", 1_800_000)) / 1000

    def wait_or_fail(self, error: Exception, *, in_doubt: bool, asked: bool) -> None:
        if in_doubt:
            raise CommitStateUnknownError(
                f"the catalog did not say whether the commit took place: {java_message(error)}",
                hint="look at the table's newest snapshot before you run it again; no file was removed",
            ) from error
        if not isinstance(error, _LostRaceError) and java_name(error) != "CommitFailedException":
            raise _translated(error, asked=asked) from error
        if self._left == 0 or time.monotonic() > self._deadline:
            raise CommitConflictError(
                f"other writers were faster every time: {java_message(error)}",
                hint="run it again, or raise the table property commit.retry.num-retries",
            ) from error
        self._left -= 1
        time.sleep(self._wait_ms / 1000 * random.uniform(0.9, 1.1))  # noqa: S311 - jitter, not a secret
        self._wait_ms = min(self._wait_ms * 2, self._max_wait_ms)


def _translated(error: Exception, *, asked: bool) -> RowDeltaError:
    """What went wrong, before the catalog was asked to commit or when it was."""
    name, text = java_name(error), java_message(error)
    if name == "ValidationException":
        return CommitConflictError(f"another writer changed the same data: {text}", hint="read again and run it again")
    what = "the commit failed" if asked else "the snapshot cannot be made, nothing was committed"
    return TableError(f"{what}: {name}: {text}")


def _name(path: str) -> str:
    """What is unique of a metadata file's path, however the rest of it is written."""
    return path.rpartition("/")[2]


class _Attempt:
    """One try to commit, and the metadata files that it wrote."""

    def __init__(self, handle: TableHandle, change: RowChange) -> None:
        self._handle = handle
        self._change = change
        self._written: list[str] = []
        self._by_iceberg: WrittenManifests | None = None
        self.snapshot: Snapshot | None = None
        self.done = False
        self.in_doubt = False
        self.asked = False

    def succeeds(self, retries: _Retries, wait: Callable[[], None]) -> bool:
        """Whether the commit went through; False after a lost race that may be run again.

        Args:
            retries: What is left of them.
            wait: Returns when all files of the change are on storage.
        """
        try:
            self._run(wait)
        except (_LostRaceError, *JavaError) as error:
            self.clean_up(error)
            retries.wait_or_fail(error, in_doubt=self.in_doubt, asked=self.asked)
        return self.done

    def _run(self, wait: Callable[[], None]) -> None:
        handle = self._handle
        operations = handle.java_table.operations()
        transaction = handle.java_table.newTransaction()  # it reads the newest metadata
        base = operations.current()
        update = self._change.update
        encodings = {new.file.path: new.encoding.id for new in self._change.deletes}
        manifests = VectorManifests(handle, operations, encodings)
        try:
            made = self._made(transaction, base, manifests)
            snapshot = json.loads(handle.gateway.iceberg.SnapshotParser.toJson(made, False))
            if self._change.operation is not None:
                snapshot["summary"]["operation"] = self._change.operation
            listing = handle.manifests.read(snapshot["manifest-list"])
            mine = [record for record in listing.records if record["added_snapshot_id"] == snapshot["snapshot-id"]]
            self._written += [snapshot["manifest-list"], *(record["manifest_path"] for record in mine)]
            wait()
            if self._change.validation is not None and self._change.validation.further is not None:
                self._change.validation.further(Uncommitted(handle, listing, snapshot.get("parent-snapshot-id")))
            # The snapshot must continue the metadata that it is committed to, whoever else uses this table object.
            if snapshot["sequence-number"] != base.lastSequenceNumber() + 1:
                raise _LostRaceError
            needed = {_name(path) for path in (*manifests.complete(snapshot, listing), snapshot["manifest-list"])}
        finally:
            self._written += manifests.written
        assert self._by_iceberg is not None
        self._written += [*self._by_iceberg.manifests(), *self._by_iceberg.lists()]
        builder = handle.gateway.iceberg.TableMetadata.buildFrom(base)
        if update is not None:
            update.apply(handle, builder)
        if handle.mark.properties:
            builder.setProperties(handle.gateway.string_map(handle.mark.properties))
        parsed = handle.gateway.iceberg.SnapshotParser.fromJson(json.dumps(snapshot))
        metadata = builder.setBranchSnapshot(parsed, handle.branch).build()
        self.snapshot = parse_snapshot(snapshot)
        self.in_doubt = self.asked = True
        operations.commit(base, metadata)
        self.done = True  # first: at no moment may it look as if nothing could have been committed
        self.in_doubt = False
        handle.io.discard(path for path in dict.fromkeys(self._written) if _name(path) not in needed)

    def _made(self, transaction: Any, base: Any, manifests: VectorManifests) -> Any:
        """The snapshot, made by Iceberg in a transaction that nobody commits: nothing is visible yet."""
        handle, update = self._handle, self._change.update
        if update is not None:
            update.check(handle, base)
        start = manifests.mended(base)
        if update is not None:
            transaction = update.transaction(handle, base if start is None else start)
        elif start is not None:
            name, operations = handle.java_table.name(), handle.java_table.operations()
            transaction = handle.gateway.iceberg.Transactions.replaceTableTransaction(name, operations, start)
        delta = self._row_delta(transaction)
        self._work_here(transaction, delta)
        self._by_iceberg = WrittenManifests(handle, transaction, delta)
        delta.commit()
        return transaction.table().snapshot(handle.branch)

    def clean_up(self, error: Exception | None) -> None:
        """Removes the metadata files of an attempt, unless the catalog may have taken it.

        As in Iceberg itself, only a failure that says so is known to have left nothing behind.
        """
        java = getattr(error, "java_exception", None)
        if self.in_doubt and java is not None:
            cleanable = self._handle.gateway.java_class("org.apache.iceberg.exceptions.CleanableFailure")
            self.in_doubt = not cleanable.isInstance(java)
        if self.in_doubt or self.done:
            return
        by_iceberg = self._by_iceberg
        unseen = [] if by_iceberg is None else [*by_iceberg.manifests(), *by_iceberg.lists()]  # of a commit that failed
        self._handle.io.discard(dict.fromkeys([*self._written, *unseen]))

    def _work_here(self, transaction: Any, delta: Any) -> None:
        """Lets Iceberg read and write few manifests in this thread.

        It looks every 10 ms whether its other threads are done, several times in a commit: that was half of the time.
        """
        handle, change = self._handle, self._change
        head = transaction.table().snapshot(handle.branch)
        if head is not None and head.allManifests(transaction.table().io()).size() > _FEW_MANIFESTS:
            return
        if head is not None and (change.removed_deletes or change.removed_rows or change.whole_files is not None):
            records = handle.manifests.read(head.manifestListLocation()).records  # these may have to be read
            if sum(record["manifest_length"] for record in records) > _FEW_BYTES:
                return
        guava = handle.gateway.iceberg.relocated.com.google.common.util.concurrent
        here = guava.MoreExecutors.newDirectExecutorService()
        delta.scanManifestsWith(here)
        delta.writeManifestsWith(here, 1)

    def _row_delta(self, transaction: Any) -> Any:
        handle, change = self._handle, self._change
        if change.whole_files is not None:
            self._check_whole_files(transaction, change.whole_files)
            delta = transaction.newDelete().toBranch(handle.branch).deleteFromRowFilter(change.whole_files.certain)
        elif change.is_empty:  # an append, because it looks at no delete
            delta = transaction.newFastAppend().toBranch(handle.branch)
        elif any(new.sequence_number is not None for new in change.deletes):
            delta = self._rewrite(transaction)
        else:
            delta = transaction.newRowDelta().toBranch(handle.branch)
            gateway, specs = handle.gateway, transaction.table().specs()
            pass_files(gateway, delta, "addDeletes", [new.file for new in change.deletes], specs)
            pass_files(gateway, delta, "removeDeletes", change.removed_deletes, specs)
            pass_files(gateway, delta, "removeRows", change.removed_rows, specs)
            pass_files(gateway, delta, "addRows", change.kept_files, specs)
            if change.rows is not None:
                change.rows.add_to(delta)
            if change.validation is not None:
                change.validation.configure(gateway, delta)
            elif (head := transaction.table().snapshot(handle.branch)) is not None:
                # Nothing is to be validated. But Iceberg takes a vector of keys for one of positions, and looks for
                # others through all history that it is not told to leave out; where that has expired, it fails.
                delta.validateFromSnapshot(head.snapshotId())
        for key, value in {**change.summary, **handle.mark.summary}.items():
            delta.set(key, value)
        return delta

    def _rewrite(self, transaction: Any) -> Any:
        """Replaces deletes by others of the same age; Iceberg fails when one of the old ones is gone."""
        delta = transaction.newRewrite().toBranch(self._handle.branch)
        for old in self._change.removed_deletes:
            delta.deleteFile(to_java(self._handle, old))
        for new in self._change.deletes:
            assert new.sequence_number is not None
            delta.addFile(to_java(self._handle, new.file), new.sequence_number)
        return delta

    def _check_whole_files(self, transaction: Any, condition: RowFilter) -> None:
        """Looks once more at the files if there is a newer snapshot than the one that was looked at."""
        assert self._change.validation is not None
        head = int(transaction.table().snapshot(self._handle.branch).snapshotId())
        if head != self._change.validation.snapshot_id:
            check_whole_files(self._handle, head, condition)
