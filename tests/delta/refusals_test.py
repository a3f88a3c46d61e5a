from __future__ import annotations

import importlib
import json
import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from tests.support.delta_tables import log_actions
from tests.support.tables import live_vectors, set_properties, stored_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def delta(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Delta table of two versions with data, the second with a deletion vector in a file."""
    path = tmp_path_factory.mktemp("delta") / "orders"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id bigint) USING delta TBLPROPERTIES ('delta.enableDeletionVectors'='true')"
    )
    spark.range(0, 20, 1, 1).write.format("delta").mode("append").save(str(path))
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 3")
    return path


def _copy(spark: SparkSession, delta: Path, folder: Path, change: Callable[[str], str] = str) -> Path:
    """A copy of the table with its log rewritten, without Delta's checksums of versions."""
    target = folder / "copy"
    for file in delta.rglob("*"):
        if file.is_file() and not file.name.endswith(".crc"):
            place = target / file.relative_to(delta)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.read_bytes())
    for log in (target / "_delta_log").glob("*.json"):
        log.write_text(change(log.read_text()))
    return target


def _refused(spark: SparkSession, source: Path, name: str, match: str, **options: Any) -> None:
    """Expects that the conversion fails with this message and leaves no table and no file."""
    operation = rd.from_delta(spark, source, name, **options)
    with pytest.raises(rd.RowDeltaError, match=match):
        operation.execute()
    assert not spark.catalog.tableExists(name)
    folder = Path(str(spark.conf.get("spark.sql.catalog.lake.warehouse"))) / name.removeprefix("lake.").replace(
        ".", "/"
    )
    assert not [file for file in folder.rglob("*") if file.is_file()]


def test_damaged_vectors_are_refused_and_nothing_stays(
    spark: SparkSession, table_name: str, delta: Path, tmp_path: Path
) -> None:
    def with_cardinality(text: str) -> str:
        return text.replace('"cardinality":1', '"cardinality":2')

    def too_many(text: str) -> str:
        return text.replace('"cardinality":1', '"cardinality":2000')

    _refused(spark, _copy(spark, delta, tmp_path / "a", with_cardinality), table_name, "has 1 rows but the log says 2")
    _refused(spark, _copy(spark, delta, tmp_path / "b", too_many), table_name, "deletes 2000 rows of .* which has 20")
    damaged = _copy(spark, delta, tmp_path / "c")
    (vector,) = damaged.glob("deletion_vector_*.bin")
    content = bytearray(vector.read_bytes())
    content[-1] ^= 1
    vector.write_bytes(content)
    _refused(spark, damaged, table_name, "checksum")
    content[5:9] = struct.pack("<I", 1681511376)
    content[-4:] = struct.pack(">I", zlib.crc32(content[5:-4]))
    vector.write_bytes(content)
    _refused(spark, damaged, table_name, "native")
    vector.unlink()
    _refused(spark, damaged, table_name, "cannot read .*deletion_vector_")


def test_tables_that_iceberg_cannot_say_are_refused(
    spark: SparkSession, table_name: str, delta: Path, tmp_path: Path
) -> None:
    shape = tmp_path / "variant"
    spark.sql(f"CREATE TABLE delta.`{shape}` (id bigint, v variant) USING delta")
    _refused(spark, shape, table_name, "reader features that cannot be mirrored: variantType")
    _refused(spark, tmp_path / "nothing", table_name, "no Delta table at")
    mapped = tmp_path / "mapped"
    spark.sql(
        f"CREATE TABLE delta.`{mapped}` (id bigint, l array<string>) USING delta "
        "TBLPROPERTIES ('delta.columnMapping.mode'='name')"
    )
    _refused(spark, mapped, table_name, r"l\.element has no field id in the files")
    with pytest.raises(rd.TableError, match=r"no Delta table lake\.db\.nothing"):
        rd.from_delta(spark, "lake.db.nothing", table_name).execute()
    with pytest.raises(rd.InputError, match=r"no table .* to bring up to date"):
        rd.from_delta(spark, delta, table_name, mode="incremental").execute()
    with pytest.raises(rd.InputError, match="unknown mode 'some'"):
        rd.from_delta(spark, delta, table_name, mode="some")  # type: ignore[arg-type]
    with pytest.raises(rd.InputError, match="unknown stats 'guess'"):
        rd.from_delta(spark, delta, table_name, stats="guess")  # type: ignore[arg-type]
    with pytest.raises(rd.InputError, match="unknown snapshots 'few'"):
        rd.from_delta(spark, delta, table_name, snapshots="few")  # type: ignore[arg-type]
    with pytest.raises(rd.InputError, match="format_version is 1"):
        rd.from_delta(spark, delta, table_name, format_version=1)


def test_files_can_be_verified_before_they_are_added(
    spark: SparkSession, table_name: str, delta: Path, tmp_path: Path
) -> None:
    missing = _copy(spark, delta, tmp_path / "a")
    (data,) = missing.glob("part-*.parquet")
    content = data.read_bytes()
    data.unlink()
    _refused(spark, missing, table_name, "cannot read .*part-", verify_files=True)
    data.write_bytes(content[:-10])
    _refused(spark, missing, table_name, "bytes, and the log says", verify_files=True)
    rows = _copy(spark, delta, tmp_path / "b", lambda text: text.replace('numRecords\\":20', 'numRecords\\":21'))
    _refused(spark, rows, table_name, "has 20 rows, and the Delta log says 21", verify_files=True)


def test_files_with_the_ids_of_another_schema_are_refused(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    """Without column mapping, Iceberg would find columns by these ids and confuse them."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    path = tmp_path / "orders"
    spark.sql(f"CREATE TABLE delta.`{path}` (a bigint, b bigint) USING delta")
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (1, 2)")
    (file,) = path.glob("part-*.parquet")
    ids = [{"PARQUET:field_id": "2"}, {"PARQUET:field_id": "1"}]
    fields = [pa.field(name, pa.int64(), metadata=some) for name, some in zip("ab", ids, strict=True)]
    pq.write_table(pa.table([[1], [2]], schema=pa.schema(fields)), file)
    for checksum in path.rglob(".*.crc"):
        checksum.unlink()
    log = path / "_delta_log" / f"{1:020}.json"
    (add,) = log_actions(str(path), 1, "add")
    log.write_text(log.read_text().replace(f'"size":{add["size"]}', f'"size":{file.stat().st_size}'))
    _refused(spark, path, table_name, "field ids that are not those of the Delta table: {'a': 2, 'b': 1}")


def test_a_target_that_is_not_a_mirror_of_this_table_is_left_alone(
    spark: SparkSession, table_name: str, delta: Path, tmp_path: Path
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id bigint) USING iceberg")
    with pytest.raises(rd.TableError, match="was not made from a Delta table"):
        rd.from_delta(spark, delta, table_name).execute()
    spark.sql(f"DROP TABLE {table_name}")
    rd.from_delta(spark, delta, table_name).execute()
    other = _copy(spark, delta, tmp_path)
    with pytest.raises(rd.TableError, match=r"was made from the Delta table at .*orders, not from .*copy"):
        rd.from_delta(spark, other, table_name).execute()
    with pytest.raises(rd.InputError, match="has format version 3, not 2"):
        rd.from_delta(spark, delta, table_name, format_version=2).execute()


def test_the_two_tables_cannot_share_a_folder(spark: SparkSession, warehouse: Path) -> None:
    """VACUUM deletes files that Delta does not know, and this catalog deletes the folder of a dropped table."""
    path = warehouse / "db" / "shared"
    spark.range(5).write.format("delta").save(str(path))
    before = {file for file in path.rglob("*") if file.is_file()}
    with pytest.raises(rd.InputError, match="VACUUM of one would delete files of the other"):
        rd.from_delta(spark, path, "lake.db.shared").execute()
    assert {file for file in path.rglob("*") if file.is_file()} == before


def test_two_conversions_at_once_do_not_add_a_commit_twice(
    spark: SparkSession, table_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "orders"
    spark.range(0, 10, 1, 1).write.format("delta").save(str(path))
    rd.from_delta(spark, path, table_name).execute()
    spark.range(10, 20, 1, 1).write.format("delta").mode("append").save(str(path))
    attempt = importlib.import_module("rowdelta.iceberg.commit_attempt").CommitAttempt
    run = attempt._run
    once: list[int] = []

    def late(self: Any, wait: Callable[[], None]) -> None:
        if not once:
            once.append(1)
            rd.from_delta(spark, path, table_name).execute()
        run(self, wait)

    monkeypatch.setattr(attempt, "_run", late)
    with pytest.raises(rd.CommitConflictError, match="was changed meanwhile"):
        rd.from_delta(spark, path, table_name).execute()
    assert spark.table(table_name).count() == 20
    assert rd.from_delta(spark, path, table_name).execute().mode == "none"


def test_a_commit_that_fails_leaves_no_delete_files(
    spark: SparkSession, table_name: str, tmp_path: Path, delta: Path
) -> None:
    copy = _copy(spark, delta, tmp_path)
    rd.from_delta(spark, copy, table_name, version=1).execute()
    table = rd.table(spark, table_name)
    before = stored_files(table)
    # Delta removes a file that the table does not have.
    log = copy / "_delta_log" / f"{2:020}.json"
    stranger = {"remove": {"path": "stranger.parquet", "dataChange": True, "deletionTimestamp": 1}}
    log.write_text(log.read_text() + json.dumps(stranger) + "\n")
    with pytest.raises(rd.TableError, match=r"Delta removed 1 files, and .* holds 0 of them\n.*mode='full'"):
        rd.from_delta(spark, copy, table_name, mode="incremental").execute()
    assert stored_files(table.refresh()) == before
    assert spark.table(table_name).count() == 20


def _log(table: Path, version: int, *actions: dict[str, Any]) -> None:
    """Writes a commit as a writer that breaks the rules."""
    lines = "\n".join(map(json.dumps, actions))
    (table / "_delta_log" / f"{version:020}.json").write_text(lines)


def test_a_file_that_delta_lists_twice_is_refused(
    spark: SparkSession, table_name: str, delta: Path, tmp_path: Path
) -> None:
    """With two vectors it counts as two files in Delta, and rows appear twice. Iceberg cannot express that."""
    ((first,), (second,)) = (log_actions(str(delta), version, "add") for version in (1, 2))
    compacted = _copy(spark, delta, tmp_path / "compacted")
    both = "\n".join(json.dumps({"add": add}) for add in (first, second))
    (compacted / "_delta_log" / f"{1:020}.{2:020}.compacted.json").write_text(both)
    assert spark.read.format("delta").load(str(compacted)).count() == 39, "20 rows, and 19 of them again"
    _refused(spark, compacted, table_name, "version 2 of the Delta table lists part-.* more than once.*\nHint: RESTORE")

    for number, again in enumerate(([{**first, "dataChange": False}], [first])):
        source = _copy(spark, delta, tmp_path / str(number))
        name = f"{table_name}_{number}"
        rd.from_delta(spark, source, name).execute()
        _log(source, 3, *({"add": add} for add in again))
        with pytest.raises(rd.TableError, match=r"as a file with 0 deleted rows, and .* has it with 1\n.*mode='full'"):
            rd.from_delta(spark, source, name, mode="incremental").execute()
        assert spark.table(name).count() == 19
        with pytest.raises(rd.FormatError, match="more than once"):
            rd.from_delta(spark, source, name, mode="full").execute()
        assert spark.table(name).count() == 19
        spark.sql(f"DROP TABLE {name}")


def test_a_file_that_is_added_again_as_it_is_stays_one_file(
    spark: SparkSession, table_name: str, delta: Path, tmp_path: Path
) -> None:
    source = _copy(spark, delta, tmp_path)
    rd.from_delta(spark, source, table_name).execute()
    (add,) = log_actions(str(source), 2, "add")
    _log(source, 3, {"add": add})
    result = rd.from_delta(spark, source, table_name, mode="incremental", verify=True).execute()
    assert (result.data_files_added, result.verified_rows) == (0, 19)


def _again_and(spark: SparkSession, source: Path, name: str, *versions: list[dict[str, Any]]) -> Any:
    """Converts a table, then a range of versions that adds its file again before another change of it."""
    rd.from_delta(spark, source, name, version=1).execute()
    for number, actions in enumerate(versions, 2):
        _log(source, number, *actions)
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]
    return rd.from_delta(spark, source, name, mode="incremental", snapshots="range", verify=True).execute()


def test_a_file_that_is_added_again_is_still_changed_and_removed_in_a_range(
    spark: SparkSession, table_name: str, delta: Path, tmp_path: Path
) -> None:
    (first,), (second,) = (log_actions(str(delta), version, "add") for version in (1, 2))
    (remove,) = log_actions(str(delta), 2, "remove")
    stranger = {**first, "path": "came-and-went.parquet"}
    gone = {"remove": {**remove, "path": stranger["path"]}}
    changed = _again_and(
        spark,
        _copy(spark, delta, tmp_path / "changed"),
        table_name,
        [{"add": first}, {"add": stranger}],
        [{"remove": remove}, {"add": second}, gone],
    )
    assert (changed.data_files_added, changed.data_files_removed, changed.verified_rows) == (0, 0, 19)
    removed = _again_and(
        spark, _copy(spark, delta, tmp_path / "removed"), f"{table_name}_2", [{"add": first}], [{"remove": remove}]
    )
    spark.sql(f"DROP TABLE {table_name}_2")
    assert (removed.data_files_added, removed.data_files_removed, removed.verified_rows) == (0, 1, 0)


def test_the_files_of_many_commits_are_looked_up_once(
    spark: SparkSession, table_name: str, delta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = _copy(spark, delta, tmp_path)
    rd.from_delta(spark, source, table_name).execute()
    (add,) = log_actions(str(source), 2, "add")
    spark.range(20, 30, 1, 1).write.format("delta").mode("append").save(str(source))
    ((new,), number) = (log_actions(str(source), 3, "add"), 4)
    for again in (new, add, new):
        _log(source, number, {"add": again})
        number += 1
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]
    spark.sql(f"DELETE FROM delta.`{source}` WHERE id = 25")
    existing_files = importlib.import_module("rowdelta.delta.existing_files")
    real, asked = existing_files.find_live_paths, []

    def counted(handle: Any, paths: Any) -> Any:
        asked.append(len(paths))
        return real(handle, paths)

    monkeypatch.setattr(existing_files, "find_live_paths", counted)
    result = rd.from_delta(spark, source, table_name, mode="incremental", verify=True).execute()
    assert (result.data_files_added, result.data_files_removed, result.verified_rows) == (1, 0, 28)
    assert asked == [2]


def test_removing_a_file_that_had_another_vector_is_refused(
    spark: SparkSession, table_name: str, delta: Path, tmp_path: Path
) -> None:
    """In Delta this removes nothing: the file with its vector stays."""
    source = _copy(spark, delta, tmp_path)
    rd.from_delta(spark, source, table_name).execute()
    (remove,) = log_actions(str(source), 2, "remove")
    _log(source, 3, {"remove": remove})
    with pytest.raises(rd.TableError, match=r"as a file with 0 deleted rows, and .* has it with 1\n.*mode='full'"):
        rd.from_delta(spark, source, table_name).execute()
    result = rd.from_delta(spark, source, table_name, mode="full", verify=True).execute()
    assert (result.mode, result.verified_rows) == ("full", 19)


def test_a_difference_after_a_conversion_is_an_error_of_verification(
    spark: SparkSession, table_name: str, delta: Path
) -> None:
    rd.from_delta(spark, delta, table_name).execute()
    check = importlib.import_module("rowdelta.delta.verify").check_same_rows
    handle = rd.table(spark, table_name)._handle
    shown = r"committed, .* differ in 1 rows: only in Delta: \{\"id\":3\}\n.*mode='full'"
    with pytest.raises(rd.VerificationError, match=shown):
        check(handle, str(delta), 1, "incremental")
    with pytest.raises(rd.VerificationError) as caught:
        check(handle, str(delta), 1, "full")
    assert "mode=" not in str(caught.value), "that is what has just been done"


def test_a_log_without_a_schema_is_refused(spark: SparkSession, table_name: str, delta: Path, tmp_path: Path) -> None:
    source = tmp_path / "bare"
    (source / "_delta_log").mkdir(parents=True)
    (protocol,), (metadata,) = (log_actions(str(delta), 0, kind) for kind in ("protocol", "metaData"))
    del metadata["schemaString"]
    _log(source, 0, {"protocol": protocol}, {"metaData": metadata})
    _refused(spark, source, table_name, "the Delta table has no columns")
    setting = "spark.databricks.delta.stateReconstructionValidation.enabled"
    spark.conf.set(setting, "false")
    try:
        for number, actions in enumerate(([], [{"protocol": protocol}], [{"metaData": metadata}])):
            _log(source, 0, {"commitInfo": {"operation": f"nothing {number}"}}, *actions)
            spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]
            _refused(spark, source, table_name, "the Delta (table has no columns|log has no protocol|log of)")
    finally:
        spark.conf.unset(setting)


def test_the_error_for_files_on_other_storage_says_what_the_catalog_lacks(
    spark: SparkSession, table_name: str, delta: Path
) -> None:
    """A FileIO for one storage cannot read data files that stay on another."""
    catalog = f"mem_{table_name.rpartition('_')[2]}"
    for name, value in {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".catalog-impl": "org.apache.iceberg.inmemory.InMemoryCatalog",
        ".warehouse": "mem://warehouse",
    }.items():
        spark.conf.set(f"spark.sql.catalog.{catalog}{name}", value)
    spark.sql(f"CREATE NAMESPACE {catalog}.db")
    for stats in ("log", "footer"):
        with pytest.raises(rd.TableError) as caught:
            rd.from_delta(spark, delta, f"{catalog}.db.orders", stats=stats).execute()
        assert "cannot read the files of the Delta table where they are" in str(caught.value)
        assert "its FileIO is org.apache.iceberg.inmemory.InMemoryFileIO" in str(caught.value)
        assert "ResolvingFileIO" in str(caught.value)
        assert not spark.catalog.tableExists(f"{catalog}.db.orders")
    with pytest.raises(rd.TableError, match=r"custom location .*\nHint: .*omit location"):
        rd.from_delta(spark, delta, table_name, location="s3://elsewhere/orders").execute()
    with pytest.raises(rd.TableError, match=r'No FileSystem for scheme "s3"\nHint: Delta Lake reads through Hadoop'):
        rd.from_delta(spark, "s3://elsewhere/orders", table_name).execute()


def test_partition_values_beyond_the_years_of_python_are_kept(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    path = tmp_path / "orders"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id bigint, day date, at timestamp, local timestamp_ntz) USING delta "
        "PARTITIONED BY (day, at, local) TBLPROPERTIES ('delta.enableDeletionVectors'='true')"
    )
    rows = ", ".join(
        f"({number}, date'{day}', timestamp'{at} 01:02:03.5', timestamp_ntz'{local} 23:59:59.25')"
        for number, (day, at, local) in enumerate(
            [
                ("+12000-02-29", "+12000-02-29", "+294000-01-01"),
                ("-0044-03-15", "2024-01-01", "-0044-03-15"),
                ("0000-01-01", "9999-12-31", "0000-01-01"),
            ]
        )
    )
    spark.sql(f"INSERT INTO delta.`{path}` SELECT /*+ COALESCE(1) */ * FROM VALUES {rows}, {rows}")
    result = rd.from_delta(spark, path, table_name, verify=True).execute()
    assert (result.data_files_added, result.verified_rows) == (3, 6)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE day = date'-0044-03-15'")
    result = rd.from_delta(spark, path, table_name, verify=True).execute()
    assert (result.mode, result.data_files_removed, result.verified_rows) == ("incremental", 1, 4)
    found = spark.table(table_name).where("day = date'+12000-02-29' AND local > timestamp_ntz'+12000-01-01 00:00:00'")
    assert found.count() == 2


def test_a_table_is_converted_whole_where_another_writer_dropped_the_offsets_of_vectors(
    spark: SparkSession, table_name: str, delta: Path
) -> None:
    rd.from_delta(spark, delta, table_name).execute()
    set_properties(spark, table_name, write_delete_equality__vector_enabled="true")
    table = rd.table(spark, table_name)
    for key in (5, 6):
        table.delete_keys(spark.range(key, key + 1), "id").execute()
    set_properties(spark, table_name, commit_manifest_min__count__to__merge="2")
    spark.range(50, 51).writeTo(table_name).append()
    assert [entry.content_offset for entry in live_vectors(table)] == [None, None]
    assert rd.from_delta(spark, delta, table_name, mode="full", verify=True).execute().verified_rows == 19
    assert not live_vectors(table.refresh())
