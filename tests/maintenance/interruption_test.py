"""Ctrl-C during maintenance: a real signal to a real process, at any moment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rowdelta as rd
from tests.support import interrupted_run
from tests.support.interrupted_run import ACTIONS, state

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Early, in the middle and late; the first run of each action is slow, because nothing is compiled yet.
DELAYS = (0.3, 1.2, 2.5, 0.8, 1.8)


def test_ctrl_c_at_any_moment_leaves_all_rows_and_no_stray_file(spark: SparkSession, tmp_path: Path) -> None:
    actions = [*ACTIONS, *ACTIONS[:3], "compact"]
    answers, code = interrupted(tmp_path, actions)
    assert [answer["action"] for answer in answers] == actions[:-1]
    for answer in answers:
        assert answer["rows"], answer
        assert answer["strays"] == [], answer
        assert answer["branches"] == ["main"], answer
        assert answer["jobs"] == 0, answer
    assert any(answer["ended"] == "interrupted" for answer in answers)
    # The last one ended the process.
    assert code != 0
    joined = rd.session(tmp_path)
    table = rd.table(joined, f"lake.db.interrupted_{len(actions) - 1}")
    left = state(joined, table)
    assert (left["rows"], left["strays"], left["branches"]) == (True, [], ["main"])
    table.compact(options={"rewrite-all": "true"}).execute()
    assert state(joined, table)["rows"]
    assert table.delete_files().isEmpty()
    assert spark.sparkContext.statusTracker().getActiveJobsIds() == []


def interrupted(warehouse: Path, actions: list[str]) -> tuple[list[dict[str, Any]], int]:
    """Runs the program, sends it a signal during each action, and returns its answers and its exit code."""
    answers, delays = [], cycle(DELAYS)
    root = Path(interrupted_run.__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.interrupted_run", str(warehouse), *actions],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=root,
        start_new_session=True,
    ) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if line.strip() == "go":
                time.sleep(next(delays))
                os.killpg(child.pid, signal.SIGINT)  # a terminal sends it to all processes, the JVM among them
            else:
                answers.append(json.loads(line))
    return answers, child.returncode
