"""Changes without a row do nothing, whatever the state of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from rowdelta.spark import RELEASE
from tests.support.tables import EDV, create, head, stored_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    import rowdelta as rd

COLUMNS = "id bigint, p int, v string"
NOTHING = "there are no keys"


def empty(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], COLUMNS)


def lazily_empty(spark: SparkSession) -> DataFrame:
    """A frame that Spark knows to be empty only after it has run."""
    return spark.range(5).selectExpr("id", "cast(id AS int) p", "'x' v").where("id > rand() + 10")


def empty_arrow(spark: SparkSession) -> DataFrame:
    schema = pa.schema([("id", pa.int64()), ("p", pa.int32()), ("v", pa.string())])
    return spark.createDataFrame(schema.empty_table())


# Spark 3.5 makes no frame of an Arrow table.
FRAMES = [empty, lazily_empty, *([empty_arrow] if RELEASE.spark >= (4, 0) else [])]


@pytest.fixture(params=["p", "bucket(2, id), p"])
def table(request: pytest.FixtureRequest, spark: SparkSession, table_name: str) -> rd.Table:
    properties = {**EDV, "write.delete.hash-map.enabled": "true"}
    made = create(spark, table_name, COLUMNS, request.param, properties=properties)
    spark.sql("SELECT * FROM VALUES (1L, 1, 'a'), (2L, 2, 'b'), (3L, null, 'c') x(id, p, v)").writeTo(
        table_name
    ).append()
    return made.refresh()


@pytest.mark.parametrize("make", FRAMES)
def test_without_keys_there_is_nothing_to_delete_or_to_upsert(
    spark: SparkSession, table: rd.Table, make: Callable[[SparkSession], DataFrame]
) -> None:
    before = (head(table), stored_files(table), table.metadata.specs)
    encodings: tuple[rd.Encoding | None, ...] = (None, "full-row", "hash-map") if make is empty else (None,)
    for key, encoding in zip([["p", "id"], *["id"] * len(encodings)], [None, *encodings], strict=True):
        delete = table.delete_keys(make(spark), key, encoding=encoding)
        assert delete.plan().to_dict()["keys"] in {"0", "counted while they are written"}
        result = delete.execute()
        assert (result.snapshot_id, result.keys, result.reasons) == (None, 0, (NOTHING,)), (key, encoding)
        upsert = table.upsert(make(spark), key, encoding=encoding)
        assert upsert.plan().to_dict()["keys"] == "0, of which 0 are deleted"
        changed = upsert.execute()
        assert (changed.snapshot_id, changed.keys) == (None, 0), (key, encoding)
    assert (head(table), stored_files(table), table.refresh().metadata.specs) == before


def test_a_source_without_rows_changes_nothing_but_what_it_does_not_match(spark: SparkSession, table: rd.Table) -> None:
    before = (head(table), stored_files(table))
    for make in FRAMES:
        merge = table.merge(make(spark), ["id", "p"]).when_matched_update_all().when_not_matched_insert_all()
        assert "merge into" in str(merge.plan())
        assert merge.execute().snapshot_id is None
        deletes = table.merge(make(spark), "id").when_matched_delete("s.v = 'x'")
        assert deletes.execute().snapshot_id is None
        assert table.upsert(make(spark), "id", columns=["v"]).execute().snapshot_id is None
    assert table.delete("id > 5").execute().snapshot_id is None
    assert table.update().set("v", "'z'").where("id > 5").execute().snapshot_id is None
    assert (head(table), stored_files(table)) == before
    others = table.merge(lazily_empty(spark), "id").when_not_matched_by_source_delete("t.id = 2")
    assert others.execute().rows_deleted == 1


def test_verbs_of_an_empty_table_find_nothing(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, COLUMNS, "p", properties=EDV)
    source = spark.sql("SELECT 1L id, 1 p, 'a' v")
    assert table.delete("id = 1").execute().snapshot_id is None
    assert table.delete().execute().snapshot_id is None
    assert table.update().set("v", "'z'").execute().snapshot_id is None
    assert table.merge(source, "id").when_matched_delete().execute().snapshot_id is None
    assert table.merge(empty(spark), "id").when_not_matched_insert_all().execute().snapshot_id is None
    assert table.delete_keys(empty(spark), "id").execute().snapshot_id is None
    assert table.upsert(empty(spark), ["id", "p"]).execute().snapshot_id is None
    assert stored_files(table) == set()
    assert table.read().count() == 0
