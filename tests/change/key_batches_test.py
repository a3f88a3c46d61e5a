"""Keys are collected as values or as words; both give the same batches."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest

from rowdelta.change import IntegerBatch, bind_keys, collect_integer_batches
from tests.support.oracle import assert_same_rows
from tests.support.tables import EDV, create, one_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rowdelta.change import KeyInput


@pytest.mark.parametrize("partitioned_by", ["", "region"])
def test_few_keys_and_many_keys_give_the_same_batches(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, partitioned_by: str
) -> None:
    table = create(spark, table_name, "id bigint, region string", partitioned_by)
    rows = [(7, "a"), (-1, "a"), (7, "a"), (None, "a"), (64, None), (2**62, None), (65, "b"), (None, None)]
    frame = spark.createDataFrame(rows, "id bigint, region string")

    def found() -> dict[tuple[object, ...], tuple[list[int], bool, int]]:
        batches = collect_integer_batches(bind_keys(table._handle, frame, "id", "partition"))
        return {batch.partition: (batch.keys.tolist(), batch.has_null, batch.rows) for batch in batches}

    few = found()
    monkeypatch.setattr(importlib.import_module("rowdelta.change.key_batches"), "_FEW_BYTES", -1)
    assert found() == few
    assert few == (
        {("a",): ([-1, 7], True, 4), (None,): ([64, 2**62], True, 3), ("b",): ([65], False, 1)}
        if partitioned_by
        else {(): ([-1, 7, 64, 65, 2**62], True, 8)}
    )


CASES: dict[
    str, tuple[list[int | None], dict[str, str], int, str | None]
] = {  # keys, table properties, format version, and the encoding
    "sparse": ([1, 5, 5, 2**40], EDV, 3, "full-row"),
    "not enabled": ([1, 5, 5], {}, 3, "full-row"),
    "version 2": ([1, 5, 5], EDV, 2, "full-row"),
    "null": ([1, 5, None], EDV, 3, "full-row"),
    "dense": ([1, 5, 5], EDV, 3, "equality-delete-vector"),
    "none": ([], EDV, 3, None),
}


@pytest.mark.parametrize("partitioned_by", ["", "region"])
@pytest.mark.parametrize("case", CASES)
def test_many_keys_that_do_not_fit_a_vector_never_reach_the_driver(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, *, case: str, partitioned_by: str
) -> None:
    keys, properties, version, encoding = CASES[case]
    batches = importlib.import_module("rowdelta.change.key_batches")
    monkeypatch.setattr(batches, "_FEW_BYTES", -1)
    monkeypatch.setattr(batches, "_UNKNOWN_BYTES", 1 << 100)
    collected: list[list[IntegerBatch]] = []
    module = importlib.import_module("rowdelta.change.key_writer")

    def noted(given: KeyInput) -> list[IntegerBatch]:
        collected.append(collect_integer_batches(given))
        return collected[-1]

    monkeypatch.setattr(module, "collect_integer_batches", noted)
    columns = "id bigint, region string"
    table = create(spark, table_name, columns, partitioned_by, version=version, properties=properties)
    rows = [(i, "a") for i in [*range(10), None]]
    one_file(spark, rows, columns).writeTo(table_name).append()
    changes = spark.createDataFrame([(key, "a") for key in keys], columns)
    result = table.delete_keys(changes, "id", scope="partition").execute()
    assert result.encodings == ({encoding: 1} if encoding else {})
    assert result.keys == len(set(keys))
    assert bool(collected) == (encoding == "equality-delete-vector")
    assert_same_rows(table.read(), [row for row in rows if row[0] not in set(keys)])
