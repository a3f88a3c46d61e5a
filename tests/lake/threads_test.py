"""Every verb runs where a cluster calls Python back, and on two tables at once."""

from __future__ import annotations

import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import pytest

import rowdelta as rd
from tests.lake.components import NAMESPACE
from tests.support.oracle import assert_same_rows
from tests.support.tables import EDV, append_ids, create
from tests.verbs.threads_test import in_thread, verbs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame

    from tests.lake.lake import Lake

COMPONENT: Final = "rest"
# What `verbs` does to ids 0 to 19.
EXPECTED: Final = [
    (key, {3: "w", 5: "new", 7: "x", 50: "new"}.get(key, "v")) for key in (*range(20), 50) if key not in {1, 2, 4, 6}
]


@pytest.fixture(autouse=True)
def python_on_executors(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The frames of these verbs are made of Python lists, which Spark converts on executors."""
    monkeypatch.setattr(lake.spark.sparkContext, "pythonExec", sys.executable)


def make(lake: Lake) -> str:
    """A table of ids 0 to 19, by name."""
    lake.use(COMPONENT)
    name = f"{COMPONENT}.{NAMESPACE}.threads_{uuid.uuid4().hex[:8]}"
    create(lake.spark, name, "id bigint, v string", properties=EDV)
    append_ids(lake.spark, name, range(20))
    return name


def test_every_verb_runs_in_foreach_batch(lake: Lake, tmp_path: Path) -> None:
    name = make(lake)
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox" / "batch.txt").write_text("one\n", encoding="utf-8")
    ran: list[str] = []

    def apply(batch: DataFrame, _: int) -> None:
        table = rd.table(batch.sparkSession, name)
        for title, run in verbs(table).items():
            run()
            ran.append(title)

    source = lake.spark.readStream.text(str(tmp_path / "inbox"))
    writer = source.writeStream.foreachBatch(apply).option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(300)
    assert ran
    assert_same_rows(rd.table(lake.spark, name).read(), EXPECTED)


def test_every_verb_runs_on_two_tables_at_once(lake: Lake) -> None:
    names = [make(lake), make(lake)]
    session = lake.spark.newSession()

    def run(name: str) -> None:
        changes: dict[str, Callable[[], object]] = verbs(rd.table(session, name))
        for change in changes.values():
            in_thread(change)

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(run, names))
    for name in names:
        assert_same_rows(rd.table(lake.spark, name).read(), EXPECTED)
