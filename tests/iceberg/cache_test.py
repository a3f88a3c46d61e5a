"""The memory of a table object does not grow with the table's history."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from rowdelta.iceberg import read_footer
from rowdelta.iceberg.cache import LruCache
from rowdelta.iceberg.metadata import parse_metadata
from rowdelta.iceberg.snapshots import History
from rowdelta.read import key_loader as key_sets
from tests.support.oracle import rows
from tests.support.tables import EDV, append_ids, create, keys, live_vectors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMMITS = 12


def test_values_in_use_stay_and_the_others_are_evicted() -> None:
    recent = LruCache[str, str]()
    recent.put("live", "a")
    recent.put("gone", "b")
    for _ in range(8):
        recent.after_change()
        assert recent.get("live") == "a"
        assert "gone" in recent
    recent.after_change()
    assert recent.get("gone") is None
    assert recent.get("live") == "a"
    assert len(recent) == 1


def test_the_least_recently_used_value_is_evicted() -> None:
    recent = LruCache[str, int]()
    for number in range(4096):
        recent.put(str(number), number)
    recent.get("0")
    recent.put("one more", 1)
    assert recent.get("0") == 0
    assert recent.get("1") is None
    assert len(recent) == 4096


def test_sizes_count_where_they_are_measured_and_one_value_stays_however_large() -> None:
    recent = LruCache[str, bytes](10, len, 3)
    for key, value in [("a", b"1234"), ("b", b"12"), ("a", b"12345678"), ("c", b"12")]:
        recent.put(key, value)
    assert (recent.size, "b" in recent) == (10, False)
    recent.put("large", bytes(20))
    assert (recent.size, len(recent)) == (20, 1)
    recent.put("d", b"123")
    recent.after_change()
    assert (recent.size, len(recent)) == (3, 1)
    recent.remove("d")
    recent.remove("d")
    assert (recent.size, len(recent)) == (0, 0)


def test_any_number_of_threads_may_use_a_cache() -> None:
    recent = LruCache[int, int](50)

    def use(start: int) -> None:
        for number in range(start, start + 2000):
            recent.put(number % 97, number % 97)
            assert recent.get(number % 89) in {None, number % 89}
            recent.after_change() if number % 200 == 0 else recent.remove(number % 7)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(use, range(0, 400, 100)))
    assert recent.size == len(recent) <= 50


def test_history_is_read_only_when_it_is_needed(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, [1])
    first = table.refresh().metadata.head("main")
    assert first is not None
    spark.sql(f"ALTER TABLE {table_name} CREATE TAG kept AS OF VERSION {first.id}")
    for number in range(2, 5):
        append_ids(spark, table_name, [number])
    metadata, handle = table.refresh().metadata, table._handle
    head = metadata.head("main")
    assert head is not None
    assert {snapshot["snapshot-id"] for snapshot in handle.document["snapshots"]} == {first.id, head.id}
    whole = handle.read_whole_document()
    assert [entry["snapshot-id"] for entry in whole["snapshot-log"]] == [s["snapshot-id"] for s in whole["snapshots"]]
    line = list(metadata.ancestors(head))
    assert [snapshot.id for snapshot in reversed(line)] == [s["snapshot-id"] for s in whole["snapshots"]]
    assert handle.read_snapshot_document(line[1].id) == whole["snapshots"][2]
    assert dict(metadata.snapshots) == {snapshot.id: snapshot for snapshot in line}
    assert 5 not in metadata.snapshots
    metadata = table.refresh().metadata
    assert [found for found in (2**64, "123", 5.5, None) if found in metadata.snapshots] == []
    assert rows(table.read(snapshot_id=line[2].id).select("id")) == [(1,), (2,)]


@pytest.mark.parametrize("one_by_one", [0, 1, 32])
def test_snapshots_come_one_by_one_or_all_at_once(*, one_by_one: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rowdelta.iceberg.snapshots._READ_ONE_BY_ONE", one_by_one)
    every = {number: _snapshot(number, number - 1 or None) for number in range(1, 6)}
    asked: list[int | str] = []

    def one(number: int) -> dict[str, Any] | None:
        asked.append(number)
        return every.get(number)

    def whole() -> dict[str, Any]:
        asked.append("all")
        return _document(list(every.values()), main=5)

    metadata = parse_metadata(_document([every[5]], main=5), History(one, whole))
    head = metadata.head("main")
    assert not asked
    assert metadata.descends(head, 4)
    assert asked == (["all"] if one_by_one == 0 else [4])
    assert [snapshot.id for snapshot in metadata.ancestors(head)] == [5, 4, 3, 2, 1]
    assert not metadata.descends(metadata.snapshots[2], 5)
    assert not metadata.descends(head, 6)
    assert 6 not in metadata.snapshots
    assert asked.count("all") == (one_by_one < 2)
    assert len(metadata.snapshots) == 5


def test_ancestors_older_than_the_snapshot_are_not_read() -> None:
    asked: list[int] = []

    def one(number: int) -> dict[str, Any]:
        asked.append(number)
        return _snapshot(number, number - 1)

    document = _document([_snapshot(9, 8), _snapshot(10, 6)], main=9, fork=10)
    metadata = parse_metadata(document, History(one, dict))
    assert not metadata.descends(metadata.head("fork"), 9)
    assert asked == [6]


def _snapshot(number: int, parent: int | None) -> dict[str, Any]:
    numbers = {"snapshot-id": number, "sequence-number": number, "timestamp-ms": number}
    return numbers if parent is None else numbers | {"parent-snapshot-id": parent}


def _document(snapshots: list[dict[str, Any]], **branches: int) -> dict[str, Any]:
    return {
        "location": "file:/t",
        "format-version": 2,
        "schema": {"fields": []},
        "partition-spec": [],
        "current-snapshot-id": branches["main"],
        "snapshots": snapshots,
        "refs": {name: {"type": "branch", "snapshot-id": number} for name, number in branches.items()},
    }


def test_metadata_reads_the_past_of_its_own_time(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, [1])
    append_ids(spark, table_name, [2])
    before = table.refresh().metadata
    append_ids(spark, table_name, [3])
    assert len(table.refresh().metadata.snapshots) == 3
    assert len(before.snapshots) == 2


def test_footers_and_entries_of_a_stream_of_deletes_go_and_come_back(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(2 * COMMITS))
    sizes = []
    for number in range(COMMITS):
        table.delete_keys(keys(spark, number), "id").execute()
        document = {key: value for key, value in table._handle.document.items() if key != "metadata-log"}
        sizes.append(len(json.dumps(document)) // 100)
    handle = table._handle
    assert len(set(sizes[-5:])) == 1, sizes  # numbers of more digits, nothing else
    assert len(handle.puffin_footers) < COMMITS
    assert len(handle.manifests._entries) == 0  # a writer does not need to know which deletes are live
    vectors = live_vectors(table)
    assert len(vectors) == COMMITS
    assert [len(read_footer(handle, entry.path).blobs) for entry in vectors] == [1] * COMMITS
    assert rows(table.read().select("id")) == [(i,) for i in range(COMMITS, 2 * COMMITS)]


def test_keys_are_forgotten_with_their_files(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(10))
    table.delete_keys(keys(spark, 3), "id").execute()
    (vector,) = live_vectors(table)
    assert table.read().count() == 9
    assert key_sets._cache.get(vector.path) is not None
    size = key_sets._cache.size
    table.resolve().execute()
    assert key_sets._cache.get(vector.path) is None
    assert key_sets._cache.size == size - 8
    assert table.read().count() == 9
