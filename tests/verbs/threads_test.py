"""Every verb works from any thread, even as the first action of a session."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from pyspark import InheritableThread

import rowdelta as rd
from tests.support.oracle import assert_same_rows, rows
from tests.support.tables import EDV, append_ids, create, keys

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

X = TypeVar("X")


def in_thread(work: Callable[[], X], kind: Any = threading.Thread) -> X:
    """Runs a function in a new thread."""
    found: list[X] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    thread = kind(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return found[0]


def in_pool(work: Callable[[], X]) -> X:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def verbs(table: rd.Table) -> dict[str, Callable[[], Any]]:
    """Every verb, on a table of ids 0 to 19; frames are made where the verb runs."""
    spark, name = table._handle.spark, table.name

    def changes() -> Any:
        return spark.createDataFrame([(5, "new"), (50, "new")], "id bigint, v string")

    return {
        "upsert": lambda: table.upsert(spark.range(5, 6).selectExpr("id", "'up' v"), "id").execute(),
        "delete": lambda: table.delete("id = 1").execute(),
        "copy-on-write": lambda: table.delete("id = 2", mode="copy-on-write").execute(),
        "update": lambda: table.update().set("v", "'w'").where("id = 3").execute(),
        "merge": lambda: table.merge(changes(), "id").when_matched_update_all().when_not_matched_insert_all().execute(),
        "delete by key": lambda: table.delete_keys(keys(spark, 4), "id").execute(),
        "key files": lambda: table.delete_keys(spark.range(6, 7), "id", encoding="full-row").execute(),
        "read": lambda: table.read("id < 3").collect(),
        "sql": lambda: rd.sql(spark, f"UPDATE {name} SET v = 'x' WHERE id = 7"),
        "debt": lambda: (table.debt(), table.advise()),
        "rewrite": lambda: table.rewrite_deletes("full-row").execute(),
        "resolve": lambda: table.resolve().execute(),
        "compact": lambda: table.compact(options={"rewrite-all": "true"}).execute(),
        "dangling": lambda: table.remove_dangling().execute(),
        "expire": lambda: table.expire(retain_last=1).execute(),
        "orphans": lambda: table.remove_orphans().execute(),
    }


def test_every_verb_works_as_the_first_of_a_new_session_in_a_new_thread(spark: SparkSession, table_name: str) -> None:
    names = verbs(create(spark, table_name, "id bigint, v string", properties=EDV))
    append_ids(spark, table_name, range(20))
    for verb in names:
        in_thread(verbs(rd.table(spark.newSession(), table_name))[verb])
    expected = {**dict.fromkeys(range(20), "v"), 3: "w", 5: "new", 7: "x", 50: "new"}
    live = [(key, value) for key, value in expected.items() if key not in {1, 2, 4, 6}]
    assert_same_rows(spark.newSession().table(table_name), live)


@pytest.mark.parametrize("run", [in_pool, lambda work: in_thread(work, InheritableThread)], ids=["pool", "inheritable"])
def test_a_table_that_was_opened_here_is_changed_from_another_thread(
    spark: SparkSession, table_name: str, run: Callable[[Callable[[], Any]], Any]
) -> None:
    session = spark.newSession()
    table = create(session, table_name, "id bigint, v string")
    operation = table.upsert(session.createDataFrame([(1, "a")], "id bigint, v string"), "id")
    assert run(operation.execute).rows_written == 1
    assert_same_rows(run(lambda: table.read().collect()), [(1, "a")])


def test_two_threads_change_two_tables_through_one_session(spark: SparkSession, table_name: str) -> None:
    session, names = spark.newSession(), [table_name, f"{table_name}_other"]
    for name in names:
        create(session, name, "id bigint, v string", properties=EDV)
    barrier = threading.Barrier(2)

    def run(name: str) -> list[tuple[Any, ...]]:
        barrier.wait()
        table = rd.table(session, name)
        for start in (0, 4, 8):
            frame = session.range(start, start + 6).selectExpr("id", f"'{start}' v")
            table.upsert(frame, "id").execute()
            table.delete(f"id = {start}").execute()
        return rows(table.read())

    try:
        with ThreadPoolExecutor(2) as pool:
            one, other = pool.map(run, names)
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {names[1]}")
    # 4 and 8 were written twice, and then deleted.
    assert (
        one
        == other
        == sorted(((i, "840"[(i < 8) + (i < 4)]) for i in (*range(1, 4), *range(5, 8), *range(9, 14))), key=repr)
    )


def test_every_verb_works_where_python_threads_have_none_of_their_own_in_java(tmp_path: Path) -> None:
    """With PYSPARK_PIN_THREAD=false, each call from Python may run in another Java thread than the one before."""
    script = f"""
import rowdelta as rd
from tests.verbs.threads_test import in_thread, verbs
from tests.support.tables import EDV, append_ids, create

spark = rd.session({str(tmp_path / "warehouse")!r}, config={{"spark.driver.memory": "1g"}})
spark.sql("CREATE NAMESPACE lake.db")
table = create(spark, "lake.db.t", "id bigint, v string", properties=EDV)
append_ids(spark, "lake.db.t", range(20))
for verb in verbs(table):
    in_thread(verbs(rd.table(spark.newSession(), "lake.db.t"))[verb])
assert rd.table(spark, "lake.db.t").read().count() == 17
"""
    run = [sys.executable, "-c", script]
    env = {**os.environ, "PYSPARK_PIN_THREAD": "false"}
    done = subprocess.run(run, env=env, capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 0, done.stderr
