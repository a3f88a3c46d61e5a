"""`t.delete_keys()`: deletes rows by key: by their positions, once they have been looked up, or by the keys alone."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from rowdelta.change import (
    HashedBatch,
    IntegerBatch,
    KeyDeletes,
    KeyWriter,
    Operation,
    Plan,
    Result,
    bind_keys,
    check_frame,
    commit_and_refresh,
    describe_encodings,
    summarise_key_deletes,
)
from rowdelta.encoding import FileContent, choose_lane
from rowdelta.errors import InputError
from rowdelta.iceberg import RowChange
from rowdelta.merge import KeyDeletion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from rowdelta.choices import Encoding, Scope
    from rowdelta.encoding import Lane
    from rowdelta.iceberg import TableHandle


@dataclass(frozen=True)
class DeleteKeysResult(Result):
    """What `delete_keys` did. If the rows were not looked up (`resolved` is False), `rows_deleted` is None.

    Attributes:
        keys: Distinct keys; a null counts.
        resolved: Whether the rows were looked up, and deleted by position.
        vectors: Delete files that are equality delete vectors.
        encodings: Delete files by encoding.
        reasons: Why each encoding was chosen.

    Examples:
        >>> result = t.delete_keys(changes, key=["id", "status"]).execute()
        >>> result.keys, result.encodings, result.rows_deleted
        (4, {'full-row': 1}, None)
        >>> result.reasons
        ("the key has 2 columns ('id', 'status'), and a bitmap holds one",)
    """

    keys: int = 0
    resolved: bool = False
    vectors: int = 0
    encodings: dict[str, int] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()


class DeleteKeys(Operation[DeleteKeysResult]):
    """Deletes by key."""

    def __init__(
        self,
        handle: TableHandle,
        keys: DataFrame,
        key: str | Sequence[str],
        encoding: Encoding | None,
        scope: Scope,
        *,
        resolve: bool | None = None,
    ) -> None:
        check_frame(keys, "keys")
        self._handle = handle
        self._frame, self._key, self._scope, self._resolve = keys, key, scope, resolve
        self._bind_to_state = partial(bind_keys, handle, keys, key, scope)
        self._encoding = encoding
        try:
            self._bind()
        except InputError:  # the table may have other columns by now
            handle.refresh()
            self._bind()

    def _bind(self) -> None:
        """Binds the keys to the table's columns and partition spec, as far as the handle knows them."""
        self._state = self._handle.state
        self._keys = self._bind_to_state()
        self._writer = KeyWriter(self._handle, self._keys, self._encoding)
        self._prepared: KeyDeletes | None = None

    def _prepare(self) -> KeyDeletes:
        """Binds the keys again if the table has changed, and chooses their encoding."""
        self._handle.refresh()
        self._handle.check_locations()
        if self._handle.state is not self._state:
            self._bind()
        if self._prepared is None:
            self._prepared = self._writer.prepare()
        return self._prepared

    def _choose_lane(self) -> Lane:
        """Chooses between positions and keys, by the newest properties of the table."""
        self._handle.refresh()
        return choose_lane(self._handle.metadata.properties, resolve=self._resolve, encoding=self._encoding)

    def plan(self) -> Plan:
        """Counts the keys, and says how their rows would be deleted; writes nothing."""
        lane = self._choose_lane()
        if lane.resolves:
            return Plan(f"delete by key from {self._handle.name}", self._make_lookup(lane).plan_steps())
        prepared = self._prepare()
        counts = [batch.statistics.delete_count for batch, _ in prepared.chosen if isinstance(batch, IntegerBatch)]
        counts += [batch.keys.num_rows for batch, _ in prepared.chosen if isinstance(batch, HashedBatch)]
        reason = self._keys.scope_reason
        whole_table = f"whole table: {reason}" if reason else "whole table"
        partitions = f"{len(prepared.chosen)} partitions" if prepared.are_collected else "by partition"
        return Plan(
            f"delete by key from {self._handle.name}",
            (
                ("key", ", ".join(column.name for column in self._keys.columns)),
                ("keys", f"{sum(counts):,}" if prepared.are_collected else "counted while they are written"),
                ("scope", whole_table if self._keys.spec.is_unpartitioned else partitions),
                ("lane", f"keys ({lane.reason})"),
                ("scan", "none: the rows are not looked up"),
                *describe_encodings(prepared),
            ),
        )

    def execute(self) -> DeleteKeysResult:
        """Deletes in one snapshot; an empty batch commits nothing."""
        started = time.monotonic()
        lane = self._choose_lane()
        return self._delete_positions(lane, started) if lane.resolves else self._delete_by_key(started)

    def _make_lookup(self, lane: Lane) -> KeyDeletion:
        return KeyDeletion(self._handle, self._frame, self._key, self._scope, lane)

    def _delete_positions(self, lane: Lane, started: float) -> DeleteKeysResult:
        keys, replacement = self._make_lookup(lane).execute()
        change, snapshot = replacement.change, replacement.snapshot
        reason = lane.reason if snapshot is not None else "no row has one of the keys" if keys else "there are no keys"
        return DeleteKeysResult(
            snapshot_id=None if snapshot is None else snapshot.id,
            rows_deleted=replacement.counts.deleted,
            delete_files_added=len(change.deletes),
            delete_files_removed=len(change.removed_deletes),
            bytes_added=change.size_in_bytes,
            seconds=time.monotonic() - started,
            keys=keys,
            resolved=True,
            reasons=(reason,),
        )

    def _delete_by_key(self, started: float) -> DeleteKeysResult:
        """Writes the keys."""
        prepared = self._prepare()
        written = self._writer.write(prepared)
        if not written:
            return DeleteKeysResult(seconds=time.monotonic() - started, reasons=("there are no keys",))
        change = RowChange(deletes=written, summary=summarise_key_deletes(self._handle, written))
        snapshot = commit_and_refresh(self._handle, change)
        self._prepared = None
        return DeleteKeysResult(
            snapshot_id=snapshot.id,
            rows_deleted=None,
            delete_files_added=len(written),
            bytes_added=sum(new.file.file_size_in_bytes for new in written),
            seconds=time.monotonic() - started,
            keys=sum(new.file.record_count for new in written),
            vectors=sum(new.file.file_format == "PUFFIN" for new in written),
            encodings=dict(Counter(new.encoding.shown(FileContent.EQUALITY) for new in written)),
            reasons=prepared.reasons,
        )
