"""Iceberg merges manifests and drops the places of the vectors' blobs. `resolve` removes these vectors all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.oracle import assert_same_rows
from tests.support.tables import EDV, create, keys, live_vectors, one_file, set_properties

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rowdelta.change import Operation


@pytest.mark.parametrize("action", ["resolve", "rewrite", "compact"])
def test_vectors_in_a_manifest_that_iceberg_merged_are_removed(
    spark: SparkSession, table_name: str, action: str
) -> None:
    table = create(spark, table_name, "id bigint, region string", "region", properties=EDV)
    some = [(i, region) for i in range(10) for region in ("AP", "EU", "US")]
    one_file(spark, some, "id bigint, region string").writeTo(table_name).append()
    for key in (1, 2, 3):
        table.delete_keys(keys(spark, key), "id", scope="global").execute()
    set_properties(spark, table_name, commit_manifest_min__count__to__merge="2")
    spark.sql(f"DELETE FROM {table_name} WHERE region = 'AP'")
    assert [entry.content_offset for entry in live_vectors(table)] == [None] * 3
    expected = sorted(((i, r) for i, r in some if i not in {1, 2, 3} and r != "AP"), key=repr)
    assert_same_rows(table.read(), expected)
    operations: dict[str, Operation[Any]] = {
        "resolve": table.resolve(),
        "rewrite": table.rewrite_deletes("full-row"),
        "compact": table.compact(options={"rewrite-all": "true"}),
    }
    assert operations[action].execute().snapshot_id is not None
    assert_same_rows(spark.table(table_name), expected)
    assert table.delete_files().where("format = 'puffin' AND content = 'equality'").isEmpty()
