"""Errors of Spark and Java in a change become short errors of rowdelta, and nothing is printed before them."""

from __future__ import annotations

import logging
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pytest
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import functions as F  # noqa: N812

import rowdelta as rd
from rowdelta.iceberg import TableHandle
from rowdelta.spark import quiet_tasks, translate_spark_error
from rowdelta.spark.versions import SPARK
from tests.support.tables import create

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from rowdelta.change import Operation

COLUMNS = "id bigint, status string, amount double"


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> Iterator[rd.Table]:
    """Two rows, which no test here changes."""
    name = "lake.db.told_errors"
    made = create(spark, name, COLUMNS)
    spark.sql(f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ * FROM VALUES (1L, 'new', 1.0D), (2L, 'void', 2.0D)")
    yield made.refresh()
    spark.sql(f"DROP TABLE {name}")


@pytest.fixture(scope="module")
def changes(spark: SparkSession) -> DataFrame:
    rows = [(1, "paid", 5.0, 1), (1, "void", 6.0, 1)]
    return spark.createDataFrame(rows, f"{COLUMNS}, seq int").coalesce(1)


class Records(logging.Handler):
    """The log levels, by the names of the loggers."""

    def __init__(self) -> None:
        super().__init__()
        self.names = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.names += record.name


@pytest.fixture
def printed(capfd: pytest.CaptureFixture[str]) -> Iterator[Callable[[], str]]:
    """The output since the last call, also of Java, and the log of PySpark."""
    records = Records()

    def read() -> str:
        time.sleep(0.3)  # Java's lines come through a thread
        (out, err), names = capfd.readouterr(), records.names
        records.names = ""
        return out + err + names

    loggers = list(SPARK.get_error_loggers())
    for logger in loggers:
        logger.addHandler(records)
    read()
    yield read
    for logger in loggers:
        logger.removeHandler(records)


def told(run: Callable[[], object], kind: type[rd.RowDeltaError] = rd.InputError) -> str:
    """The message of an error; it must contain no Java stack trace and no internal name."""
    with pytest.raises(kind) as found:
        run()
    text = str(found.value)
    assert "\tat " not in text
    assert "__rd_" not in text
    assert "JVM stacktrace" not in text
    assert len(text) < 1500
    assert found.value.__cause__ is None
    return text


def test_the_error_for_a_missing_column_suggests_similar_names(
    spark: SparkSession, table: rd.Table, changes: DataFrame, table_name: str, printed: Callable[[], str]
) -> None:
    last, empty = changes.limit(1), create(spark, table_name, COLUMNS)
    for run, name, meant in (
        (lambda: table.delete("statu = 'x'").execute(), "`statu`", "did you mean `status`?"),
        (lambda: table.delete("statu = 'x'").plan(), "`statu`", "did you mean `status`?"),
        (lambda: table.delete(F.col("statu") == "x").execute(), "`statu`", "did you mean `status`?"),
        (lambda: empty.delete("statu = 'x'").execute(), "`statu`", "did you mean `status`?"),
        (lambda: empty.update().set("amount", "amoun").execute(), "`amoun`", "did you mean `amount`?"),
        (lambda: table.update().set("amount", "amoun + 1").execute(), "`amoun`", "did you mean `amount`?"),
        (lambda: table.update().set("amount", "amoun + 1").plan(), "`amoun`", "did you mean `amount`?"),
        (lambda: table.update().set("amount", "0").where("amoun > 1").execute(), "`amoun`", "`amount`"),
        (lambda: table.read("idd = 1"), "`idd`", "did you mean `id`?"),
        (lambda: table.read(columns=["idd"]), "`idd`", "did you mean `id`?"),
        (lambda: table.upsert(changes, "id", order_by="sq").execute(), "`sq`", "did you mean `seq`?"),
        (lambda: table.upsert(changes, "id", delete_when="sq = 1").execute(), "`sq`", "did you mean `seq`?"),
        (lambda: table.merge(last, "t.id = s.idd").when_matched_delete().execute(), "`s`.`idd`", "`s`.`id`"),
        (
            lambda: table.merge(last, "id").when_matched_update({"amount": "s.amoun"}).execute(),
            "`s`.`amoun`",
            "`s`.`amount`",
        ),
        (
            lambda: table.merge(last, "id").when_not_matched_insert({"id": "s.id", "amount": "s.no"}).execute(),
            "`s`.`no`",
            "`s`.`id`",
        ),
    ):
        text = told(run)
        assert f"with name {name} cannot be resolved" in text
        assert meant in text.partition("Hint: ")[2], text
        assert not {"`_pos`", "`_file`", "`_row_id`"} & set(text.replace(".", " ").replace(",", " ").split())
    assert printed() == ""


def test_the_hint_for_a_text_value_without_quotes_suggests_quotes(table: rd.Table) -> None:
    text = told(lambda: table.update().set("status", "paid").where("id = 1").execute())
    assert text.endswith("text is SQL, where a value is quoted: 'paid'")
    assert "_pos" not in text


def test_a_name_on_both_sides_needs_an_alias(table: rd.Table, changes: DataFrame, printed: Callable[[], str]) -> None:
    last = changes.limit(1)
    text = told(lambda: table.merge(last, "id = s.id").when_matched_delete().execute())
    assert "Reference `id` is ambiguous, could be: [`s`.`id`, `t`.`id`]" in text
    assert "as in t.id or s.id" in text
    told(lambda: table.merge(last, "id").when_matched_delete("status = 'new'").execute())
    assert printed() == ""


def test_ties_and_null_keys_are_reported_without_other_output(
    spark: SparkSession, table: rd.Table, changes: DataFrame, printed: Callable[[], str]
) -> None:
    text = told(lambda: table.upsert(changes, "id", order_by="seq").execute())
    assert text.startswith("two different changes of one key are equally new (id = 1)\nHint: ")
    told(lambda: table.upsert(changes, "id", order_by="seq").plan())
    told(lambda: table.upsert(changes, "id", order_by="seq", columns=["status"]).execute())
    no_key = spark.createDataFrame([(None, "paid", 5.0, 1)], changes.schema)
    text = told(lambda: table.upsert(no_key, "id", order_by="seq").execute())
    assert text.startswith("a change has no key: column 'id' is null\nHint: ")
    assert printed() == ""


def test_a_value_that_an_expression_fails_on_is_shown_in_it(table: rd.Table, printed: Callable[[], str]) -> None:
    text = told(lambda: table.update().set("amount", "cast(status AS double)").execute())
    assert "CAST_INVALID_INPUT" in text
    assert "cast(status AS double)\n^^^" in text
    told(lambda: table.delete("1 / (id - 1) > 0").execute())
    assert "is not a boolean" in told(lambda: table.delete("amount").execute())
    assert "sum(amount)" in told(lambda: table.delete("sum(amount) > 1").execute())
    assert printed() == ""


def test_a_column_of_another_frame_is_distinguished_from_one_of_the_table(table: rd.Table) -> None:
    text = told(lambda: table.delete(table.read().status == "x").execute())
    assert text.startswith("a Column belongs to another DataFrame")
    assert text.endswith("name the column instead: F.col('status'), or SQL text")


def test_a_file_that_is_missing_or_damaged_is_named(
    spark: SparkSession, table_name: str, changes: DataFrame, printed: Callable[[], str]
) -> None:
    created = create(spark, table_name, COLUMNS)
    spark.sql(f"INSERT INTO {table_name} SELECT /*+ COALESCE(1) */ id, 'x', 1.0D FROM range(9)")
    path = Path(spark.table(f"{table_name}.files").first()["file_path"])  # type: ignore[index]
    whole, last = path.read_bytes(), changes.limit(1)
    for damaged in (None, b"no Parquet" * 100, whole[:30] + b"\xff" * 30 + whole[60:]):
        path.unlink(missing_ok=True)
        if damaged is not None:
            path.write_bytes(damaged)
        for run in (
            lambda: created.update().set("amount", "0").execute(),
            lambda: created.merge(last, "id").when_matched_update_all().execute(),
        ):
            text = told(run, rd.RowDeltaError)
            assert str(path) in text
            assert "commit" not in text
    path.write_bytes(whole)
    loggers = next(found for found in sys.modules["rowdelta.spark.quiet_logs"]._loggers.values() if found is not None)
    assert str(path) in str(loggers.unread)
    with quiet_tasks(spark):
        assert str(loggers.unread) == ""
    assert printed() == ""


def test_a_commit_fails_only_where_it_was_asked_for(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = create(spark, table_name, COLUMNS)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'x', 1.0), (2, 'y', 2.0)")

    def fails(*_: object) -> None:
        raise AnalysisException("no")

    monkeypatch.setattr(sys.modules["rowdelta.iceberg.snapshot_update"], "pass_files", fails)
    text = told(lambda: created.update().set("amount", 0).where("id = 1").execute(), rd.TableError)
    assert text == "the snapshot cannot be created; nothing was committed: AnalysisException: no"


def test_only_errors_of_jobs_are_reported_as_such(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    with pytest.raises((PySparkException, Py4JError)) as of_java:
        jvm.java.nio.file.Files.size(jvm.java.io.File("/nowhere/at/all").toPath())
    assert translate_spark_error(of_java.value, spark).message == "NoSuchFileException: /nowhere/at/all"
    cause = jvm.java.io.IOException("disk full")
    of_task = Py4JJavaError("", jvm.org.apache.spark.SparkException("Job aborted", cause))
    assert translate_spark_error(of_task, spark).message == "a Spark job failed: IOException: disk full"


def test_only_work_of_ours_keeps_the_log_quiet(spark: SparkSession, printed: Callable[[], str]) -> None:
    def fail() -> None:
        with pytest.raises(Exception, match="boom"):
            spark.range(1).select(F.raise_error(F.lit("boom"))).collect()

    first_is_in, last_is_in = threading.Event(), threading.Event()

    def other() -> None:
        with quiet_tasks(spark):
            first_is_in.set()
            last_is_in.wait()

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(other)
        first_is_in.wait()
        with quiet_tasks(spark):
            last_is_in.set()
            done.result()
            fail()  # one of two has ended
    assert printed() == ""
    fail()
    assert "boom" in printed()


@pytest.mark.spark4("PySpark writes no log of its own")
def test_the_log_of_pyspark_is_not_quiet_after_work_of_ours(spark: SparkSession, printed: Callable[[], str]) -> None:
    with quiet_tasks(spark):
        pass
    with pytest.raises(AnalysisException):
        spark.sql("SELECT nowhere")
    assert "SQLQueryContextLogger" in printed()


def test_the_error_for_a_temporary_view_says_so(spark: SparkSession) -> None:
    spark.sql("CREATE OR REPLACE TEMP VIEW a_view AS SELECT 1 id")
    try:
        for name in ("a_view", "`A_view`"):
            assert told(lambda name=name: rd.table(spark, name), rd.TableError) == (  # type: ignore[misc]
                f"{name} is a temporary view, not a table\nHint: open the table that it is made of"
            )
    finally:
        spark.catalog.dropTempView("a_view")


def test_arguments_of_the_wrong_type_are_refused(spark: SparkSession, table: rd.Table, changes: DataFrame) -> None:
    name = "lake.db.told_errors"
    assert told(lambda: rd.table(None, name), rd.SessionError).startswith("a Spark session is needed, not NoneType")  # type: ignore[arg-type]
    assert "not str" in told(lambda: rd.table(name, name), rd.SessionError)  # type: ignore[arg-type]
    assert "a table name must be text, not NoneType" in told(lambda: rd.table(spark, None))  # type: ignore[arg-type]
    rows = {"id": [1], "status": ["x"], "amount": [1.0]}
    for frame, library in ((pd.DataFrame(rows), "pandas.DataFrame"), (pa.table(rows), "pyarrow.Table"), ([1], "list")):
        for run in (
            lambda frame=frame: table.upsert(frame, "id"),
            lambda frame=frame: table.delete_keys(frame, "id"),
            lambda frame=frame: table.merge(frame, "id"),
            lambda frame=frame: rd.cdc.stream(frame, table, "id"),
        ):
            text = told(run)
            assert f"must be a DataFrame of Spark, not {library}\nHint: spark.createDataFrame(...)" in text
    assert "must be SQL text or a Column, not int: 5" in told(lambda: table.read(5))  # type: ignore[arg-type]
    assert table.read(columns="id").columns == ["id"]


def test_the_error_for_a_stopped_session_says_so(
    spark: SparkSession, table: rd.Table, changes: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready: list[Operation[Any]] = [
        table.delete("id = 1"),
        table.update().set("amount", 0),
        table.upsert(changes, "id"),
        table.resolve(),
    ]
    monkeypatch.setattr(spark.sparkContext, "_jsc", None)  # as `spark.stop()` does
    for run in (
        *(operation.execute for operation in ready),
        *(operation.plan for operation in ready),
        table.read,
        table.refresh,
        table.debt,
        table.advise,
        table.delete_files,
        table.delete,
        lambda: table.view("orders"),
        lambda: rd.table(spark, "lake.db.told_errors"),
        lambda: TableHandle(spark, "lake.db.told_errors"),
        lambda: rd.sql(spark, "SELECT 1"),
        lambda: rd.from_delta(spark, "somewhere", "lake.db.copy").execute(),
    ):
        assert told(run, rd.SessionError).startswith("the Spark session was stopped\nHint: start one with rd.session()")
    assert repr(table).startswith("<rowdelta table lake.db.told_errors")
