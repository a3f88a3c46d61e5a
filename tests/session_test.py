from __future__ import annotations

import atexit
import subprocess
import sys
import textwrap
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from rowdelta.spark import Gateway, remove_at_exit_if_empty

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_a_second_session_gets_its_own_catalog(spark: SparkSession, tmp_path: Path) -> None:
    other = rd.session(tmp_path / "new" / "folder", catalog="side")
    other.sql("CREATE TABLE side.db.t (id bigint) USING iceberg")
    other.sql("INSERT INTO side.db.t VALUES (1)")
    assert rd.table(other, "side.db.t").metadata.location == str(tmp_path / "new" / "folder" / "db" / "t")
    assert spark.conf.get("spark.sql.catalog.side", None) is None


def test_a_table_is_looked_up_in_the_catalog_of_its_own_session(spark: SparkSession, tmp_path: Path) -> None:
    first, second = rd.session(tmp_path / "first"), rd.session(tmp_path / "second")
    first.sql("CREATE TABLE lake.db.t (id bigint) USING iceberg")
    first.createDataFrame([(1,)], "id bigint").writeTo("lake.db.t").append()
    with pytest.raises(rd.TableError, match=r"no table lake\.db\.t"):
        rd.table(second, "lake.db.t")
    assert rd.table(first, "lake.db.t").read().count() == 1


def test_a_setting_that_needs_a_new_spark_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(rd.SessionError, match=r"spark\.driver\.memory cannot be changed to '77g'"):
        rd.session(tmp_path, config={"spark.driver.memory": "77g"})


def test_a_setting_that_spark_does_not_know_is_taken_while_spark_runs(spark: SparkSession, tmp_path: Path) -> None:
    other = rd.session(
        tmp_path, config={"spark.sql.iceberg.vectorization.enabled": False, "rowdelta.scratch.path": "x"}
    )
    assert other.conf.get("spark.sql.iceberg.vectorization.enabled") == "false"
    assert other.conf.get("rowdelta.scratch.path") == "x"


def test_a_warehouse_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(rd.SessionError, match="cannot create the warehouse folder"):
        rd.session(tmp_path / "file" / "folder")


def test_a_catalog_name_must_be_plain(tmp_path: Path) -> None:
    with pytest.raises(rd.SessionError, match="'my lake' is not a plain identifier"):
        rd.session(tmp_path, catalog="my lake")


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("lake.db.known_tabel", "no table lake.db.known_tabel", "did you mean lake.db.known_table?"),
        ("lake.dbb.known_table", "no table lake.dbb.known_table", "did you mean lake.db?"),
        (
            "nope.db.t",
            "no table nope.db.t",
            "'nope' is not a catalog of this session, which has the catalogs lake (spark.sql.catalog.*)",
        ),
        ("nope.t", "no table nope.t", "names start with a catalog: lake.nope.t"),
        ("lake.no.such.t", "no table lake.no.such.t", "catalog 'lake' does not answer, or has no such namespace"),
        ("a b", "'a b' is not a table name", "quote a part with backticks: lake.db.`my table`"),
        ("lake.db.known_table.entries", "lake.db.known_table.entries is a metadata table", "name the table itself"),
    ],
)
def test_a_table_that_cannot_be_opened_is_explained(spark: SparkSession, name: str, message: str, hint: str) -> None:
    spark.sql("CREATE TABLE IF NOT EXISTS lake.db.known_table (id bigint) USING iceberg")
    with pytest.raises(rd.TableError) as error:
        rd.table(spark.newSession(), name)  # without the catalogs that other tests have added
    assert error.value.message.startswith(message)
    assert error.value.hint == hint


def test_a_table_that_is_not_iceberg_is_refused(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE IF NOT EXISTS spark_catalog.default.plain (a int) USING parquet")
    try:
        with pytest.raises(rd.TableError, match="plain is not an Iceberg table"):
            rd.table(spark, "spark_catalog.default.plain")
    finally:
        spark.sql("DROP TABLE spark_catalog.default.plain")


def test_spark_connect_is_refused() -> None:
    class Session:
        __module__ = "pyspark.sql.connect.session"

    with pytest.raises(rd.SessionError, match="Spark Connect"):
        rd.table(Session(), "lake.db.t")  # type: ignore[arg-type]


def test_an_iceberg_that_is_too_old_is_refused(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    class Build:
        @staticmethod
        def version() -> str:
            return "1.9.2"

    class Old(Gateway):
        def _check_iceberg(self) -> str:
            self.iceberg: Any = type("package", (), {"IcebergBuild": Build})
            return super()._check_iceberg()

    with pytest.raises(rd.SessionError, match=r"Iceberg 1\.9\.2 is too old: rowdelta needs 1\.1"):
        Old(spark)


def run_script(script: str, folder: Path) -> str:
    """Runs a script in another process, where no Spark runs yet, and returns its output."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True, cwd=folder
    ).stdout


def test_a_spark_without_iceberg_is_refused_until_it_is_stopped(tmp_path: Path) -> None:
    script = """
        from pyspark.sql import SparkSession
        import rowdelta as rd
        spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
        for attempt in (lambda: rd.table(spark, "lake.db.t"), lambda: rd.session("warehouse")):
            try:
                attempt()
            except rd.SessionError as error:
                print("refused:", error)
        spark.stop()
        spark = rd.session("warehouse", config={"spark.master": "local[1]", "spark.driver.memory": "1g"})
        spark.sql("CREATE TABLE lake.db.t (id bigint) USING iceberg")
        print(rd.table(spark, "lake.db.t").name, "opened")
    """
    output = run_script(script, tmp_path)
    assert "refused: this Spark session has no Iceberg on its class path\nHint: start Spark with" in output
    assert "refused: a Spark is already running without org.apache.iceberg" in output
    assert "lake.db.t opened" in output


def test_executors_get_the_jars_of_packages_and_those_that_the_caller_names(tmp_path: Path) -> None:
    jar = tmp_path / "empty.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
    script = f"""
        import rowdelta as rd
        config = {{"spark.master": "local[1]", "spark.driver.memory": "1g", "spark.jars": {str(jar)!r}}}
        print(rd.session("warehouse", config=config).sparkContext._jsc.sc().listJars().mkString(" "))
    """
    output = run_script(script, tmp_path)
    assert "empty.jar" in output
    assert "iceberg-spark-runtime" in output


def test_a_spark_that_does_not_start_says_why(tmp_path: Path) -> None:
    script = """
        import rowdelta as rd
        try:
            rd.session("warehouse", config={"spark.master": "nonsense"})
        except rd.SessionError as error:
            print(error)
    """
    output = run_script(script, tmp_path)
    assert "Spark did not start" in output
    assert "Master must either be" in output
    assert "\tat " not in output


def test_metadata_shows_schema_specs_snapshots_branches_and_tags(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id bigint NOT NULL, p struct<x: int, y: string>, d decimal(9, 2)) USING iceberg "
        "PARTITIONED BY (bucket(4, id)) TBLPROPERTIES ('format-version'='2', 'a'='b')"
    )
    table = rd.table(spark, table_name)
    assert table.metadata.current_snapshot_id is None
    spark.sql(f"INSERT INTO {table_name} VALUES (1, named_struct('x', 1, 'y', 'z'), 1.5)")
    spark.sql(f"ALTER TABLE {table_name} CREATE TAG first")
    spark.sql(f"ALTER TABLE {table_name} ADD PARTITION FIELD truncate(d, 10)")
    metadata = table.refresh().metadata
    assert metadata.schema.find("ID").required
    assert metadata.schema.find("p.y").type_name == "string"
    assert metadata.schema.find("d").type_name == "decimal(9, 2)"
    assert [part.transform for part in metadata.spec.fields] == ["bucket[4]", "truncate[10]"]
    assert set(metadata.specs) == {0, 1}
    assert metadata.properties["a"] == "b"
    snapshot = metadata.head("main")
    assert snapshot is not None
    assert (snapshot.operation, snapshot.sequence_number) == ("append", 1)
    assert metadata.tags["first"].snapshot_id == snapshot.id
    with pytest.raises(rd.InputError, match="no column 'nope'"):
        metadata.schema.find("nope")


def test_a_folder_that_stays_empty_is_removed_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark makes `spark-warehouse` in the current folder, whether anything goes there or not."""
    ends: list[Callable[[], None]] = []
    monkeypatch.setattr(atexit, "register", ends.append)
    (tmp_path / "old").mkdir()
    for name in ("old", "never", "empty", "used"):
        remove_at_exit_if_empty(tmp_path / name)
    (tmp_path / "empty").mkdir()
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").touch()
    for end in ends:
        end()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old", "used"]
