"""The entries of manifests, by the names of the Iceberg spec.

Iceberg's Java reader drops the fields that rowdelta adds to the entries of equality delete vectors, and Iceberg's
writer drops the offsets of their blobs. So rowdelta reads and writes these entries itself.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rowdelta.encoding import DeleteEncoding, FileContent
from rowdelta.errors import FormatError, TableError

if TYPE_CHECKING:
    from rowdelta.iceberg.avro_file import AvroFile

DELETED: Final = 2
ADDED: Final = 1
EXISTING: Final = 0
EQUALITY: Final = FileContent.EQUALITY.id
# The field id of rowdelta's optional field `encoding` in a manifest entry, outside the range of the spec.
ENCODING_FIELD_ID: Final = 2147483200
# The reserved field id of `file_path` in a position delete file.
DELETE_FILE_PATH_ID: Final = 2147483546


@dataclass(frozen=True, slots=True)
class DeleteEntry:
    """A live entry of a delete manifest, its sequence number inherited if it had none."""

    path: str
    content: FileContent
    file_format: str
    spec_id: int
    partition: tuple[Any, ...]
    sequence_number: int
    record_count: int
    file_size_in_bytes: int
    equality_ids: tuple[int, ...]
    content_offset: int | None
    content_size_in_bytes: int | None
    encoding_id: int | None
    referenced_data_file: str | None
    manifest_path: str = field(repr=False)

    @property
    def is_vector(self) -> bool:
        """An equality delete in a Puffin file: one that only rowdelta reads."""
        return self.content is FileContent.EQUALITY and self.file_format == "PUFFIN"

    @property
    def is_deletion_vector(self) -> bool:
        """Positions in one data file, in a Puffin file."""
        return self.content is FileContent.POSITION and self.file_format == "PUFFIN"

    def encoding(self, blob_type: str | None = None) -> DeleteEncoding:
        """Returns the encoding of the file, by the entry or by its format and blob. A contradiction is an error."""
        return DeleteEncoding.effective(self.encoding_id, self.file_format, blob_type)


@dataclass(frozen=True, slots=True)
class DataEntry:
    """A live entry of a data manifest: the age and the partition of a file."""

    path: str
    file_format: str
    spec_id: int
    partition: tuple[Any, ...]
    sequence_number: int


def parse_entries(avro: AvroFile, manifest: dict[str, Any], parse: Any) -> list[Any]:
    """Parses the live entries of a manifest, given as its record in the manifest list."""
    try:
        return [parse(record, manifest) for record in avro.records if record["status"] != DELETED]
    except KeyError as error:
        raise FormatError(
            f"manifest {manifest['manifest_path']} has an entry without {error.args[0]!r}",
            hint="it was not written as the Iceberg spec says",
        ) from error


def may_be_live(manifest: dict[str, Any]) -> bool:
    """Whether a manifest, given as its record in the manifest list, may have entries that are not deleted."""
    counts = [manifest.get("added_files_count"), manifest.get("existing_files_count")]
    return counts != [0, 0]


def read_data_sequence_number(record: dict[str, Any], manifest: dict[str, Any]) -> int:
    """Reads the data sequence number of an entry, inherited from its manifest if it has none."""
    number = record.get("sequence_number")
    if number is not None:
        return int(number)
    if record["status"] == ADDED or not manifest.get("sequence_number"):
        return int(manifest.get("sequence_number") or 0)
    raise TableError(
        f"an existing entry of {manifest['manifest_path']} has no sequence number",
        hint="the manifest was not written as the Iceberg spec says; it is unknown which deletes apply",
    )


def read_spec_id(manifest: dict[str, Any]) -> int:
    """Reads the partition spec of all files of a manifest, given as its record in the manifest list.

    The field is required in every format version, and 0 is a spec like any other.
    """
    spec_id = manifest.get("partition_spec_id")
    if spec_id is None:
        raise TableError(
            f"manifest {manifest['manifest_path']} has no partition spec in its manifest list",
            hint="the manifest list is damaged; it is unknown which deletes apply",
        )
    return int(spec_id)


def parse_delete_entry(record: dict[str, Any], manifest: dict[str, Any]) -> DeleteEntry:
    """Parses an entry of a delete manifest, given as its records in the manifest and in the manifest list."""
    file = record["data_file"]
    content = FileContent.EQUALITY if file["content"] == EQUALITY else FileContent.POSITION
    equality_ids = tuple(file.get("equality_ids") or ())
    if content is FileContent.EQUALITY and not equality_ids:
        raise TableError(f"equality delete {file['file_path']} has no equality_ids", hint="its key is unknown")
    return DeleteEntry(
        path=file["file_path"],
        content=content,
        file_format=file["file_format"].upper(),
        spec_id=read_spec_id(manifest),
        partition=read_partition(file),
        sequence_number=read_data_sequence_number(record, manifest),
        record_count=file["record_count"],
        file_size_in_bytes=file["file_size_in_bytes"],
        equality_ids=equality_ids,
        content_offset=file.get("content_offset"),
        content_size_in_bytes=file.get("content_size_in_bytes"),
        encoding_id=file.get("encoding"),
        referenced_data_file=file.get("referenced_data_file") or _find_only_path(file),
        manifest_path=manifest["manifest_path"],
    )


def read_partition(file: dict[str, Any]) -> tuple[Any, ...]:
    """Reads the partition of a file; Avro changes names, so the values are in the order of the spec's fields."""
    return tuple((file.get("partition") or {}).values())


def _find_only_path(file: dict[str, Any]) -> str | None:
    """Finds the one data file that a position delete file refers to, if its bounds show that there is only one."""
    bounds = [
        next((pair["value"] for pair in file.get(name) or () if pair["key"] == DELETE_FILE_PATH_ID), None)
        for name in ("lower_bounds", "upper_bounds")
    ]
    return bounds[0].decode("utf-8", "replace") if bounds[0] is not None and bounds[0] == bounds[1] else None


def parse_data_entry(record: dict[str, Any], manifest: dict[str, Any]) -> DataEntry:
    """Parses an entry of a data manifest, given as its records in the manifest and in the manifest list."""
    file = record["data_file"]
    return DataEntry(
        file["file_path"],
        file["file_format"].upper(),
        read_spec_id(manifest),
        read_partition(file),
        read_data_sequence_number(record, manifest),
    )


def add_encoding_field(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema of a manifest with rowdelta's optional field `encoding` in its data files."""
    schema = copy.deepcopy(schema)
    data_file = next(entry for entry in schema["fields"] if entry["name"] == "data_file")["type"]
    if all(column["name"] != "encoding" for column in data_file["fields"]):
        data_file["fields"].append(
            {"name": "encoding", "type": ["null", "int"], "default": None, "field-id": ENCODING_FIELD_ID}
        )
    return schema
