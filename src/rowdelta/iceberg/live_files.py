"""The live data and delete files that manifests name, with the metrics of some of their columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rowdelta.iceberg.manifest_entries import (
    DELETED,
    may_be_live,
    parse_delete_entry,
    read_data_sequence_number,
    read_partition,
    read_spec_id,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from rowdelta.iceberg.manifest_entries import DeleteEntry
    from rowdelta.iceberg.table_handle import TableHandle


@dataclass(frozen=True)
class ColumnMetrics:
    """The metrics of one column in a manifest entry; None if the entry has none."""

    lower: bytes | None = None
    upper: bytes | None = None
    nulls: int | None = None
    values: int | None = None


@dataclass(frozen=True)
class LiveData:
    """A live data file."""

    path: str
    spec_id: int
    partition: tuple[Any, ...]
    sequence_number: int
    records: int
    size_in_bytes: int
    metrics: Mapping[int, ColumnMetrics] = field(repr=False)


@dataclass(frozen=True)
class LiveDelete:
    """A live delete file, or one blob of it."""

    entry: DeleteEntry
    snapshot_id: int | None
    metrics: Mapping[int, ColumnMetrics] = field(repr=False)

    @property
    def size_in_bytes(self) -> int:
        """The size of the blob where several share a file, else of the file."""
        size = self.entry.content_size_in_bytes
        return self.entry.file_size_in_bytes if size is None else size


def read_live_deletes(handle: TableHandle, manifests: Iterable[dict[str, Any]]) -> list[LiveDelete]:
    """Reads the live files of the delete manifests among some manifests, given as their records in the list."""
    return [
        LiveDelete(
            parse_delete_entry(record, manifest),
            _read_snapshot_id(record, manifest),
            _read_key_metrics(record["data_file"]),
        )
        for manifest in manifests
        if manifest.get("content")
        for record in _read_live_records(handle, manifest)
    ]


def read_live_data(
    handle: TableHandle,
    manifests: Iterable[dict[str, Any]],
    deletes: Iterable[LiveDelete],
    paths: Collection[str] | None = None,
) -> list[LiveData]:
    """Reads the live files of the data manifests among some manifests.

    Args:
        handle: The table.
        manifests: The manifests, given as their records in the manifest list.
        deletes: The delete files whose equality columns need metrics.
        paths: Only these files; default: all.
    """
    columns = {field_id for delete in deletes for field_id in delete.entry.equality_ids}
    return [
        _parse_data_file(record, manifest, columns)
        for manifest in manifests
        if not manifest.get("content")
        for record in _read_live_records(handle, manifest)
        if paths is None or record["data_file"]["file_path"] in paths
    ]


def _read_live_records(handle: TableHandle, manifest: dict[str, Any]) -> list[dict[str, Any]]:
    records = handle.manifests.read(manifest["manifest_path"]).records if may_be_live(manifest) else []
    return [record for record in records if record["status"] != DELETED]


def _read_snapshot_id(record: dict[str, Any], manifest: dict[str, Any]) -> int | None:
    snapshot_id = record.get("snapshot_id")
    return manifest.get("added_snapshot_id") if snapshot_id is None else snapshot_id


def _parse_data_file(record: dict[str, Any], manifest: dict[str, Any], columns: Collection[int]) -> LiveData:
    file = record["data_file"]
    return LiveData(
        path=file["file_path"],
        spec_id=read_spec_id(manifest),
        partition=read_partition(file),
        sequence_number=read_data_sequence_number(record, manifest),
        records=file["record_count"],
        size_in_bytes=file["file_size_in_bytes"],
        metrics=_read_metrics(file, columns),
    )


def _read_key_metrics(file: dict[str, Any]) -> dict[int, ColumnMetrics]:
    """Reads the metrics of the equality columns of a delete file."""
    return _read_metrics(file, file.get("equality_ids") or ())


def _read_metrics(file: dict[str, Any], columns: Collection[int]) -> dict[int, ColumnMetrics]:
    if not columns:
        return {}
    lower, upper, nulls, values = (
        {pair["key"]: pair["value"] for pair in file.get(name) or () if pair["key"] in columns}
        for name in ("lower_bounds", "upper_bounds", "null_value_counts", "value_counts")
    )
    return {i: ColumnMetrics(lower.get(i), upper.get(i), nulls.get(i), values.get(i)) for i in columns}
