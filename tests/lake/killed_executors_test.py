"""An executor is killed in the middle of a verb. Spark repeats its tasks; the rows are right, and no file is left."""

from __future__ import annotations

import threading
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.lake.components import NAMESPACE
from tests.lake.servers.cluster import WORKERS
from tests.lake.stray_files import find_stray_files
from tests.support.oracle import assert_same_rows
from tests.support.tables import EDV, create

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame

    import rowdelta as rd
    from tests.lake.lake import Lake

COMPONENT: Final = "rest"
ROWS: Final = 120_000
FILES: Final = 4
FILLER: Final = "repeat(hex(xxhash64(id)), 12)"
STAGES: Final = ("first", "middle", "last")
_START_SECONDS: Final = 240.0  # of a new executor, on a busy machine


@dataclass(frozen=True)
class Case:
    """A verb, and what the table holds after it.

    Attributes:
        run: Executes the verb.
        expected: The tag of a row after it, by id; None if the row is gone.
        last: The first id that the table never has.
        resolve_debt: Whether the table has deletes by key before.
    """

    run: Callable[[rd.Table], object]
    expected: Callable[[int], int | None]
    last: int = ROWS
    resolve_debt: bool = False


def changes(table: rd.Table) -> DataFrame:
    """Rows for every second id from the middle of the table on, half of them new."""
    return table._handle.spark.range(ROWS // 2, ROWS * 3 // 2, 2, FILES).selectExpr("id", "1 tag", f"{FILLER} filler")


def expect_changes(key: int) -> int | None:
    changed = key >= ROWS // 2 and key % 2 == 0
    return 1 if changed else 0 if key < ROWS else None


def expect_debt(key: int) -> int | None:
    return None if key % 3 == 0 else 0


CASES: Final = {
    "upsert": Case(lambda t: t.upsert(changes(t), "id").execute(), expect_changes, ROWS * 3 // 2),
    "merge": Case(
        lambda t: t.merge(changes(t), "id").when_matched_update_all().when_not_matched_insert_all().execute(),
        expect_changes,
        ROWS * 3 // 2,
    ),
    "update": Case(
        lambda t: t.update().set("tag", "1").where("id % 2 = 0").execute(), lambda key: 1 if key % 2 == 0 else 0
    ),
    "resolve": Case(lambda t: t.resolve().execute(), expect_debt, resolve_debt=True),
    "compact": Case(lambda t: t.compact(options={"rewrite-all": "true"}).execute(), expect_debt, resolve_debt=True),
}


class Scheduler:
    """What Spark's scheduler does now."""

    def __init__(self, lake: Lake) -> None:
        context: Any = lake.spark.sparkContext
        self._dag = context._jsc.sc().dagScheduler()
        self._tasks = context._jsc.sc().taskScheduler()

    def count_jobs(self) -> int:
        """How many jobs have been submitted since Spark started."""
        return int(self._dag.numTotalJobs())

    def count_tasks(self) -> dict[str, int]:
        """The running tasks of each executor."""
        listed = str(self._tasks.runningTasksByExecutors().mkString(","))
        return {name: int(count) for name, count in (one.split(" -> ") for one in listed.split(",") if one)}


@pytest.fixture(scope="module")
def job_counts() -> dict[str, int]:
    """How many jobs a verb needs, once it has been counted."""
    return {}


def make(lake: Lake, case: Case) -> rd.Table:
    """Ids in several files, each with a tag 0; perhaps with every third id deleted by key."""
    name = f"{COMPONENT}.{NAMESPACE}.killed_{uuid.uuid4().hex[:8]}"
    table = create(lake.spark, name, "id bigint, tag int, filler string", properties=EDV)
    lake.spark.range(0, ROWS, 1, FILES).selectExpr("id", "0 tag", f"{FILLER} filler").writeTo(name).append()
    if case.resolve_debt:
        table.delete_keys(lake.spark.range(0, ROWS, 3, 1), "id").execute()
    return table.refresh()


def wait_for_executors(lake: Lake, scheduler: Scheduler) -> dict[str, int]:
    """Waits until every worker has an executor that Spark knows, and returns their processes."""
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        processes = lake.components.cluster.list_executors()
        if len(processes) == WORKERS and set(processes) <= set(scheduler.count_tasks()):
            return processes
        time.sleep(0.1)
    raise RuntimeError(f"the executors are {processes}, Spark knows {scheduler.count_tasks()}")


@contextmanager
def kill_during_job(lake: Lake, scheduler: Scheduler, job: int) -> Iterator[list[str]]:
    """Kills an executor with a running task as soon as a number of jobs has been submitted.

    Yields a list, which has the executor when it has been killed.
    """
    processes = wait_for_executors(lake, scheduler)
    last, killed, ended = scheduler.count_jobs() + job, list[str](), threading.Event()

    def watch() -> None:
        while not ended.is_set() and not killed:
            if scheduler.count_jobs() >= last:
                busy = [name for name, tasks in scheduler.count_tasks().items() if tasks and name in processes]
                if busy:
                    lake.components.cluster.kill(processes[busy[0]])
                    killed.append(busy[0])
            time.sleep(0.001)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield killed
    finally:
        ended.set()
        watcher.join()


def count_jobs(lake: Lake, scheduler: Scheduler, case: Case) -> int:
    """Runs a verb without an interruption, and counts its jobs."""
    table = make(lake, case)
    before = scheduler.count_jobs()
    case.run(table)
    jobs = scheduler.count_jobs() - before
    check(table, case)
    return jobs


def check(table: rd.Table, case: Case) -> None:
    """Compares the whole table with what is expected, and looks for files that nothing needs."""
    expected = ((key, case.expected(key), True) for key in range(case.last))
    assert_same_rows(
        table.read().selectExpr("id", "tag", f"filler = {FILLER} whole"),
        [row for row in expected if row[1] is not None],
    )
    assert find_stray_files(table) == []


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("verb", CASES)
def test_a_verb_survives_the_end_of_an_executor(lake: Lake, job_counts: dict[str, int], verb: str, stage: str) -> None:
    lake.use(COMPONENT)
    case, scheduler = CASES[verb], Scheduler(lake)
    if verb not in job_counts:
        job_counts[verb] = count_jobs(lake, scheduler, case)
    jobs = job_counts[verb]
    first_choice = {"first": 1, "middle": (jobs + 1) // 2, "last": jobs}[stage]
    for job in range(first_choice, 0, -1):  # a job may end before it is noticed
        table = make(lake, case)
        with kill_during_job(lake, scheduler, job) as killed:
            case.run(table)
        check(table, case)
        if killed:
            return
    pytest.fail(f"no executor had a task in any of {jobs} jobs")
