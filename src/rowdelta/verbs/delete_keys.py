"""`t.delete_keys()`: deletes rows by key, without searching for them."""

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
from rowdelta.encoding import FileContent
from rowdelta.errors import InputError
from rowdelta.iceberg import RowChange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from rowdelta.choices import Encoding, Scope
    from rowdelta.iceberg import TableHandle


@dataclass(frozen=True)
class DeleteKeysResult(Result):
    """What `delete_keys` did. `rows_deleted` is None: the rows were not looked up.

    Attributes:
        keys: Distinct keys that were written; a null counts.
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
    vectors: int = 0
    encodings: dict[str, int] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()


class DeleteKeys(Operation[DeleteKeysResult]):
    """Deletes by key, without a scan."""

    def __init__(
        self, handle: TableHandle, keys: DataFrame, key: str | Sequence[str], encoding: Encoding | None, scope: Scope
    ) -> None:
        check_frame(keys, "keys")
        self._handle = handle
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

    def plan(self) -> Plan:
        """Counts the keys and chooses their encoding; writes nothing."""
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
                ("scan", "none: the rows are not looked up"),
                *describe_encodings(prepared),
            ),
        )

    def execute(self) -> DeleteKeysResult:
        """Writes the keys and commits them in one snapshot; an empty batch commits nothing."""
        started = time.monotonic()
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
