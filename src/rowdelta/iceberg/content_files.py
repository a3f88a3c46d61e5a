"""Data and delete files as plain values, built for Iceberg and read from it as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from rowdelta.encoding import FileContent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rowdelta.iceberg.table_handle import TableHandle

_CONTENTS: Final = {
    "data": None,
    "position-deletes": FileContent.POSITION,
    "equality-deletes": FileContent.EQUALITY,
}
_NO_JSON_NUMBERS: Final = ("NaN", "Infinity", "-Infinity")


@dataclass(frozen=True)
class ContentFile:
    """One data or delete file of a table, with the names of the Iceberg spec.

    `content` is None for a data file. `partition` holds one JSON single value per field of the spec. Bounds are in
    Iceberg's binary single-value form, by field id.
    """

    path: str
    file_format: str
    record_count: int
    file_size_in_bytes: int
    content: FileContent | None = None
    spec_id: int = 0
    partition: Sequence[Any] = ()
    column_sizes: Mapping[int, int] | None = field(default=None, repr=False)
    value_counts: Mapping[int, int] | None = field(default=None, repr=False)
    null_value_counts: Mapping[int, int] | None = field(default=None, repr=False)
    nan_value_counts: Mapping[int, int] | None = field(default=None, repr=False)
    lower_bounds: Mapping[int, bytes] | None = field(default=None, repr=False)
    upper_bounds: Mapping[int, bytes] | None = field(default=None, repr=False)
    split_offsets: Sequence[int] | None = field(default=None, repr=False)
    equality_ids: Sequence[int] | None = None
    sort_order_id: int | None = None
    first_row_id: int | None = None
    referenced_data_file: str | None = None
    content_offset: int | None = None
    content_size_in_bytes: int | None = None

    def to_json(self) -> str:
        """Returns the form that Iceberg's `ContentFileParser` reads."""
        content = next(name for name, value in _CONTENTS.items() if value is self.content)
        document = {
            "spec-id": self.spec_id,
            "content": content.upper().replace("-", "_"),  # the form that every Iceberg since 1.10 reads
            "file-path": self.path,
            "file-format": self.file_format.upper(),
            "partition": list(self.partition),
            "file-size-in-bytes": self.file_size_in_bytes,
            "record-count": self.record_count,
            "column-sizes": _to_map(self.column_sizes),
            "value-counts": _to_map(self.value_counts),
            "null-value-counts": _to_map(self.null_value_counts),
            "nan-value-counts": _to_map(self.nan_value_counts),
            "lower-bounds": _to_map(_to_hex(self.lower_bounds)),
            "upper-bounds": _to_map(_to_hex(self.upper_bounds)),
            "split-offsets": self.split_offsets,
            "equality-ids": self.equality_ids,
            "sort-order-id": self.sort_order_id,
            "first-row-id": self.first_row_id,
            "referenced-data-file": self.referenced_data_file,
            "content-offset": self.content_offset,
            "content-size-in-bytes": self.content_size_in_bytes,
        }
        return json.dumps({key: value for key, value in document.items() if value is not None})

    @classmethod
    def from_json(cls, text: str) -> ContentFile:
        """Reads what Iceberg's `ContentFileParser` wrote."""
        document = json.loads(text)
        return cls(
            path=document["file-path"],
            file_format=document["file-format"].upper(),
            record_count=document["record-count"],
            file_size_in_bytes=document["file-size-in-bytes"],
            content=_CONTENTS[document["content"].lower().replace("_", "-")],
            spec_id=document["spec-id"],
            partition=tuple(document.get("partition", ())),
            column_sizes=_from_map(document.get("column-sizes")),
            value_counts=_from_map(document.get("value-counts")),
            null_value_counts=_from_map(document.get("null-value-counts")),
            nan_value_counts=_from_map(document.get("nan-value-counts")),
            lower_bounds=_from_hex(_from_map(document.get("lower-bounds"))),
            upper_bounds=_from_hex(_from_map(document.get("upper-bounds"))),
            split_offsets=document.get("split-offsets"),
            equality_ids=document.get("equality-ids"),
            sort_order_id=document.get("sort-order-id"),
            first_row_id=document.get("first-row-id"),
            referenced_data_file=document.get("referenced-data-file"),
            content_offset=document.get("content-offset"),
            content_size_in_bytes=document.get("content-size-in-bytes"),
        )


def to_java(handle: TableHandle, file: ContentFile) -> Any:
    """Returns Iceberg's own object for a file of this table."""
    gateway = handle.gateway
    return gateway.iceberg.ContentFileParser.fromJson(gateway.json_node(file.to_json()), handle.java_table.specs())


def from_java(handle: TableHandle, file: Any) -> ContentFile:
    """Returns the plain value of one of Iceberg's file objects."""
    spec = handle.java_table.specs().get(file.specId())
    return convert_special_floats(
        handle, ContentFile.from_json(handle.gateway.iceberg.ContentFileParser.toJson(file, spec))
    )


def convert_special_floats(handle: TableHandle, file: ContentFile) -> ContentFile:
    """Converts floating-point partition values to numbers: in JSON, NaN and the infinities are text."""
    if not any(value in _NO_JSON_NUMBERS for value in file.partition if isinstance(value, str)):
        return file
    metadata = handle.metadata
    sources = [metadata.schema.by_id.get(part.source_id) for part in metadata.specs[file.spec_id].fields]
    values = [
        float(value)
        if value in _NO_JSON_NUMBERS and source is not None and source.type in {"float", "double"}
        else value
        for value, source in zip(file.partition, sources, strict=True)
    ]
    return replace(file, partition=tuple(values))


def _to_map(values: Mapping[int, Any] | None) -> dict[str, list[Any]] | None:
    return None if values is None else {"keys": list(values.keys()), "values": list(values.values())}


def _from_map(document: dict[str, list[Any]] | None) -> dict[int, Any] | None:
    return None if document is None else dict(zip(document["keys"], document["values"], strict=True))


def _to_hex(values: Mapping[int, bytes] | None) -> dict[int, str] | None:
    return None if values is None else {key: value.hex().upper() for key, value in values.items()}


def _from_hex(values: Mapping[int, str] | None) -> dict[int, bytes] | None:
    return None if values is None else {key: bytes.fromhex(value) for key, value in values.items()}
