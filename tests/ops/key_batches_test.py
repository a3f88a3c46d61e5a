"""Keys are collected as they are or as words; both give the same batches."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest

from rowdelta.ops.key_batches import integer_batches
from rowdelta.ops.key_input import check_keys
from tests.support.tables import create

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("partitioned_by", ["", "region"])
def test_few_keys_and_many_keys_give_the_same_batches(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, partitioned_by: str
) -> None:
    table = create(spark, table_name, "id bigint, region string", partitioned_by)
    rows = [(7, "a"), (-1, "a"), (7, "a"), (None, "a"), (64, None), (2**62, None), (65, "b"), (None, None)]
    frame = spark.createDataFrame(rows, "id bigint, region string")

    def found() -> dict[tuple[object, ...], tuple[list[int], bool, int]]:
        batches = integer_batches(check_keys(table._handle, frame, "id", "auto"))
        return {batch.partition: (batch.keys.tolist(), batch.has_null, batch.rows) for batch in batches}

    few = found()
    monkeypatch.setattr(importlib.import_module("rowdelta.ops.key_batches"), "_FEW_BYTES", -1)
    assert found() == few
    assert few == (
        {("a",): ([-1, 7], True, 4), (None,): ([64, 2**62], True, 3), ("b",): ([65], False, 1)}
        if partitioned_by
        else {(): ([-1, 7, 64, 65, 2**62], True, 8)}
    )
