from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from py4j.protocol import Py4JError
from pyroaring import BitMap64
from pyspark.errors import AnalysisException, PySparkException
from typer.testing import CliRunner

import rowdelta as rd
from rowdelta.cli.app import app
from rowdelta.cli.input_files import read_rows
from rowdelta.codec import (
    Blob,
    EqualityDeleteVector,
    PuffinWriter,
    encode_deletion_vector,
    encode_equality_vector_file,
    get_codec,
)
from rowdelta.spark import RELEASE
from tests.support.tables import create

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

runner = CliRunner()


def command(*arguments: str) -> str:
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_version_names_rowdelta_and_its_peers() -> None:
    assert json.loads(command("version", "--json"))["rowdelta"] == rd.__version__
    assert f"rowdelta {rd.__version__}" in command("version")


@pytest.mark.parametrize(
    "words", [(), ("puffin",), ("delete-files",), ("version",), ("demo",), ("read",), ("delete-keys",)]
)
def test_help_of_every_command_has_an_example(words: tuple[str, ...]) -> None:
    assert "Example" in command(*words, "--help")


def test_puffin_shows_a_deletion_vector_with_its_range_and_histogram(tmp_path: Path) -> None:
    writer = PuffinWriter(created_by="test")
    vector = encode_deletion_vector(BitMap64(range(100, 200)))
    writer.add(Blob("deletion-vector-v1", vector, properties={"referenced-data-file": "f", "cardinality": "100"}))
    writer.add(Blob("something-else", b"abc"))
    path = tmp_path / "dv.puffin"
    path.write_bytes(writer.finish())
    first, second = json.loads(command("puffin", str(path), "--json"))["blobs"]
    assert (first["cardinality"], first["min"], first["max"], sum(first["histogram"])) == (100, 100, 199, 100)
    assert "cardinality" not in second
    text = command("puffin", str(path))
    assert "holds 100 values from 100 to 199" in text
    assert "referenced-data-file = f" in text


def test_puffin_shows_the_keys_of_an_equality_vector_not_their_codes(tmp_path: Path) -> None:
    keys = get_codec("int").encode(np.array([-5, 0, 7]))
    path = tmp_path / "edv.puffin"
    path.write_bytes(encode_equality_vector_file(EqualityDeleteVector(1, BitMap64(keys.tolist()), codec="int")))
    (blob,) = json.loads(command("puffin", str(path), "--json"))["blobs"]
    assert (blob["min"], blob["max"]) == (-5, 7)


def test_a_broken_puffin_file_is_one_message_and_exit_code_1(tmp_path: Path) -> None:
    path = tmp_path / "broken.puffin"
    path.write_bytes(b"PFA1 this is not a Puffin file at all")
    done = subprocess.run(
        [sys.executable, "-m", "rowdelta", "puffin", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr


def test_wrong_usage_is_exit_code_2() -> None:
    assert runner.invoke(app, ["puffin", "no-such-file.puffin"]).exit_code == 2
    assert runner.invoke(app, ["delete-files", "db.t"]).exit_code == 2


def test_delete_files_lists_a_table_of_a_warehouse(spark: SparkSession, warehouse: Path, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id bigint) USING iceberg TBLPROPERTIES "
        "('format-version'='3', 'write.delete.mode'='merge-on-read')"
    )
    spark.range(0, 10, 1, 1).writeTo(table_name).append()
    short = table_name.removeprefix("lake.")
    assert "no delete files" in command("delete-files", short, "--warehouse", str(warehouse))
    spark.sql(f"DELETE FROM {table_name} WHERE id = 3")
    (row,) = json.loads(command("delete-files", short, "--warehouse", str(warehouse), "--json"))
    assert (row["content"], row["encoding"], row["records"]) == ("position", "deletion-vector", 1)
    text = command("delete-files", table_name, "--warehouse", str(warehouse))
    assert row["path"] in text
    result = runner.invoke(app, ["delete-files", "db.missing", "--warehouse", str(warehouse)])
    assert isinstance(result.exception, rd.TableError)


def test_puffin_shows_a_vector_of_billions_of_values(tmp_path: Path) -> None:
    bitmap = BitMap64()
    bitmap.add_range(7, 3_000_000_007)
    writer = PuffinWriter()
    writer.add(Blob("deletion-vector-v1", encode_deletion_vector(bitmap), properties={"cardinality": "3000000000"}))
    path = tmp_path / "large.puffin"
    path.write_bytes(writer.finish())
    (blob,) = json.loads(command("puffin", str(path), "--json"))["blobs"]
    assert (blob["cardinality"], blob["min"], blob["max"]) == (3_000_000_000, 7, 3_000_000_006)
    assert blob["histogram"] == [75_000_000] * 40


@pytest.mark.parametrize("values", [[5], [0, 1, 2], [0, 2**62]])
def test_puffin_histogram_counts_every_value_once(values: list[int], tmp_path: Path) -> None:
    path = tmp_path / "edv.puffin"
    path.write_bytes(encode_equality_vector_file(EqualityDeleteVector(1, BitMap64(values))))
    (blob,) = json.loads(command("puffin", str(path), "--json"))["blobs"]
    assert [count for count in blob["histogram"] if count] == [1] * len(values)


def test_delete_keys_and_read_from_the_shell(
    spark: SparkSession, warehouse: Path, table_name: str, tmp_path: Path
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id bigint, name string) USING iceberg TBLPROPERTIES ('format-version'='3')")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b'), (3, NULL), (4, 'd')")
    place = ("--warehouse", str(warehouse))
    keys = tmp_path / "gone.csv"
    keys.write_text("id\n2\n4\n")
    plan = command("delete-keys", table_name, "--keys", str(keys), *place, "--plan")
    assert "keys       2" in plan
    assert "lane       resolve: the rows are looked up (by default" in plan
    by_key = ("delete-keys", table_name, "--keys", str(keys), *place, "--no-resolve")
    plan = command(*by_key, "--plan")
    assert "keys      2" in plan
    assert "lane      keys (as requested)" in plan
    assert "2 keys in 1 full-row" in command(*by_key)
    assert json.loads(command("read", table_name, *place, "--json")) == [
        {"id": 1, "name": "a"},
        {"id": 3, "name": None},
    ]
    assert command("read", table_name, *place, "--where", "id > 1", "--columns", "id").split() == ["id", "3"]
    assert "no rows" in command("read", table_name, *place, "--where", "id = 2")
    names = tmp_path / "gone.json"
    names.write_text('{"name": null, "other": 1}\n')
    done = json.loads(command("delete-keys", table_name, "--keys", str(names), "--key", "name", *place, "--json"))
    assert done["keys"] == 1
    assert [row["id"] for row in json.loads(command("read", table_name, *place, "--json"))] == [1]
    result = runner.invoke(app, ["delete-keys", table_name, "--keys", str(names), "--key", "other", *place])
    assert isinstance(result.exception, rd.InputError)
    keys.write_text("id\n1\n9\n")
    told = command("delete-keys", table_name, "--keys", str(keys), *place)
    assert told.startswith("2 keys: 1 rows deleted, snapshot ")
    assert "  the rows were looked up: by default" in told
    assert (
        command("delete-keys", table_name, "--keys", str(keys), *place)
        == "2 keys, and no row has one: nothing changed\n"
    )


def test_an_upsert_from_the_shell_looks_rows_up_and_ignores_old_changes(
    spark: SparkSession, warehouse: Path, table_name: str, tmp_path: Path
) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id bigint, v string, seq int, gone boolean) USING iceberg "
        "TBLPROPERTIES ('format-version'='3')"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', 5, false), (2, 'b', 5, false)")
    changes = tmp_path / "changes.csv"
    changes.write_text("id,v,seq,op\n1,old,4,U\n2,,6,D\n3,c,1,I\n")
    place = ("--warehouse", str(warehouse))
    words = ("upsert", table_name, "--changes", str(changes), "--key", "id", "--order-by", "seq", *place)
    newer = (*words, "--delete-when", "op = 'D'", "--keep-newer", "--tombstones", "keep", "--tombstone-column", "gone")
    assert "resolve: the old rows are looked up (keep_newer=True needs the old rows)" in command(*newer, "--plan")
    assert command(*newer).startswith("3 keys, 1 changes ignored: 1 rows deleted, 1 rows inserted, snapshot ")
    found = json.loads(command("read", table_name, "--json", *place))
    rows = sorted((row["id"], row["v"], row["seq"], row["gone"]) for row in found)
    assert rows == [(1, "a", 5, False), (2, None, 6, True), (3, "c", 1, False)]
    assert command(*newer) == "3 changes are not newer than the rows in the table: nothing changed\n"
    refused = runner.invoke(app, [*newer, "--no-resolve"])
    assert isinstance(refused.exception, rd.InputError)
    assert runner.invoke(app, [*words, "--tombstones", "some"]).exit_code == 2


def test_a_line_that_is_not_json_is_named(
    spark: SparkSession, warehouse: Path, table_name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id bigint, name string) USING iceberg TBLPROPERTIES ('format-version'='3')")
    rows, name = tmp_path / "rows.jsonl", table_name.removeprefix("lake.")
    rows.write_text('{"id": 1, "name": "a"}\n\n{"id": 2, "name": \n{"id": 3, "name": "c"}\n')
    for command in (
        ["upsert", name, "--changes", str(rows), "--key", "id"],
        ["merge", name, "--source", str(rows), "--on", "id"],
        ["delete-keys", name, "--keys", str(rows), "--key", "id"],
    ):
        done = runner.invoke(app, [*command, "--warehouse", str(warehouse)])
        assert isinstance(done.exception, rd.InputError)
        assert str(done.exception) == (
            f"{rows}, line 3 is not a JSON object: Expecting value at column 18\n"
            '{"id": 2, "name":\n'
            'Hint: each line is one object, such as {"id": 1}'
        )
    upper = tmp_path / "ROWS.JSON"
    upper.write_text("{")
    done = runner.invoke(app, ["upsert", name, "--changes", str(upper), "--key", "id", "--warehouse", str(warehouse)])
    assert f"{upper}, line 1 is not a JSON object" in str(done.exception)
    assert spark.table(table_name).count() == 0
    assert "ERROR" not in capfd.readouterr().err


def test_a_file_of_json_that_cannot_be_read_is_not_called_wrong_json(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    table = create(spark, table_name, "id bigint, name string")
    with pytest.raises(AnalysisException, match="PATH_NOT_FOUND"):
        read_rows(tmp_path / "gone.json", table)
    (tmp_path / "rows.json").mkdir()
    (tmp_path / "rows.json" / "cut.json.gz").write_bytes(b"no gzip")
    with pytest.raises((PySparkException, Py4JError)) as found:
        read_rows(tmp_path / "rows.json", table)
    # Spark 3.5 has no such condition, and shows where its reader of files failed.
    assert ("FAILED_READ_FILE" if RELEASE.spark >= (4, 0) else "FileScanRDD") in str(found.value)


def test_rows_that_cannot_be_read_give_a_short_error(
    spark: SparkSession, warehouse: Path, table_name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    create(spark, table_name, "id bigint, name string")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a')")
    path = Path(spark.table(f"{table_name}.files").first()["file_path"])  # type: ignore[index]
    path.unlink()
    name = table_name.removeprefix("lake.")
    for words in (["read", name], ["sql", f"SELECT * FROM {table_name}"]):
        done = runner.invoke(app, [*words, "--warehouse", str(warehouse)])
        assert isinstance(done.exception, rd.RowDeltaError)
        assert str(path) in done.exception.message
        assert "\tat " not in done.exception.message
    assert "ERROR" not in capfd.readouterr().err
