"""Lists every manifest that Iceberg wrote for a snapshot, including those that it does not need in the end.

Iceberg merges manifests, also those of the same commit, and a commit that fails may already have written some. Iceberg
lists the files that are not needed, and a transaction removes them when it is committed. rowdelta never commits the
transaction, and a manifest that was being written during a failure is in no list. But all names have consecutive
numbers: `<uuid>-m0.avro`, `<uuid>-m1.avro`, and so on.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from rowdelta.spark import JavaError, read_java_message

if TYPE_CHECKING:
    from rowdelta.iceberg.table_handle import TableHandle
    from rowdelta.spark import Gateway

log: Final = logging.getLogger("rowdelta")
_PRODUCER: Final = "org.apache.iceberg.SnapshotProducer"


class WrittenManifests:
    """The metadata files of one snapshot that Iceberg makes.

    Args:
        handle: The table.
        transaction: Iceberg's transaction of the snapshot, which has the folder.
        producer: Iceberg's update that makes the snapshot, such as a `RowDelta`.
    """

    def __init__(self, handle: TableHandle, transaction: Any, producer: Any) -> None:
        self._gateway = handle.gateway
        self._transaction = transaction
        self._producer = producer

    def list_manifests(self) -> list[str]:
        """Lists every manifest that was written so far."""
        try:
            count = int(self._read_field("manifestCount"))  # py4j converts it to a Python number
            if not count:
                return []
            operations, uuid = self._transaction.table().operations(), self._read_field("commitUUID")
            return [str(operations.metadataFileLocation(f"{uuid}-m{number}.avro")) for number in range(count)]
        except JavaError as error:
            return self._warn(error)

    def list_manifest_lists(self) -> list[str]:
        """Lists every manifest list that was written so far."""
        try:
            return [str(location) for location in self._gateway.members(self._read_field("manifestLists"))]
        except JavaError as error:
            return self._warn(error)

    @staticmethod
    def _warn(error: Exception) -> list[str]:
        log.warning(
            "unneeded manifests may remain: this version of Iceberg hides them (%s)",
            read_java_message(error),
        )
        return []

    def _read_field(self, name: str) -> Any:
        """Reads a private field of Iceberg's update."""
        return self._gateway.once(_PRODUCER, name, make=lambda: _find_field(self._gateway, name)).get(self._producer)


def _find_field(gateway: Gateway, name: str) -> Any:
    java_field = gateway.java_class(_PRODUCER).getDeclaredField(name)
    java_field.setAccessible(True)
    return java_field
