"""Changes a table's schema, partition spec and properties, alone or together with a snapshot.

Iceberg's own `UpdateSchema` assigns new field ids. If data files already have ids, the schema must be set as it is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rowdelta.errors import CommitConflictError, CommitStateUnknownError, TableError
from rowdelta.iceberg.metadata_document import make_schema, make_spec
from rowdelta.spark import JavaError, read_java_message, read_java_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from rowdelta.iceberg.table_handle import TableHandle


@dataclass(frozen=True)
class TableUpdate:
    """A change of a table's schema, partition spec and properties.

    Attributes:
        fields: The columns in Iceberg's JSON form, with their ids; None leaves the schema as it is.
        last_column_id: The highest id that was ever given to a column.
        partition: The fields of the partition spec in Iceberg's JSON form; None leaves it as it is.
        properties: Properties to set.
        removed_properties: Properties to remove.
        requires: Values that some properties must have; None for a property that must not exist.
        snapshot_id: The snapshot that the main branch must be at, if `requires` is not empty.
    """

    fields: Sequence[Mapping[str, Any]] | None = None
    last_column_id: int = 0
    partition: Sequence[Mapping[str, Any]] | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    removed_properties: Collection[str] = ()
    requires: Mapping[str, str | None] = field(default_factory=dict)
    snapshot_id: int | None = None

    def start_transaction(self, handle: TableHandle, operations: Any, base: Any) -> Any:
        """Starts a transaction where the update ends; it must not be committed itself."""
        iceberg = handle.gateway.iceberg
        start = self.apply(handle, iceberg.TableMetadata.buildFrom(base)).build()
        return iceberg.Transactions.replaceTableTransaction(handle.java_table.name(), operations, start)

    def check(self, handle: TableHandle, base: Any) -> None:
        """Refuses the update if another writer has changed what it depends on.

        Raises:
            CommitConflictError: A property or the snapshot has changed.
        """
        if not self.requires:
            return
        properties = base.properties()
        head = base.currentSnapshot()
        head_id = None if head is None else int(head.snapshotId())
        moved = [name for name, value in self.requires.items() if properties.get(name) != value]
        if moved or head_id != self.snapshot_id:
            raise CommitConflictError(
                f"{handle.name} was changed meanwhile: {', '.join(moved) or f'its newest snapshot is {head_id}'}",
                hint="run it again",
            )

    def apply(self, handle: TableHandle, builder: Any) -> Any:
        """Applies the update to Iceberg's metadata builder."""
        gateway = handle.gateway
        if self.fields is not None:
            schema = gateway.iceberg.SchemaParser.fromJson(json.dumps(make_schema(self.fields)))
            builder.setCurrentSchema(schema, self.last_column_id)
        if self.partition is not None:
            assert self.fields is not None
            spec = make_spec(self.partition)
            builder.setDefaultPartitionSpec(gateway.iceberg.PartitionSpecParser.fromJson(schema, json.dumps(spec)))
        if self.properties:
            builder.setProperties(gateway.string_map(self.properties))
        if self.removed_properties:
            builder.removeProperties(gateway.jvm.java.util.HashSet(list(self.removed_properties)))
        return builder


def update_table(handle: TableHandle, update: TableUpdate) -> None:
    """Commits an update without a snapshot.

    Raises:
        CommitConflictError: Another writer changed the table at the same time.
    """
    operations, iceberg = handle.java_table.operations(), handle.gateway.iceberg
    committing = False
    try:
        base = operations.refresh()
        update.check(handle, base)
        metadata = update.apply(handle, iceberg.TableMetadata.buildFrom(base)).build()
        committing = True
        operations.commit(base, metadata)
    except JavaError as error:
        raise _translate_error(error, committing=committing) from error
    handle.refresh()


def _translate_error(error: Exception, *, committing: bool) -> Exception:
    name, text = read_java_name(error), read_java_message(error)
    if name == "CommitFailedException":
        return CommitConflictError(f"another writer was faster: {text}", hint="run it again")
    if committing and name == "CommitStateUnknownException":
        return CommitStateUnknownError(f"the catalog did not say whether the commit took place: {text}")
    return TableError(f"the table's metadata cannot be changed: {name}: {text}")
