"""A spec without partitions: what deletes for the whole table are filed under."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rowdelta.iceberg.metadata_commit import commit_metadata

if TYPE_CHECKING:
    from rowdelta.iceberg.partition_specs import PartitionSpec
    from rowdelta.iceberg.table_handle import TableHandle


def unpartitioned_spec(handle: TableHandle) -> PartitionSpec:
    """The table's spec without partitions; one is added to its metadata where it never had one.

    The table's own spec stays as it is: new rows are partitioned as before.
    """
    unbound = handle.gateway.iceberg.PartitionSpec.unpartitioned().toUnbound

    def add(builder: Any) -> Any | None:
        return builder.addPartitionSpec(unbound()) if _known(handle) is None else None

    found = _known(handle)
    if found is None:
        commit_metadata(handle, add, "a spec without partitions was added")
        found = _known(handle)
    assert found is not None
    return found


def _known(handle: TableHandle) -> PartitionSpec | None:
    return next((spec for spec in handle.metadata.specs.values() if spec.is_unpartitioned), None)
