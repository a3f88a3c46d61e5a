"""One attempt to commit a change: makes the snapshot, asks the catalog, and cleans up after a failure.

Iceberg makes the snapshot inside a transaction that is never committed. Validation, sequence numbers and manifests are
Iceberg's own. But Iceberg's manifest writer drops the offsets of the blobs of equality delete vectors, and Iceberg can
then neither plan nor remove these entries. So rowdelta writes the manifests that hold vectors again, with the offsets,
and commits the snapshot with these.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rowdelta.iceberg.commit_retries import LostRaceError
from rowdelta.iceberg.row_change import UncommittedSnapshot
from rowdelta.iceberg.snapshot_update import make_snapshot_update, use_calling_thread
from rowdelta.iceberg.snapshots import parse_snapshot
from rowdelta.iceberg.vector_manifests import VectorManifests
from rowdelta.iceberg.written_manifests import WrittenManifests
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
        self._written: list[str] = []
        self._by_iceberg: WrittenManifests | None = None
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
            # After an error, Iceberg may have written files that no list of this attempt names yet.
            self._handle.io.discard(dict.fromkeys([*self._written, *self._list_iceberg_files()]))

    def _run(self, wait: Callable[[], object]) -> None:
        handle = self._handle
        operations = handle.java_table.operations()
        transaction = handle.java_table.newTransaction()  # it reads the newest metadata
        base = operations.current()
        encodings = {new.file.path: new.encoding.id for new in self._change.deletes}
        manifests = VectorManifests(handle, operations, encodings)
        try:
            snapshot, needed = self._make_snapshot(transaction, base, manifests, wait)
        finally:
            self._written += manifests.written
        self._written += self._list_iceberg_files()
        metadata = self._make_metadata(base, snapshot)
        self.snapshot = parse_snapshot(snapshot)
        self.in_doubt = self.asked = True
        operations.commit(base, metadata)
        self.done = True  # first, so that an interrupt never sees an attempt that is neither in doubt nor done
        self.in_doubt = False
        handle.io.discard(path for path in dict.fromkeys(self._written) if _get_file_name(path) not in needed)

    def _make_snapshot(
        self, transaction: Any, base: Any, manifests: VectorManifests, wait: Callable[[], object]
    ) -> tuple[dict[str, Any], set[str]]:
        """Makes the snapshot with complete manifests.

        Returns:
            Its JSON form, and the names of the metadata files that it needs.
        """
        handle, validation = self._handle, self._change.validation
        snapshot_object = self._stage(transaction, base, manifests)
        snapshot = json.loads(handle.gateway.iceberg.SnapshotParser.toJson(snapshot_object, False))
        if self._change.operation is not None:
            snapshot["summary"]["operation"] = self._change.operation
        listing = handle.manifests.read(snapshot["manifest-list"])
        own_manifests = [record for record in listing.records if record["added_snapshot_id"] == snapshot["snapshot-id"]]
        self._written += [snapshot["manifest-list"], *(record["manifest_path"] for record in own_manifests)]
        wait()
        if validation is not None and validation.further is not None:
            validation.further(UncommittedSnapshot(handle, listing, snapshot.get("parent-snapshot-id")))
        # The snapshot must follow the metadata that it is committed to, even if another thread uses this table object.
        if snapshot["sequence-number"] != base.lastSequenceNumber() + 1:
            raise LostRaceError
        paths = (*manifests.complete(snapshot, listing), snapshot["manifest-list"])
        return snapshot, {_get_file_name(path) for path in paths}

    def _stage(self, transaction: Any, base: Any, manifests: VectorManifests) -> Any:
        """Lets Iceberg make the snapshot in a transaction that is never committed, so that no reader sees it."""
        handle, update = self._handle, self._change.update
        if update is not None:
            update.check(handle, base)
        start = manifests.restore_offsets(base)
        if update is not None:
            transaction = update.start_transaction(handle, base if start is None else start)
        elif start is not None:
            name, operations = handle.java_table.name(), handle.java_table.operations()
            transaction = handle.gateway.iceberg.Transactions.replaceTableTransaction(name, operations, start)
        producer = make_snapshot_update(handle, self._change, transaction)
        use_calling_thread(handle, self._change, transaction, producer)
        self._by_iceberg = WrittenManifests(handle, transaction, producer)
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

    def _list_iceberg_files(self) -> list[str]:
        """Lists the manifests and manifest lists that Iceberg has written so far."""
        return (
            []
            if self._by_iceberg is None
            else [*self._by_iceberg.list_manifests(), *self._by_iceberg.list_manifest_lists()]
        )


def _get_file_name(path: str) -> str:
    """Returns the part of a metadata file's path that is unique, regardless of the form of the folder."""
    return path.rpartition("/")[2]
