"""Iceberg's `rewrite_manifests` drops the places of vector blobs. Iceberg can no longer plan deletes; rowdelta can."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from rowdelta.iceberg import build_row_filter, measure_scan
from tests.support.local_files import move_away
from tests.support.oracle import assert_same_rows, rows
from tests.support.tables import EDV, append_ids, create, keys, live_vectors

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from rowdelta.change import Operation

    Rows = dict[int, str]


def drop_places(spark: SparkSession, table: rd.Table) -> None:
    spark.sql(f"CALL lake.system.rewrite_manifests(table => '{table.name}')")
    vectors = live_vectors(table)
    assert {entry.content_offset for entry in vectors} == {None}


def test_every_verb_works_on_vectors_whose_offsets_were_dropped(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(50))
    append_ids(spark, table_name, range(50, 100))
    live = dict.fromkeys(range(100), "v")
    for key in (10, 60):
        table.delete_keys(keys(spark, key), "id").execute()
        del live[key]
    changes = spark.createDataFrame([(3, "new"), (200, "new")], "id bigint, v string")
    verbs: dict[str, tuple[Callable[[], Operation[Any]], Callable[[Rows], Rows]]] = {
        "delete of rows": (lambda: table.delete("id = 7"), lambda old: _without(old, 7)),
        "delete of a file": (lambda: table.delete("id >= 50 AND id < 100"), lambda old: _without(old, *range(50, 100))),
        "update": (lambda: table.update().set("v", "'w'").where("id < 2"), lambda old: old | {0: "w", 1: "w"}),
        "copy-on-write": (lambda: table.delete("id = 9", mode="copy-on-write"), lambda old: _without(old, 9)),
        "merge": (
            lambda: table.merge(changes, "id").when_matched_update_all().when_not_matched_insert_all(),
            lambda old: old | {3: "new", 200: "new"},
        ),
        "upsert": (lambda: table.upsert(changes, "id"), lambda old: old | {3: "new", 200: "new"}),
        "compact": (table.compact, lambda old: old),
    }
    for number, (name, (verb, change)) in enumerate(verbs.items()):
        table.delete_keys(keys(spark, 1000 + number), "id").execute()
        drop_places(spark, table)
        assert str(verb().plan()), name
        verb().execute()
        live = change(live)
        assert rows(table.read()) == sorted(live.items(), key=repr), name
    assert_same_rows(spark.table(table_name), live.items())


def _without(live: Rows, *ids: int) -> Rows:
    return {key: value for key, value in live.items() if key not in ids}


def test_debt_and_plans_count_the_files_of_such_a_table(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(5))
    append_ids(spark, table_name, range(5, 10))
    for key in (1, 2):
        table.delete_keys(keys(spark, key), "id").execute()
    drop_places(spark, table)
    assert "metadata alone" in str(table.delete("id < 5").plan())
    assert "1 to scan, 1 pruned" in str(table.update().set("v", "'w'").where("id = 7").plan())
    assert table.debt().delete_files == 2
    assert table.delete_files().count() == 2


@pytest.mark.parametrize("conditions", [("id < 5",), ("id < 3", "id = 2")])
def test_a_file_that_iceberg_cannot_read_is_named(
    spark: SparkSession, table_name: str, conditions: tuple[str, ...]
) -> None:
    """py4j's loop over Java's iterator would take the error for the end: nothing would match or be deleted."""
    table = create(spark, table_name, "id bigint, v string")
    for start in (0, 5):
        append_ids(spark, table_name, range(start, start + 5))
    handle, head = table.refresh()._handle, table.metadata.head("main")
    assert head is not None
    listed = handle.manifests.read(head.manifest_list or "").records
    with move_away(record["manifest_path"] for record in listed):
        for condition in conditions:
            with pytest.raises(rd.TableError, match=r"a scan of .* cannot be planned: .*m0\.avro"):
                measure_scan(handle, head.id, build_row_filter(handle, condition))
