"""Checks change feeds: a state with the feed applied must be a later state. Also writes equality deletes with Java."""

from __future__ import annotations

import uuid
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.support.oracle import rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame

    import rowdelta as rd
    from rowdelta.iceberg import Schema

FEED = ("_change_type", "_commit_snapshot_id", "_commit_timestamp", "_change_ordinal")
SIGNS = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}


def list_history(table: rd.Table) -> list[int]:
    """The snapshots of the branch, oldest first."""
    metadata = table.refresh().metadata
    return [snapshot.id for snapshot in metadata.ancestors(metadata.head(table.branch))][::-1]


class States:
    """The rows of every snapshot, each read once and compared by field ids, so that columns can come and go."""

    def __init__(self, table: rd.Table) -> None:
        self._table = table
        self._rows: dict[int | None, tuple[Schema, list[tuple[Any, ...]]]] = {}

    def read(self, snapshot_id: int | None, schema: Schema) -> Counter[str]:
        """The rows of a snapshot in a schema."""
        if snapshot_id is None:
            return Counter()
        metadata = self._table.metadata
        if snapshot_id not in self._rows:
            schema_id = metadata.snapshots[snapshot_id].schema_id
            assert schema_id is not None
            read = self._table.read(snapshot_id=snapshot_id)
            self._rows[snapshot_id] = metadata.schemas[schema_id], [tuple(row) for row in read.collect()]
        own, stored = self._rows[snapshot_id]
        places = {column.id: place for place, column in enumerate(own.fields)}
        wanted = [places.get(column.id) for column in schema.fields]
        return count(tuple(None if place is None else row[place] for place in wanted) for row in stored)

    def schema_of(self, snapshot_id: int) -> Schema:
        """The schema of a snapshot."""
        metadata = self._table.metadata
        return metadata.schemas[metadata.snapshots[snapshot_id].schema_id or 0]


def count(some: Iterable[tuple[Any, ...]]) -> Counter[str]:
    return Counter(repr(tuple(_plain(value) for value in row)) for row in some)


def _plain(value: Any) -> Any:
    return tuple(sorted(value.items())) if isinstance(value, dict) else value


def sign_rows(feed: DataFrame) -> list[tuple[int | None, int, tuple[Any, ...]]]:
    """The snapshot, the sign and the values of each row of a feed."""
    found = []
    for row in feed.collect():
        *values, kind, snapshot_id, _, _ = tuple(row)
        found.append((snapshot_id, SIGNS[kind], tuple(values)))
    return found


def apply_rows(state: Counter[str], changes: Iterable[tuple[int, tuple[Any, ...]]]) -> Counter[str]:
    """Applies signed rows to a state. A row that is deleted must be there."""
    changes = list(changes)
    gone = count(values for sign, values in changes if sign < 0)
    new = count(values for sign, values in changes if sign > 0)
    assert not gone & new, "a row that did not change is reported"
    assert not gone - state, "a deleted row was not there"
    return state - gone + new


def check_every_commit(table: rd.Table, start: int | None = None, **options: Any) -> None:
    """Checks the feed from a snapshot to the newest one: commit by commit, it gives the rows of the next state."""
    history, states = list_history(table), States(table)
    schema = states.schema_of(history[-1])
    changes = sign_rows(table.changes(start, history[-1], **options))
    state = states.read(start, schema)
    later = history[history.index(start) + 1 :] if start is not None else history
    assert {snapshot_id for snapshot_id, _, _ in changes} <= set(later)
    for snapshot_id in later:
        state = apply_rows(state, [(sign, values) for of, sign, values in changes if of == snapshot_id])
        assert state == states.read(snapshot_id, schema), f"after snapshot {snapshot_id} of {later}"


def check_net(table: rd.Table, start: int | None, end: int, **options: Any) -> None:
    """Checks the net feed between two snapshots: no row is in it twice, and it gives the rows of the end."""
    states = States(table)
    schema = states.schema_of(end)
    feed = table.changes(start, end, net=True, **options)
    assert feed.columns == [*(column.name for column in schema.fields), *FEED]
    state = apply_rows(states.read(start, schema), [(sign, values) for _, sign, values in sign_rows(feed)])
    assert state == states.read(end, schema)


def types(feed: DataFrame) -> list[tuple[Any, ...]]:
    """The change type and the table's columns of each row, sorted."""
    return rows(feed.select("_change_type", *[name for name in feed.columns if name not in FEED]))


def delete_by_java(table: rd.Table, key: Mapping[str, int | str]) -> None:
    """Writes an equality delete of one key with Iceberg's Java API, and commits it.

    It applies to one partition, so the key must have the columns that name it. Numbers must be of the type `int`.
    """
    handle = table.refresh()._handle
    gateway, iceberg, java = handle.gateway, handle.gateway.iceberg, handle.java_table
    schema = java.schema().select(gateway.text_list(list(key)))
    record = iceberg.data.GenericRecord.create(schema)
    for name, value in key.items():
        record.setField(name, value)
    file = java.io().newOutputFile(handle.new_data_location(f"{uuid.uuid4()}-java-deletes.parquet"))
    builder = iceberg.formats.FormatModelRegistry.equalityDeleteWriteBuilder(
        iceberg.FileFormat.PARQUET,
        gateway.java_class("org.apache.iceberg.data.Record"),
        iceberg.encryption.EncryptedFiles.plainAsEncryptedOutput(file),
    )
    ids = [table.metadata.schema.by_name[name].id for name in key]
    builder = builder.schema(schema).spec(java.spec()).equalityFieldIds(gateway.int_array(ids))
    if java.spec().isPartitioned():
        place = iceberg.PartitionKey(java.spec(), schema)
        place.partition(record)
        builder = builder.partition(place)
    writer = builder.build()
    writer.write(record)
    writer.close()
    delta = java.newRowDelta()
    delta.addDeletes(writer.toDeleteFile())
    delta.commit()
    handle.spark.catalog.refreshTable(table.name)
