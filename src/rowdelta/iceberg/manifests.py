"""Manifest lists and manifests as their bytes say them.

Iceberg's Java reader drops the fields that rowdelta adds to the entries of equality delete vectors, and its writer the
offsets of their blobs; so these few files are read and written here, by the names of the Iceberg spec.
"""

from __future__ import annotations

import copy
import io
import json
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import fastavro

from rowdelta.encoding import DeleteEncoding, FileContent
from rowdelta.errors import FormatError, TableError
from rowdelta.iceberg.cache import Recent
from rowdelta.iceberg.file_io import together

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rowdelta.iceberg.file_io import FileIO

DELETED: Final = 2
ADDED: Final = 1
EXISTING: Final = 0
EQUALITY: Final = FileContent.EQUALITY.id
# The id of our own optional field `encoding` in a manifest entry, beyond all that the spec gives out.
ENCODING_FIELD_ID: Final = 2147483200
# The reserved field id of `file_path` in a position delete file.
DELETE_FILE_PATH_ID: Final = 2147483546
# One action reads the same manifest for several reasons; every read is some calls of py4j.
_CACHED_BYTES: Final = 16 << 20
_CACHED_BYTES_EACH: Final = 1 << 20
_CACHED_BETWEEN: Final = 1 << 18
# What every Avro file starts with, and the logical types that fastavro would make Python's dates and times of.
_HEADER: Final = fastavro.parse_schema(
    {
        "type": "record",
        "name": "header",
        "fields": [
            {"name": "magic", "type": {"type": "fixed", "name": "magic", "size": 4}},
            {"name": "meta", "type": {"type": "map", "values": "bytes"}},
            {"name": "sync", "type": {"type": "fixed", "name": "sync", "size": 16}},
        ],
    }
)
_MAGIC: Final = b"Obj\x01"
_SCHEMA: Final = "avro.schema"
_TIMES: Final = ("date", "time-", "timestamp-", "local-timestamp-")
_SIGNS_OF_TIMES: Final = (b'"date"', b'"time-', b"timestamp-")


@dataclass(frozen=True)
class AvroFile:
    """An Avro file in memory: its records, its schema, and the key-value metadata of its writer.

    Dates and times are the numbers that the file holds: days, and micro- or nanoseconds.
    """

    schema: dict[str, Any]
    records: list[dict[str, Any]]
    metadata: dict[str, str]

    def to_bytes(self) -> bytes:
        """The file's bytes, with the same schema and metadata."""
        out = io.BytesIO()
        fastavro.writer(
            out, self.schema, self.records, codec="deflate", metadata=dict(self.metadata)
        )  # it adds its own
        return out.getvalue()

    @classmethod
    def parse(cls, path: str, data: bytes) -> AvroFile:
        """Reads a file's bytes.

        Raises:
            FormatError: They are no Avro file; `path` is named.
        """
        try:
            with_times, stream = _without_times(data)
            reader = fastavro.reader(stream)
            schema: Any = reader.writer_schema if with_times is None else with_times
            records: list[Any] = list(reader)
            keep = {key: value for key, value in reader.metadata.items() if not key.startswith("avro.")}
        except (ValueError, EOFError, TypeError, KeyError, IndexError, StopIteration) as error:
            raise FormatError(f"{path} is not an Avro file: {error}", hint="the metadata file is damaged") from error
        return cls(schema, records, keep)


def _without_times(data: bytes) -> tuple[Any, io.BytesIO]:
    """The schema of a file that has dates or times, and the file with a schema in which they are numbers."""
    if not data.startswith(_MAGIC):
        raise ValueError("it does not start as one")
    stream = io.BytesIO(data)
    header: Any = fastavro.schemaless_reader(stream, _HEADER, None)
    written = header["meta"].get(_SCHEMA, b"")
    if not any(sign in written for sign in _SIGNS_OF_TIMES):
        return None, io.BytesIO(data)
    schema = json.loads(written)
    header["meta"][_SCHEMA] = json.dumps(_as_numbers(schema)).encode()
    made = io.BytesIO()
    fastavro.schemaless_writer(made, _HEADER, header)
    made.write(memoryview(data)[stream.tell() :])
    made.seek(0)
    return schema, made


def _as_numbers(schema: Any) -> Any:
    """An Avro schema without the logical types of dates and times."""
    if isinstance(schema, list):
        return [_as_numbers(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    is_time = str(schema.get("logicalType", "")).startswith(_TIMES)
    return {key: _as_numbers(value) for key, value in schema.items() if not (is_time and key == "logicalType")}


@dataclass(frozen=True, slots=True)
class DeleteEntry:
    """A live entry of a delete manifest, its sequence number inherited where it was left out."""

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
        """What the entry says, or what the file's format and blob tell; a contradiction is an error."""
        return DeleteEncoding.effective(self.encoding_id, self.file_format, blob_type)


@dataclass(frozen=True, slots=True)
class DataEntry:
    """What a data manifest says of a file's age and place."""

    path: str
    file_format: str
    spec_id: int
    partition: tuple[Any, ...]
    sequence_number: int


class ManifestReader:
    """Reads manifests through a FileIO. They never change, so each is read once."""

    def __init__(self, files: FileIO) -> None:
        self._files = files
        self._entries = Recent[list[Any]]()
        self._lacks_places = Recent[bool]()
        self._bytes: OrderedDict[str, bytes] = OrderedDict()
        self._room = _CACHED_BYTES

    def read(self, path: str) -> AvroFile:
        """Any Avro metadata file."""
        return AvroFile.parse(path, self._read(path))

    def fetch(self, manifests: Iterable[dict[str, Any]], *, parsed: bool = False) -> None:
        """Reads manifests side by side, as far as they are kept.

        Args:
            manifests: Their records in the manifest list.
            parsed: Whether only their entries are needed, which may be there already.
        """
        wanted, room = [], _CACHED_BYTES
        for manifest in manifests:
            path, length = manifest["manifest_path"], manifest["manifest_length"]
            if (
                not may_be_live(manifest)
                or length > min(room, _CACHED_BYTES_EACH)
                or (parsed and path in self._entries)
            ):
                continue
            room -= length
            if path not in self._bytes:
                wanted.append(path)
        for path, data in zip(wanted, together(self._files.read, wanted), strict=True):
            self._keep(path, data)

    def after_change(self) -> None:
        """Lets most bytes go when the table has changed, and entries that were not used lately."""
        self._entries.after_change()
        self._lacks_places.after_change()
        while self._bytes and self._room < _CACHED_BYTES - _CACHED_BETWEEN:
            _, oldest = self._bytes.popitem(last=False)
            self._room += len(oldest)

    def _read(self, path: str) -> bytes:
        data = self._bytes.get(path)
        if data is None:
            data = self._files.read(path)
            self._keep(path, data)
        return data

    def _keep(self, path: str, data: bytes) -> None:
        if path not in self._bytes and len(data) <= _CACHED_BYTES_EACH:
            self._bytes[path] = data
            self._room -= len(data)
        while self._room < 0:
            _, oldest = self._bytes.popitem(last=False)
            self._room += len(oldest)

    def deletes(self, manifest: dict[str, Any]) -> list[DeleteEntry]:
        """The live entries of a delete manifest, given as its record in the manifest list."""
        return self._cached(manifest, delete_entry)

    def data(self, manifest: dict[str, Any]) -> list[DataEntry]:
        """The live entries of a data manifest, given as its record in the manifest list."""
        return self._cached(manifest, _data_entry)

    def lacks_places(self, manifest: dict[str, Any]) -> bool:
        """Whether a delete manifest does not say of all vectors where their blobs are. Its entries are not kept."""
        path = manifest["manifest_path"]
        found = self._lacks_places.get(path)
        if found is None:
            entries = self._entries.get(path)
            entries = self._parsed(manifest, delete_entry) if entries is None else entries
            found = any(entry.is_vector and entry.content_offset is None for entry in entries)
            self._lacks_places.put(path, found)
        return found

    def read_back(self, manifest: dict[str, Any], data: bytes) -> int:
        """Reads a delete manifest that is about to be written whole, given as its record in the manifest list.

        Returns:
            How many live entries it has. They are not kept: who only writes need not know what is live.

        Raises:
            FormatError: Nobody could read it.
        """
        path = manifest["manifest_path"]
        found = _entries(AvroFile.parse(path, data), manifest, delete_entry)
        self._lacks_places.put(path, any(entry.is_vector and entry.content_offset is None for entry in found))
        return len(found)

    def _cached(self, manifest: dict[str, Any], parse: Any) -> list[Any]:
        path = manifest["manifest_path"]
        found = self._entries.get(path)
        if found is None:
            found = self._parsed(manifest, parse)
            self._entries.put(path, found)
        return found

    def _parsed(self, manifest: dict[str, Any], parse: Any) -> list[Any]:
        return _entries(self.read(manifest["manifest_path"]), manifest, parse) if may_be_live(manifest) else []


def _entries(avro: AvroFile, manifest: dict[str, Any], parse: Any) -> list[Any]:
    """The live entries of a manifest, given as its record in the manifest list."""
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


def data_sequence_number(record: dict[str, Any], manifest: dict[str, Any]) -> int:
    """The age of an entry, inherited from its manifest where it was left out."""
    number = record.get("sequence_number")
    if number is not None:
        return int(number)
    if record["status"] == ADDED or not manifest.get("sequence_number"):
        return int(manifest.get("sequence_number") or 0)
    raise TableError(
        f"an existing entry of {manifest['manifest_path']} has no sequence number",
        hint="the manifest was not written as the Iceberg spec says; which deletes apply cannot be known",
    )


def spec_id(manifest: dict[str, Any]) -> int:
    """The partition spec of all files of a manifest, given as its record in the manifest list.

    The field is required in every format version, and 0 is a spec like any other.
    """
    found = manifest.get("partition_spec_id")
    if found is None:
        raise TableError(
            f"manifest {manifest['manifest_path']} has no partition spec in its manifest list",
            hint="the manifest list is damaged; which deletes apply cannot be known",
        )
    return int(found)


def delete_entry(record: dict[str, Any], manifest: dict[str, Any]) -> DeleteEntry:
    """An entry of a delete manifest, given as its records in the manifest and in the manifest list."""
    file = record["data_file"]
    content = FileContent.EQUALITY if file["content"] == EQUALITY else FileContent.POSITION
    equality_ids = tuple(file.get("equality_ids") or ())
    if content is FileContent.EQUALITY and not equality_ids:
        raise TableError(f"equality delete {file['file_path']} has no equality_ids", hint="its key cannot be known")
    return DeleteEntry(
        path=file["file_path"],
        content=content,
        file_format=file["file_format"].upper(),
        spec_id=spec_id(manifest),
        partition=_partition(file),
        sequence_number=data_sequence_number(record, manifest),
        record_count=file["record_count"],
        file_size_in_bytes=file["file_size_in_bytes"],
        equality_ids=equality_ids,
        content_offset=file.get("content_offset"),
        content_size_in_bytes=file.get("content_size_in_bytes"),
        encoding_id=file.get("encoding"),
        referenced_data_file=file.get("referenced_data_file") or _only_path(file),
        manifest_path=manifest["manifest_path"],
    )


def _partition(file: dict[str, Any]) -> tuple[Any, ...]:
    """The partition of a file; Avro mangles names, so the values are taken in the order of the spec's fields."""
    return tuple((file.get("partition") or {}).values())


def _only_path(file: dict[str, Any]) -> str | None:
    """The one data file that a position delete file is about, if its bounds say that there is only one."""
    bounds = [
        next((pair["value"] for pair in file.get(name) or () if pair["key"] == DELETE_FILE_PATH_ID), None)
        for name in ("lower_bounds", "upper_bounds")
    ]
    return bounds[0].decode("utf-8", "replace") if bounds[0] is not None and bounds[0] == bounds[1] else None


def _data_entry(record: dict[str, Any], manifest: dict[str, Any]) -> DataEntry:
    file = record["data_file"]
    return DataEntry(
        file["file_path"],
        file["file_format"].upper(),
        spec_id(manifest),
        _partition(file),
        data_sequence_number(record, manifest),
    )


def with_encoding(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a manifest with our optional `encoding` in its data files."""
    schema = copy.deepcopy(schema)
    data_file = next(entry for entry in schema["fields"] if entry["name"] == "data_file")["type"]
    if all(known["name"] != "encoding" for known in data_file["fields"]):
        data_file["fields"].append(
            {"name": "encoding", "type": ["null", "int"], "default": None, "field-id": ENCODING_FIELD_ID}
        )
    return schema
