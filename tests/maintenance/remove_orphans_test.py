from __future__ import annotations

import datetime as dt
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from tests.support.oracle import assert_same_ids
from tests.support.tables import append_ids, create, keys, set_properties, stored_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rowdelta.maintenance.progress import Progress


def make_old(folder: Path, days: float) -> None:
    moment = time.time() - days * 86_400
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (moment, moment))


@pytest.mark.strays("a young one stays")
def test_orphans_are_listed_then_removed_and_live_vectors_stay(spark: SparkSession, table_name: str) -> None:
    properties = {"write.delete.equality-vector.enabled": "true", "write.delete.hash-map.enabled": "true"}
    table = create(spark, table_name, "id bigint, v string", properties=properties)
    append_ids(spark, table_name, range(100))
    table.delete_keys(keys(spark, 1, 2), key="id").execute()
    table.delete_keys(spark.createDataFrame([("w",)], "v string"), key="v").execute()
    table.delete("id = 7").execute()
    folder = Path(table.metadata.location)
    stray = [folder / "data" / "stray.puffin", folder / "metadata" / "rowdelta-of-a-killed-process-m0.avro"]
    for path in stray:
        path.write_bytes(b"x")
    make_old(folder, 4)
    young = folder / "data" / "young.parquet"
    young.write_bytes(b"x")
    before = stored_files(table)
    plan = table.remove_orphans().plan()
    assert len(plan.orphan_files) == 2
    assert "orphan files  2" in str(plan)
    assert stored_files(table) == before
    assert table.remove_orphans(dt.timedelta(days=5)).execute().files_removed == 0
    result = table.remove_orphans("2000-01-01").execute()
    assert (result.orphan_files, stored_files(table)) == ((), before)
    seen: list[Progress] = []
    result = table.remove_orphans(progress=seen.append).execute()
    assert (result.files_removed, result.orphan_files) == (2, plan.orphan_files)
    assert [(now.groups_done, now.files_done, now.files) for now in seen] == [(1, 2, 2)]
    assert before - stored_files(table) == {str(path.relative_to(folder)) for path in stray}
    assert_same_ids(table.read(), set(range(100)) - {1, 2, 7})


def test_scratch_files_that_this_process_needs_are_not_orphans(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string")
    append_ids(spark, table_name, range(10))
    folder = Path(table.metadata.location)
    needed = folder / "metadata" / "rowdelta-needed-m0.avro"
    table._handle.scratch.write(str(needed), b"x")
    try:
        make_old(folder, 10)
        other = rd.table(spark, table_name)
        assert other.remove_orphans().execute().files_removed == 0
        assert needed.exists()
    finally:
        table._handle.scratch.remove()
    needed.write_bytes(b"x")
    make_old(folder, 10)
    assert table.remove_orphans().execute().files_removed == 1


def test_a_short_time_and_shared_files_are_refused(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string")
    with pytest.raises(rd.InputError, match="less than 24 hours ago"):
        table.remove_orphans(dt.timedelta(hours=23))
    set_properties(spark, table_name, gc_enabled="false")
    with pytest.raises(rd.TableError, match=r"gc\.enabled is 'false'"):
        table.remove_orphans().execute()
    set_properties(spark, table_name, gc_enabled="true")  # or it could not be dropped
