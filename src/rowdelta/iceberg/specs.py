"""A spec without partitions: what deletes for the whole table are filed under."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.errors import CommitConflictError
from rowdelta.iceberg.java_errors import JavaError, java_message, java_name

if TYPE_CHECKING:
    from rowdelta.iceberg.handle import TableHandle
    from rowdelta.iceberg.metadata import PartitionSpec

_TRIES = 5


def unpartitioned_spec(handle: TableHandle) -> PartitionSpec:
    """The table's spec without partitions; one is added to its metadata where it never had one.

    The table's own spec stays as it is: new rows are partitioned as before.
    """
    for _ in range(_TRIES):
        known = [spec for spec in handle.metadata.specs.values() if spec.is_unpartitioned]
        if known:
            return known[0]
        iceberg, operations = handle.gateway.iceberg, handle._table.operations()
        base = operations.current()
        unbound = iceberg.PartitionSpec.unpartitioned().toUnbound()
        try:
            operations.commit(base, iceberg.TableMetadata.buildFrom(base).addPartitionSpec(unbound).build())
        except JavaError as error:
            if java_name(error) != "CommitFailedException":
                raise CommitConflictError(
                    f"a spec without partitions could not be added to {handle.name}: {java_message(error)}",
                    hint="give the partition columns with the keys",
                ) from error
        handle.refresh()
    raise CommitConflictError(f"other writers of {handle.name} were faster every time", hint="run it again")
