"""A table's metadata at one moment: in Java, as JSON, and parsed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property, partial
from numbers import Integral
from typing import TYPE_CHECKING, Any

from rowdelta.iceberg.file_io import read_in_pieces
from rowdelta.iceberg.metadata import parse_metadata
from rowdelta.iceberg.snapshots import History
from rowdelta.spark import JavaError

if TYPE_CHECKING:
    from rowdelta.iceberg.metadata import TableMetadata
    from rowdelta.spark import Gateway


@dataclass(frozen=True)
class TableState:
    """A table at one moment: in Java, as JSON with the snapshots of branches and tags, and parsed."""

    gateway: Gateway = field(repr=False)
    current: Any = field(repr=False)
    location: str | None

    @cached_property
    def document(self) -> dict[str, Any]:
        """The JSON."""
        document = read_metadata_document(self.gateway, _remove_history(self.gateway, self.current))
        document["snapshot-log"] = []
        return document

    @cached_property
    def metadata(self) -> TableMetadata:
        """The JSON, parsed; a snapshot of the history is read when it is needed."""
        one = partial(read_snapshot_document, self.gateway, self.current)
        return parse_metadata(self.document, History(one, partial(read_metadata_document, self.gateway, self.current)))


def _remove_history(gateway: Gateway, metadata: Any) -> Any:
    """Removes all snapshots except those of branches and tags, so that a long history is not read each time."""
    try:
        return gateway.iceberg.TableMetadata.buildFrom(metadata).suppressHistoricalSnapshots().discardChanges().build()
    except JavaError:  # the builder is stricter than the reader
        return metadata


def read_snapshot_document(gateway: Gateway, metadata: Any, snapshot_id: Any) -> dict[str, Any] | None:
    """Reads one snapshot as Iceberg's JSON; None if the metadata does not have it."""
    number = int(snapshot_id) if isinstance(snapshot_id, Integral) else 2**63  # users may pass any value
    snapshot = metadata.snapshot(number) if -(2**63) <= number < 2**63 else None
    return None if snapshot is None else dict(json.loads(gateway.iceberg.SnapshotParser.toJson(snapshot)))


def read_metadata_document(gateway: Gateway, metadata: Any) -> dict[str, Any]:
    """Reads Iceberg's `TableMetadata` as JSON. A file is the fastest way to read a long text."""
    file = gateway.iceberg.inmemory.InMemoryOutputFile("rowdelta.metadata.json")
    gateway.iceberg.TableMetadataParser.overwrite(metadata, file)
    stream = file.toInputFile().newStream()
    try:
        document: dict[str, Any] = json.loads(read_in_pieces(stream))
    finally:
        stream.close()
    return document
