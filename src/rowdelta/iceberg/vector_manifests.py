"""Manifests of vectors, written whole.

Iceberg's manifest writer leaves out where the blob of an equality delete vector lies, and then cannot plan or remove
the entry. So the manifests of a new snapshot that hold vectors are written once more, one vector each. Where another
writer has dropped the places from older ones, these are written whole before Iceberg looks at them: any commit that
removes data files may remove vectors as well, those that are older than all data that is left.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from rowdelta.errors import FormatError
from rowdelta.iceberg.file_io import together
from rowdelta.iceberg.manifest_entries import EQUALITY, add_encoding_field
from rowdelta.iceberg.metadata_document import MetadataDocument
from rowdelta.iceberg.puffin_footers import footer
from rowdelta.iceberg.table_state import read_metadata_document
from rowdelta.spark import JavaError, java_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rowdelta.iceberg.avro_file import AvroFile
    from rowdelta.iceberg.table_handle import TableHandle

_PUFFIN: Final = "PUFFIN"
_TOTAL: Final = "total-equality-deletes"
_MERGED_AT: Final = "commit.manifest.min-count-to-merge"


class VectorManifests:
    """Completes the manifests of a snapshot that is about to be committed.

    Attributes:
        written: Every file that was written here; those that the snapshot does not name in the end are not needed.
    """

    def __init__(self, handle: TableHandle, operations: Any, encodings: Mapping[str, int]) -> None:
        self._handle = handle
        self._operations = operations
        self._encodings = encodings
        self.written: list[str] = []
        self._to_write: list[tuple[str, bytes]] = []
        self._entries: dict[str, int] = {}  # of the manifests that are still to be written

    def mended(self, base: Any) -> Any | None:
        """The table's metadata with the places of all vectors of the branch's head; None where they are there already.

        Earlier snapshots have the old manifests, so these stay. The summary is not believed: the totals of others may
        drift. What is known of a manifest is kept, and a table without equality deletes has no more read here than
        `complete` asks for: an upsert or `delete_keys` of it, which ends that state, reads its delete manifests once.
        """
        head = self._head(base)
        if head is None or "manifest-list" not in head:
            return None
        listing, manifests = self._handle.manifests.read(head["manifest-list"]), self._handle.manifests
        if not any(record["content"] and manifests.lacks_places(record) for record in listing.records):
            return None
        records = [
            self._manifest(record, self._filled(record["manifest_path"]))
            if record["content"] and manifests.lacks_places(record)
            else record
            for record in listing.records
        ]
        location = self._put(
            f"snap-{head['snapshot-id']}-1-{uuid.uuid4()}.avro", replace(listing, records=records).to_bytes()
        )
        self._write(head | {"manifest-list": location}, records, base.specsById())
        document = MetadataDocument(read_metadata_document(self._handle.gateway, base))
        document = document.replace_manifest_list(head["snapshot-id"], location)
        return self._handle.gateway.iceberg.TableMetadataParser.fromJson(document.to_json())

    def complete(self, snapshot: dict[str, Any], listing: AvroFile) -> list[str]:
        """Rewrites the new manifests that hold vectors, points the snapshot at them, and returns all its manifests."""
        as_it_is = [record["manifest_path"] for record in listing.records]
        if not self._may_have_vectors(snapshot):
            return as_it_is
        records, room = [], self._room(listing)
        for record in listing.records:
            new = record["content"] and record["added_snapshot_id"] == snapshot["snapshot-id"]
            avro = self._handle.manifests.read(record["manifest_path"]) if new else None
            if avro is None or not any(map(_is_vector, avro.records)):
                records.append(record)
            else:
                records += [self._manifest(record, part) for part in self._parts(avro, room)]
        if not self._to_write:
            return as_it_is
        name = f"snap-{snapshot['snapshot-id']}-1-{uuid.uuid4()}.avro"
        snapshot["manifest-list"] = self._put(name, replace(listing, records=records).to_bytes())
        self._write(snapshot, records, self._operations.current().specsById())
        return [record["manifest_path"] for record in records]

    def _head(self, base: Any) -> dict[str, Any] | None:
        """What some metadata says of the head of the branch; the handle mostly knows it."""
        state, branch = self._handle.state, self._handle.branch
        if base.metadataFileLocation() == state.location:
            head = state.metadata.head(branch)
            return None if head is None else self._handle.snapshot_document(head.id)
        reference = base.ref(branch)
        if reference is None:
            return None
        found = base.snapshot(reference.snapshotId())
        return dict(json.loads(self._handle.gateway.iceberg.SnapshotParser.toJson(found)))

    def _may_have_vectors(self, snapshot: dict[str, Any]) -> bool:
        """Whether the snapshot may have vectors; its summary is not believed, since the totals of others may drift.

        A change has read the deletes of the snapshot before it, mostly, so to look there costs nothing.
        """
        summary = snapshot["summary"]
        if summary.get(_TOTAL) != "0" or "added-equality-deletes" in summary:
            return True
        parent_id = snapshot.get("parent-snapshot-id")
        if parent_id is None:
            return False
        parent = self._handle.metadata.snapshots.get(parent_id)
        if parent is None or parent.manifest_list is None:  # of another writer, a moment ago
            return parent is None
        listing = self._handle.manifests.read(parent.manifest_list)
        deletes = (self._handle.manifests.deletes(record) for record in listing.records if record.get("content"))
        return any(entry.is_vector for entries in deletes for entry in entries)

    def _room(self, listing: AvroFile) -> int:
        """How many vectors of a commit get a manifest each.

        Iceberg merges manifests when there are a hundred of them, and then drops where the blobs are once more: half
        of that is left for later commits.
        """
        merged_at = int(self._handle.metadata.properties.get(_MERGED_AT, 100))
        return merged_at // 2 - sum(bool(record["content"]) for record in listing.records)

    def _filled(self, path: str) -> AvroFile:
        avro = self._handle.manifests.read(path)
        for record in avro.records:
            if _is_vector(record):
                self._fill(record["data_file"])
        return avro

    def _parts(self, avro: AvroFile, room: int) -> list[AvroFile]:
        """Vectors get a manifest each, so that removing one rewrites nothing; more than there is room for share one."""
        schema = add_encoding_field(avro.schema)
        for record in avro.records:
            file = record["data_file"]
            file["encoding"] = self._encodings.get(file["file_path"])
            if _is_vector(record):
                self._fill(file)
        vectors = [[record] for record in avro.records if _is_vector(record)]
        if len(vectors) > max(room, 1):
            vectors = [[record for (record,) in vectors]]
        rest = [record for record in avro.records if not _is_vector(record)]
        return [replace(avro, schema=schema, records=records) for records in [*vectors, rest] if records]

    def _fill(self, file: dict[str, Any]) -> None:
        (blob,) = footer(self._handle, file["file_path"], file["file_size_in_bytes"]).blobs
        file["content_offset"], file["content_size_in_bytes"] = blob.offset, blob.length

    def _manifest(self, record: dict[str, Any], part: AvroFile) -> dict[str, Any]:
        data = part.to_bytes()
        path = self._put(f"{uuid.uuid4()}-m0.avro", data)
        counts = {f"{name}_{what}_count": 0 for name in ("added", "existing", "deleted") for what in ("files", "rows")}
        for entry in part.records:
            status = ("existing", "added", "deleted")[entry["status"]]
            counts[f"{status}_files_count"] += 1
            counts[f"{status}_rows_count"] += entry["data_file"]["record_count"]
        made = {**record, **counts, "manifest_path": path, "manifest_length": len(data)}
        self._entries[path] = self._handle.manifests.read_back(made, data)
        return made

    def _prove(self, snapshot: dict[str, Any], paths: list[str], specs: Any) -> None:
        """Reads the new files with Iceberg's own reader, out of memory: what it cannot read is not committed.

        Args:
            snapshot: The snapshot.
            paths: All its manifests of deletes, in the order of its list.
            specs: The partition specs of the table, as Java's map.

        Raises:
            FormatError: It finds something else than what was written, or fails.
        """
        iceberg = self._handle.gateway.iceberg
        size = iceberg.relocated.com.google.common.collect.Iterables.size
        files = iceberg.inmemory.InMemoryFileIO()
        added: list[str] = []
        try:
            for path, data in self._to_write:
                files.addFile(path, data)
                added.append(path)
            made = iceberg.SnapshotParser.fromJson(json.dumps(snapshot))
            manifests = made.deleteManifests(files)
            found = {}
            for index, path in enumerate(paths):
                if path in self._entries:
                    reader = iceberg.ManifestFiles.readDeleteManifest(manifests.get(index), files, specs)
                    found[path] = int(size(reader))
                    reader.close()
        except JavaError as error:
            raise FormatError(
                f"Iceberg cannot read the manifests of vectors that were made: {java_message(error)}",
                hint="nothing was committed; please report this with the table's schema and partition spec",
            ) from error
        finally:
            for path in added:
                files.deleteFile(path)  # all objects of the class have the same files
        if found != self._entries:
            raise FormatError(
                f"Iceberg reads {sum(found.values())} deletes in manifests of {sum(self._entries.values())}",
                hint="nothing was committed; please report this with the table's schema and partition spec",
            )

    def _put(self, name: str, data: bytes) -> str:
        """Where a new metadata file will be; all are written at once."""
        path = str(self._operations.metadataFileLocation(name))
        self.written.append(path)
        self._to_write.append((path, data))
        return path

    def _write(self, snapshot: dict[str, Any], records: list[dict[str, Any]], specs: Any) -> None:
        """Writes what a snapshot needs, once it is proven that it can be read."""
        self._prove(snapshot, [record["manifest_path"] for record in records if record["content"]], specs)
        files, self._to_write, self._entries = self._to_write, [], {}
        together(lambda file: self._handle.io.write(*file), files)


def _is_vector(record: dict[str, Any]) -> bool:
    file = record["data_file"]
    return bool(file["content"] == EQUALITY and file["file_format"].upper() == _PUFFIN)
