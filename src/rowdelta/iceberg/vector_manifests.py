"""Writes the manifests of equality delete vectors with the offsets of their blobs.

Iceberg's manifest writer drops the offset of the blob of an equality delete vector, and Iceberg can then neither plan
nor remove the entry. So the manifests of a new snapshot that hold vectors are written again, one vector each. If
another writer has dropped the offsets from older manifests, these are restored before Iceberg reads them: any commit
that removes data files may also remove vectors, namely those that are older than all remaining data.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from rowdelta.errors import FormatError
from rowdelta.iceberg.manifest_entries import EQUALITY, add_encoding_field
from rowdelta.iceberg.metadata_document import MetadataDocument
from rowdelta.iceberg.puffin_footers import read_footer
from rowdelta.iceberg.table_state import read_metadata_document
from rowdelta.spark import JavaError, read_java_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rowdelta.iceberg.avro_file import AvroFile
    from rowdelta.iceberg.table_handle import TableHandle
    from rowdelta.iceberg.uncommitted_metadata import UncommittedMetadata

_PUFFIN: Final = "PUFFIN"
_TOTAL: Final = "total-equality-deletes"
_MERGED_AT: Final = "commit.manifest.min-count-to-merge"


class VectorManifests:
    """Completes the manifests of a snapshot that is about to be committed."""

    def __init__(self, handle: TableHandle, files: UncommittedMetadata, encodings: Mapping[str, int]) -> None:
        self._handle = handle
        self._files = files
        self._encodings = encodings
        self._entries: dict[str, int] = {}  # live entries of the new manifests, by path

    def restore_offsets(self, base: Any) -> Any | None:
        """Restores the offsets of all vectors of the branch's head.

        Earlier snapshots need the old manifests, so these stay. The summary is not used, since the totals of other
        writers may drift. The answer for each manifest is cached. So a table without equality deletes costs no more
        reads here than `complete` needs: the first upsert or `delete_keys` reads its delete manifests once.

        Returns:
            The table's metadata with the offsets; None if no offset is missing.
        """
        head = self._read_head(base)
        if head is None or "manifest-list" not in head:
            return None
        manifests = self._handle.manifests
        listing = manifests.read(head["manifest-list"])
        self._files.add_copy(head["manifest-list"], manifests.read_bytes(head["manifest-list"]))
        if not any(record.get("content") and manifests.lacks_offsets(record) for record in listing.records):
            return None
        records = [
            self._make_manifest(record, self._fill_offsets(record["manifest_path"]))
            if record.get("content") and manifests.lacks_offsets(record)
            else record
            for record in listing.records
        ]
        location = self._add_file(
            f"snap-{head['snapshot-id']}-1-{uuid.uuid4()}.avro", replace(listing, records=records).to_bytes()
        )
        self._check_readable(head | {"manifest-list": location}, records, base.specsById())
        document = MetadataDocument(read_metadata_document(self._handle.gateway, base))
        document = document.replace_manifest_list(head["snapshot-id"], location)
        return self._handle.gateway.iceberg.TableMetadataParser.fromJson(document.to_json())

    def complete(self, snapshot: dict[str, Any]) -> AvroFile:
        """Rewrites the new manifests that hold vectors, points the snapshot at them, and returns its manifest list."""
        listing = self._handle.manifests.read(snapshot["manifest-list"])
        if not self._may_have_vectors(snapshot):
            return listing
        records, room = [], self._count_free_manifests(listing)
        for record in listing.records:
            new = record.get("content") and record["added_snapshot_id"] == snapshot["snapshot-id"]
            avro = self._handle.manifests.read(record["manifest_path"]) if new else None
            if avro is None or not any(map(_is_vector, avro.records)):
                records.append(record)
            else:
                records += [self._make_manifest(record, part) for part in self._split_entries(avro, room)]
        if not self._entries:
            return listing
        completed = replace(listing, records=records)
        name = f"snap-{snapshot['snapshot-id']}-1-{uuid.uuid4()}.avro"
        snapshot["manifest-list"] = self._add_file(name, completed.to_bytes())
        self._check_readable(snapshot, records, self._files.operations.current().specsById())
        return completed

    def _read_head(self, base: Any) -> dict[str, Any] | None:
        """Reads the head of the branch in some metadata; usually, the handle has it in memory."""
        state, branch = self._handle.state, self._handle.branch
        if base.metadataFileLocation() == state.location:
            head = state.metadata.head(branch)
            return None if head is None else self._handle.read_snapshot_document(head.id)
        reference = base.ref(branch)
        if reference is None:
            return None
        snapshot = base.snapshot(reference.snapshotId())
        return dict(json.loads(self._handle.gateway.iceberg.SnapshotParser.toJson(snapshot)))

    def _may_have_vectors(self, snapshot: dict[str, Any]) -> bool:
        """Whether the snapshot may have vectors. Its summary does not prove it: the totals of other writers may drift.

        A change has usually read the deletes of the parent snapshot, so they are cached.
        """
        summary = snapshot["summary"]
        if summary.get(_TOTAL) != "0" or "added-equality-deletes" in summary:
            return True
        parent_id = snapshot.get("parent-snapshot-id")
        if parent_id is None:
            return False
        parent = self._handle.metadata.snapshots.get(parent_id)
        if parent is None or parent.manifest_list is None:  # another writer committed it a moment ago
            return parent is None
        listing = self._handle.manifests.read(parent.manifest_list)
        deletes = (self._handle.manifests.read_deletes(record) for record in listing.records if record.get("content"))
        return any(entry.is_vector for entries in deletes for entry in entries)

    def _count_free_manifests(self, listing: AvroFile) -> int:
        """Counts how many vectors of a commit get their own manifest.

        Iceberg merges manifests when there are a hundred of them, and then drops the offsets again. So a commit uses
        no more than half of that number.
        """
        merged_at = int(self._handle.metadata.properties.get(_MERGED_AT, 100))
        return merged_at // 2 - sum(bool(record.get("content")) for record in listing.records)

    def _fill_offsets(self, path: str) -> AvroFile:
        avro = self._handle.manifests.read(path)
        for record in avro.records:
            if _is_vector(record):
                self._set_offset(record["data_file"])
        return avro

    def _split_entries(self, avro: AvroFile, room: int) -> list[AvroFile]:
        """Gives each vector a manifest, so that removing one rewrites nothing. Too many vectors share one manifest."""
        schema = add_encoding_field(avro.schema)
        for record in avro.records:
            file = record["data_file"]
            file["encoding"] = self._encodings.get(file["file_path"])
            if _is_vector(record):
                self._set_offset(file)
        vectors = [[record] for record in avro.records if _is_vector(record)]
        if len(vectors) > max(room, 1):
            vectors = [[record for (record,) in vectors]]
        rest = [record for record in avro.records if not _is_vector(record)]
        return [replace(avro, schema=schema, records=records) for records in [*vectors, rest] if records]

    def _set_offset(self, file: dict[str, Any]) -> None:
        (blob,) = read_footer(self._handle, file["file_path"], file["file_size_in_bytes"]).blobs
        file["content_offset"], file["content_size_in_bytes"] = blob.offset, blob.length

    def _make_manifest(self, record: dict[str, Any], part: AvroFile) -> dict[str, Any]:
        data = part.to_bytes()
        path = self._add_file(f"{uuid.uuid4()}-m0.avro", data)
        counts = {f"{name}_{what}_count": 0 for name in ("added", "existing", "deleted") for what in ("files", "rows")}
        for entry in part.records:
            status = ("existing", "added", "deleted")[entry["status"]]
            counts[f"{status}_files_count"] += 1
            counts[f"{status}_rows_count"] += entry["data_file"]["record_count"]
        manifest = {**record, **counts, "manifest_path": path, "manifest_length": len(data)}
        self._entries[path] = self._handle.manifests.read_back(manifest, data)
        return manifest

    def _check_readable(self, snapshot: dict[str, Any], records: list[dict[str, Any]], specs: Any) -> None:
        """Reads the new files with Iceberg's own reader: what it cannot read is not committed.

        Args:
            snapshot: The snapshot.
            records: All its manifests, in the order of its list.
            specs: The partition specs of the table, as Java's map.

        Raises:
            FormatError: The reader fails, or finds other entries than those that were written.
        """
        iceberg = self._handle.gateway.iceberg
        size = iceberg.relocated.com.google.common.collect.Iterables.size
        expected, self._entries = self._entries, {}
        io, counts = self._files.operations.io(), {}
        try:
            manifests = iceberg.SnapshotParser.fromJson(json.dumps(snapshot)).deleteManifests(io)
            for index, path in enumerate(record["manifest_path"] for record in records if record.get("content")):
                if path in expected:
                    reader = iceberg.ManifestFiles.readDeleteManifest(manifests.get(index), io, specs)
                    counts[path] = int(size(reader))
                    reader.close()
        except JavaError as error:
            raise FormatError(
                f"Iceberg cannot read the manifests of vectors that were made: {read_java_message(error)}",
                hint="nothing was committed; please report this with the table's schema and partition spec",
            ) from error
        if counts != expected:
            raise FormatError(
                f"Iceberg reads {sum(counts.values())} deletes in manifests of {sum(expected.values())}",
                hint="nothing was committed; please report this with the table's schema and partition spec",
            )

    def _add_file(self, name: str, data: bytes) -> str:
        """Adds a metadata file; returns its path."""
        path = str(self._files.operations.metadataFileLocation(name))
        self._files.add(path, data)
        return path


def _is_vector(record: dict[str, Any]) -> bool:
    file = record["data_file"]
    return bool(file["content"] == EQUALITY and file["file_format"].upper() == _PUFFIN)
