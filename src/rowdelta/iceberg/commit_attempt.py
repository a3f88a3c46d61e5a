"""One attempt to commit a change: makes the snapshot, asks the catalog, and cleans up after a failure.

Iceberg makes the snapshot inside a transaction that is never committed. Validation, sequence numbers and manifests are
Iceberg's own. But Iceberg's manifest writer drops the offsets of the blobs of equality delete vectors, and Iceberg can
then neither plan nor remove these entries. So rowdelta writes the manifests that hold vectors again, with the offsets,
and commits the snapshot with these. All of this happens in memory: storage gets the files that the snapshot needs.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rowdelta.iceberg.commit_retries import LostRaceError
from rowdelta.iceberg.file_io import run_in_parallel
from rowdelta.iceberg.lost_metadata import remove_lost_metadata
from rowdelta.iceberg.row_change import UncommittedSnapshot
from rowdelta.iceberg.snapshot_update import make_snapshot_update, use_calling_thread
from rowdelta.iceberg.snapshots import parse_snapshot
from rowdelta.iceberg.uncommitted_metadata import UncommittedMetadata
from rowdelta.iceberg.vector_manifests import VectorManifests
from rowdelta.spark import JavaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rowdelta.iceberg.commit_retries import CommitRetries
    from rowdelta.iceberg.row_change import RowChange
    from rowdelta.iceberg.snapshots import Snapshot
    from rowdelta.iceberg.table_handle import TableHandle


class CommitAttempt:
    """One attempt to commit, and the metadata files that it wrote.

    Attributes:
        snapshot: The snapshot; None before it is made.
        done: Whether the catalog has accepted it.
        in_doubt: Whether the catalog was asked and has not answered.
        asked: Whether the catalog was asked.
    """

    def __init__(self, handle: TableHandle, change: RowChange) -> None:
        self._handle = handle
        self._change = change
        self._stored: list[str] = []
        self._base: Any = None
        self.snapshot: Snapshot | None = None
        self.done = False
        self.in_doubt = False
        self.asked = False

    def try_commit(self, retries: CommitRetries, wait: Callable[[], object]) -> bool:
        """Tries to commit; returns False if another writer was faster and another attempt is allowed.

        Args:
            retries: How many attempts are left.
            wait: Returns when all files of the change are on storage.
        """
        try:
            self._run(wait)
        except (LostRaceError, *JavaError) as error:
            self.clean_up(error)
            retries.wait_or_fail(error, in_doubt=self.in_doubt, asked=self.asked)
        return self.done

    def clean_up(self, error: Exception | None) -> None:
        """Removes the metadata files of an attempt, unless the catalog may have accepted it.

        As in Iceberg itself, only an error that guarantees it (`CleanableFailure`) proves that nothing was committed.
        """
        java = getattr(error, "java_exception", None)
        if self.in_doubt and java is not None:
            cleanable = self._handle.gateway.java_class("org.apache.iceberg.exceptions.CleanableFailure")
            self.in_doubt = not cleanable.isInstance(java)
        if not self.in_doubt and not self.done:
            self._handle.io.discard(self._stored)
            if self.asked and self.snapshot is not None:
                remove_lost_metadata(self._handle, self._base, self.snapshot.id)

    def _run(self, wait: Callable[[], object]) -> None:
        handle = self._handle
        files = UncommittedMetadata(handle)
        try:
            with handle.manifests.read_first_from(files):
                # This reads the newest metadata.
                transaction = handle.gateway.iceberg.Transactions.newTransaction(
                    handle.java_table.name(), files.operations
                )
                base = files.operations.current()
                snapshot = self._make_snapshot(transaction, base, files, wait)
        finally:
            files.clear()
        metadata = self._make_metadata(base, snapshot)
        self._base, self.snapshot = base, parse_snapshot(snapshot)
        self.in_doubt = self.asked = True
        handle.java_table.operations().commit(base, metadata)
        self.done = True  # first, so that an interrupt never sees an attempt that is neither in doubt nor done
        self.in_doubt = False

    def _make_snapshot(
        self, transaction: Any, base: Any, files: UncommittedMetadata, wait: Callable[[], object]
    ) -> dict[str, Any]:
        """Makes the snapshot with complete manifests, and stores its metadata files.

        Returns:
            Its JSON form.
        """
        handle, validation = self._handle, self._change.validation
        encodings = {new.file.path: new.encoding.id for new in self._change.deletes}
        manifests = VectorManifests(handle, files, encodings)
        snapshot_object = self._stage(transaction, base, manifests, files)
        snapshot: dict[str, Any] = json.loads(handle.gateway.iceberg.SnapshotParser.toJson(snapshot_object, False))
        if self._change.operation is not None:
            snapshot["summary"]["operation"] = self._change.operation
        # The snapshot must follow the metadata that it is committed to, even if another thread uses this table object.
        if snapshot["sequence-number"] != base.lastSequenceNumber() + 1:
            raise LostRaceError
        listing = manifests.complete(snapshot)
        needed = {snapshot["manifest-list"], *(record["manifest_path"] for record in listing.records)}
        self._stored = [path for path in files.list_new() if path in needed]
        run_in_parallel(files.store, self._stored)
        wait()
        if validation is not None and validation.further is not None:
            validation.further(UncommittedSnapshot(handle, listing, snapshot.get("parent-snapshot-id")))
        return snapshot

    def _stage(self, transaction: Any, base: Any, manifests: VectorManifests, files: UncommittedMetadata) -> Any:
        """Lets Iceberg make the snapshot in a transaction that is never committed, so that no reader sees it."""
        handle, update = self._handle, self._change.update
        if update is not None:
            update.check(handle, base)
        start = manifests.restore_offsets(base)
        if update is not None:
            transaction = update.start_transaction(handle, files.operations, base if start is None else start)
        elif start is not None:
            name = handle.java_table.name()
            transaction = handle.gateway.iceberg.Transactions.replaceTableTransaction(name, files.operations, start)
        producer = make_snapshot_update(handle, self._change, transaction)
        use_calling_thread(handle, self._change, transaction, producer)
        producer.commit()
        return transaction.table().snapshot(handle.branch)

    def _make_metadata(self, base: Any, snapshot: dict[str, Any]) -> Any:
        """Makes the table's metadata with the snapshot as the head of the branch."""
        handle, iceberg = self._handle, self._handle.gateway.iceberg
        builder = iceberg.TableMetadata.buildFrom(base)
        if self._change.update is not None:
            self._change.update.apply(handle, builder)
        if handle.mark.properties:
            builder.setProperties(handle.gateway.string_map(handle.mark.properties))
        return builder.setBranchSnapshot(iceberg.SnapshotParser.fromJson(json.dumps(snapshot)), handle.branch).build()
