"""Tables whose properties Iceberg no longer accepts: they can be read, and written after a correction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from tests.support.oracle import assert_same_rows, rows
from tests.support.tables import EDV, append_ids, create, head, keys, stored_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

OLD = {
    "write.object-storage.path": {"write.object-storage.enabled": "true"},
    "write.folder-storage.path": {},
}


@pytest.mark.parametrize("name", OLD)
def test_an_old_path_is_read_and_refused_for_writing_with_the_remedy(
    spark: SparkSession, table_name: str, tmp_path: Path, name: str
) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(10))
    table.delete_keys(keys(spark, 1), "id").execute()
    table.delete("id = 2").execute()
    place = str(tmp_path / "it's here")
    settings = {**OLD[name], name: place}
    listed = ", ".join(f"""'{key}'="{value}\"""" for key, value in settings.items())
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ({listed})")
    table = rd.table(spark, table_name)
    expected = [(0, "v"), *((i, "v") for i in range(3, 10))]
    before = stored_files(table), head(table)
    assert_same_rows(table.read(), expected)
    assert table.debt().delete_files == 2
    changes = spark.createDataFrame([(3, "new", 1)], "id bigint, v string, extra int")
    verbs: dict[str, Callable[[], Any]] = {
        "delete": lambda: table.delete("id = 3").execute(),
        "whole files": lambda: table.delete().execute(),
        "plan": lambda: table.delete("id = 3").plan(),
        "update": lambda: table.update().set("v", "'w'").execute(),
        "merge": lambda: table.merge(changes, "id").when_matched_delete().execute(),
        "upsert": lambda: table.upsert(changes, "id", merge_schema=True).execute(),
        "delete by key": lambda: table.delete_keys(keys(spark, 3), "id", scope="global").execute(),
        "resolve": lambda: table.resolve().execute(),
        "rewrite": lambda: table.rewrite_deletes("full-row").execute(),
        "compact": lambda: table.compact().execute(),
    }
    for verb, run in verbs.items():
        with pytest.raises(rd.TableError, match=f"cannot write to .*'{name}' has been deprecated") as refused:
            run()
        assert (stored_files(table), head(table)) == before, verb
    assert [field.name for field in table.refresh().metadata.schema.fields] == ["id", "v"]
    for statement in str(refused.value.hint).split("; "):
        spark.sql(statement)
    assert table.refresh().metadata.properties["write.data.path"] == place
    assert table.upsert(changes.drop("extra"), "id").execute().data_files_added == 1
    assert rows(table.read()) == [*((i, "new" if i == 3 else v) for i, v in expected)]
    assert any((tmp_path / "it's here").rglob("*.parquet"))


def test_an_old_path_that_is_not_used_does_not_matter(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    properties = {"write.object-storage.path": str(tmp_path)}
    table = create(spark, table_name, "id bigint, v string", properties=properties)
    append_ids(spark, table_name, range(3))
    assert table.delete("id = 1").execute().rows_deleted == 1


def test_a_missing_location_provider_affects_only_writers(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string")
    append_ids(spark, table_name, range(3))
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('write.location-provider.impl'='com.example.Missing')")
    table = rd.table(spark, table_name)
    assert table.read().count() == 3
    with pytest.raises(rd.TableError, match=r"cannot write to .*com\.example\.Missing") as refused:
        table.delete("id = 1").execute()
    assert "write.location-provider.impl" in str(refused.value.hint)
