"""Scratch files of reads are removed once no reader can need them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from rowdelta.encoding import FileContent
from rowdelta.iceberg.scratch_files import ScratchFiles, in_use
from tests.support.oracle import assert_same_ids
from tests.support.tables import added_files, append_ids, create, delete_positions, keys, one_file

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SETTING = "spark.rowdelta.scratch.path"


def mixed(spark: SparkSession, name: str) -> rd.Table:
    """A table with one delete manifest that holds both keys and positions: its copy without keys is a scratch file."""
    table = create(spark, name, "id bigint, v string", version=2)
    append_ids(spark, name, range(6))
    (file,) = added_files(table)
    table.delete_keys(keys(spark, 1, 3), "id").execute()
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('commit.manifest.min-count-to-merge' = '2')")
    delete_positions(table, {file.path: [0]}, [file])
    append_ids(spark, name, [3])
    return table


def contents(table: rd.Table) -> list[set[FileContent]]:
    """The kinds of deletes in each delete manifest."""
    manifests = table._handle.manifests
    listed = manifests.read(table.refresh().metadata.head("main").manifest_list or "").records  # type: ignore[union-attr]
    return [{entry.content for entry in manifests.read_deletes(record)} for record in listed if record["content"]]


def test_the_copy_of_a_mixed_manifest_lives_as_long_as_frames_may_need_it(
    spark: SparkSession, table_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = mixed(spark, table_name)
    assert contents(table) == [{FileContent.EQUALITY, FileContent.POSITION}]
    at_exit = []
    monkeypatch.setattr("atexit.register", lambda function, *_, **__: at_exit.append(function))
    spark.conf.set(SETTING, str(tmp_path))
    try:
        frames = [table.read()]
        kept = set(tmp_path.glob("*.avro"))
        frames += [table.refresh().read(), table.read(where="id > 3")]
        assert kept == set(tmp_path.glob("*-m0.avro")) != set()  # the same for all of them, and no manifest list
        for frame, expected in zip(frames, ([2, 3, 4, 5], [2, 3, 4, 5], [4, 5]), strict=True):
            assert_same_ids(frame, expected)
    finally:
        spark.conf.unset(SETTING)
        for function in at_exit:
            function()
    assert [path for path in tmp_path.iterdir() if path.suffix != ".crc"] == []


def test_the_files_of_a_resolve_go_with_it_and_those_of_frames_stay(
    spark: SparkSession, table_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(spark, table_name, "id bigint, v string")
    rows = one_file(spark, [(i, "v") for i in range(40)], "id bigint, v string").repartitionByRange(4, "id")
    rows.sortWithinPartitions("id").writeTo(table_name).append()
    table.delete_keys(keys(spark, 1, 3), "id").execute()
    written: list[str] = []
    keep = ScratchFiles.write

    def noted(self: ScratchFiles, location: str, data: bytes, **how: bool) -> None:
        written.append(location)
        keep(self, location, data, **how)

    monkeypatch.setattr(ScratchFiles, "write", noted)
    spark.conf.set(SETTING, str(tmp_path))
    try:
        assert table.resolve(verify=True).execute().files_pruned == 3
        assert written  # a manifest with one of the four files
        assert [path for path in tmp_path.iterdir() if path.suffix != ".crc"] == []
        assert not in_use & set(written)
    finally:
        spark.conf.unset(SETTING)
    assert spark.table(table_name).count() == 38


def test_a_process_that_ends_leaves_no_scratch_file(tmp_path: Path) -> None:
    """Also where Spark was stopped before, and where the table's folder is all that the FileIO can reach."""
    script = f"""
import rowdelta as rd
from tests.read.scratch_files_test import SETTING, contents, mixed

spark = rd.session({str(tmp_path / "warehouse")!r}, config={{SETTING: {str(tmp_path / "scratch")!r}}})
spark.sql("CREATE NAMESPACE lake.db")
table = mixed(spark, "lake.db.t")
assert len(contents(table)[0]) == 2
assert sorted(row.id for row in table.read().collect()) == [2, 3, 4, 5]
assert len(list(__import__("pathlib").Path({str(tmp_path / "scratch")!r}).glob("*-m0.avro"))) > 0
spark.stop()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    left = [path.name for path in (tmp_path / "scratch").iterdir()]
    assert [name for name in left if not name.startswith(".")] == []


def test_each_handle_has_scratch_files_of_its_own(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    """Another process that reads the same table ends, and with it go its files; those of this one stay."""
    mixed(spark, table_name)
    spark.conf.set(SETTING, str(tmp_path))
    try:
        one, other = rd.table(spark, table_name), rd.table(spark, table_name)
        frames = [one.read(), other.read()]
        one._handle.scratch.remove()
        assert_same_ids(frames[1], [2, 3, 4, 5])
        other._handle.scratch.remove()
        spark.conf.set(SETTING, str(tmp_path / "a file"))
        (tmp_path / "a file").touch()
        with pytest.raises(rd.TableError, match=r"cannot write .*-m0\.avro"):
            rd.table(spark, table_name).read()
    finally:
        spark.conf.unset(SETTING)
