"""The table's FileIO lists the orphans, so Hadoop needs no access to the storage."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.oracle import assert_same_ids
from tests.support.tables import EDV, append_ids, create, keys

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import rowdelta as rd

DAYS = 86_400


def make_old(folder: Path) -> None:
    moment = time.time() - 4 * DAYS
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (moment, moment))


def change(spark: SparkSession, name: str) -> rd.Table:
    """A table with every kind of file."""
    table = create(spark, name, "id bigint, v string", properties=EDV)
    append_ids(spark, name, range(10))
    table.delete_keys(keys(spark, 1), "id").execute()
    table.delete("id = 2").execute()
    return table


def check(spark: SparkSession, name: str, folder: Path) -> None:
    """Removes strays, but no file of this table or of one whose folder name has the same beginning.

    Args:
        spark: The session.
        name: The table.
        folder: Where its files are on this machine.
    """
    table, other = change(spark, name), change(spark, f"{name}2")
    stray = folder / "data" / "stray.parquet"
    beside = folder.parent / f"{folder.name}2" / "data" / "stray.parquet"
    for path in (stray, beside):
        path.write_bytes(b"x")
    make_old(folder.parent)
    assert [Path(path).name for path in table.remove_orphans().plan().orphan_files] == ["stray.parquet"]
    result = table.remove_orphans().execute()
    assert (result.files_removed, stray.exists(), beside.exists()) == (1, False, True)
    beside.unlink()
    assert other.remove_orphans().execute().files_removed == 0
    for one in (table, other):
        assert_same_ids(one.read(), [0, *range(3, 10)])


def test_orphans_are_found_where_sparks_hadoop_cannot_list(spark: SparkSession, tmp_path: Path) -> None:
    """Only the catalog knows the mount table of this file system."""
    prefix = "spark.sql.catalog.mounted"
    settings = {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.type": "hadoop",
        f"{prefix}.warehouse": "viewfs://mounted/place",
        f"{prefix}.hadoop.fs.viewfs.mounttable.mounted.link./place": tmp_path.as_uri(),
        f"{prefix}.hadoop.fs.viewfs.impl.disable.cache": "true",
    }
    session = spark.newSession()
    for key, value in settings.items():
        session.conf.set(key, value)
    session.sql("CREATE NAMESPACE mounted.db")
    check(session, "mounted.db.t", tmp_path / "db" / "t")
