"""The snapshots of a table. Those of the past are read when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_READ_ONE_BY_ONE: Final = 32
# In the summary of a snapshot that has the rows of its parent, although its operation is not `replace`: Iceberg's
# validation, which looks for new deletes, must see the positions that a resolve adds.
SAME_ROWS: Final = "rowdelta.same-rows"


@dataclass(frozen=True)
class Snapshot:
    """One state of the table."""

    id: int
    parent_id: int | None
    sequence_number: int
    timestamp_ms: int
    manifest_list: str | None
    schema_id: int | None
    summary: dict[str, str] = field(repr=False)

    @property
    def operation(self) -> str | None:
        """`append`, `overwrite`, `delete` or `replace`."""
        return self.summary.get("operation")


@dataclass(frozen=True)
class History:
    """Reads snapshots that are not in memory: one of them, or the JSON with all of them."""

    one: Callable[[int], dict[str, Any] | None]
    whole: Callable[[], dict[str, Any]]


class Snapshots(Mapping[int, Snapshot]):
    """The snapshots of a table by id. A few that are not in memory are read one by one, then the whole history."""

    def __init__(self, in_memory: dict[int, Snapshot], history: History | None = None) -> None:
        self._in_memory = in_memory
        self._history = history
        self._one_by_one = _READ_ONE_BY_ONE

    def __getitem__(self, snapshot_id: int) -> Snapshot:
        history = self._history  # another thread may set it to None
        if snapshot_id not in self._in_memory and history is not None:
            if self._one_by_one > 0:
                self._one_by_one -= 1
                document = history.one(snapshot_id)
                if document is None:
                    raise KeyError(snapshot_id)
                self._in_memory[snapshot_id] = parse_snapshot(document)
            else:
                self._read_all()
        return self._in_memory[snapshot_id]

    def __iter__(self) -> Iterator[int]:
        return iter(self._read_all())

    def __len__(self) -> int:
        return len(self._read_all())

    def _read_all(self) -> dict[int, Snapshot]:
        history = self._history
        if history is not None:
            self._in_memory = read_snapshots(history.whole())
            self._history = None
        return self._in_memory


def read_snapshots(document: dict[str, Any]) -> dict[int, Snapshot]:
    """Reads the snapshots in the JSON of a table's metadata, by id."""
    return {snapshot["snapshot-id"]: parse_snapshot(snapshot) for snapshot in document.get("snapshots", [])}


def parse_snapshot(document: dict[str, Any]) -> Snapshot:
    """Parses one snapshot in Iceberg's JSON form."""
    return Snapshot(
        id=document["snapshot-id"],
        parent_id=document.get("parent-snapshot-id"),
        sequence_number=document.get("sequence-number", 0),
        timestamp_ms=document["timestamp-ms"],
        manifest_list=document.get("manifest-list"),
        schema_id=document.get("schema-id"),
        summary=dict(document.get("summary", {})),
    )
