"""Finds or adds the unpartitioned spec, which deletes for the whole table belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rowdelta.iceberg.metadata_commit import commit_metadata

if TYPE_CHECKING:
    from rowdelta.iceberg.partition_specs import PartitionSpec
    from rowdelta.iceberg.table_handle import TableHandle


def ensure_unpartitioned_spec(handle: TableHandle) -> PartitionSpec:
    """Returns the table's unpartitioned spec; adds one to its metadata if it never had one.

    The default spec does not change: new rows are partitioned as before.
    """
    unbound = handle.gateway.iceberg.PartitionSpec.unpartitioned().toUnbound

    def add(builder: Any) -> Any | None:
        return builder.addPartitionSpec(unbound()) if _find_spec(handle) is None else None

    spec = _find_spec(handle)
    if spec is None:
        commit_metadata(handle, add, "add a spec without partitions")
        spec = _find_spec(handle)
    assert spec is not None
    return spec


def _find_spec(handle: TableHandle) -> PartitionSpec | None:
    return next((spec for spec in handle.metadata.specs.values() if spec.is_unpartitioned), None)
