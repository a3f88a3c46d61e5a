"""A driver that dies in the middle of a batch: after the restart, every change is in the table once."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.events import EventFolder, event
from tests.support.oracle import assert_same_rows
from tests.support.tables import EDV, create, stored_files

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

# A separate process, so that nothing cleans up after it: it runs the stream and dies at the given point.
DRIVER = """
import os, sys
import rowdelta as rd
import rowdelta.verbs.upsert as upsert

warehouse, table, folder, moment = sys.argv[1:]
spark = rd.session(warehouse, config={"spark.sql.shuffle.partitions": 2, "spark.sql.session.timeZone": "UTC"})
source = spark.readStream.option("maxFilesPerTrigger", 1).text(f"{folder}/inbox")
commits = []

def die(*_):
    os._exit(9)

def after_first(progress):
    commits.append(progress)
    if len(commits) == 2:
        die()

if moment == "before the commit":
    commit = upsert.commit_and_refresh
    upsert.commit_and_refresh = lambda *args: die() if commits else commit(*args)
listener = after_first if moment == "after the commit" else commits.append
stream = rd.cdc.stream(source, rd.table(spark, table), "id", format="debezium", progress=listener)
stream.start(f"{folder}/checkpoint", available_now=True).await_termination()
"""


@pytest.mark.strays("a driver that is killed removes nothing")
@pytest.mark.parametrize("moment", ["before the commit", "after the commit"])
def test_a_killed_driver_loses_nothing_and_applies_nothing_twice(
    spark: SparkSession, warehouse: Path, table_name: str, tmp_path: Path, moment: str
) -> None:
    table = create(spark, table_name, "id bigint NOT NULL, v string", properties=EDV)
    events = EventFolder(tmp_path)
    events.add([event("c", None, {"id": 1, "v": "a"}), event("c", None, {"id": 2, "v": "a"})])
    events.add([event("u", None, {"id": 1, "v": "b"}), event("d", {"id": 2}, None), event("c", None, {"id": 3})])
    events.add([event("u", None, {"id": 3, "v": "c"}), event("c", None, {"id": 2, "v": "again"})])
    command = [sys.executable, "-c", DRIVER, str(warehouse), table_name, str(tmp_path), moment]
    died = subprocess.run(command, env=os.environ, capture_output=True, timeout=300, check=False)
    assert died.returncode == 9, died.stderr[-2000:]
    done = 2 if moment == "after the commit" else 1
    assert len(table.refresh().metadata.snapshots) == done
    assert not (tmp_path / "checkpoint" / "commits" / "1").exists()
    files = stored_files(table)
    stream_id = events.run(spark, table).stream_id
    assert_same_rows(table.read(), [(1, "b"), (2, "again"), (3, "c")])
    assert [(p.batch_id, p.replayed) for p in events.progress] == [(1, moment == "after the commit"), (2, False)]
    batches = [s.summary["rowdelta.batch-id"] for s in table.refresh().metadata.snapshots.values()]
    assert sorted(batches) == ["0", "1", "2"]
    assert {s.summary["rowdelta.stream-id"] for s in table.metadata.snapshots.values()} == {stream_id}
    assert files <= stored_files(table)
