"""Groups of files, and the progress through them; no Spark."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

from rowdelta.iceberg import LiveData
from rowdelta.maintenance.file_groups import group_files, measure_files
from rowdelta.maintenance.progress import Portion, Progress, report_progress, show_search
from rowdelta.maintenance.spark_progress import watch_jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


def file(number: int, records: int) -> LiveData:
    return LiveData(f"f{number}", 0, (), 1, records, records * 10, {})


def test_files_are_grouped_by_what_their_positions_may_take() -> None:
    files = [file(number, records) for number, records in enumerate([64_000, 64_000, 6_400_000, 64_000])]
    one = 64_000 // 64 * 128 + 2048
    groups = group_files(files, 2 * one)
    assert [[found.path for found in group] for group in groups] == [["f0", "f1"], ["f2"], ["f3"]]
    assert group_files(files, 1 << 30) == [files]
    assert group_files([], 1 << 30) == []
    assert measure_files(groups[0]) == Portion(128_000, 1_280_000, 2)


def test_progress_counts_groups_and_guesses_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock: Iterator[float] = iter([0.0, 2.0, 3.0])
    monkeypatch.setattr("rowdelta.maintenance.progress.time.monotonic", lambda: next(clock))
    seen: list[Progress] = []
    portions = [Portion(100, 10), Portion(300, 30)]
    with report_progress("resolve t", portions, seen.append) as reporter:
        for group in portions:
            reporter.finish_group(group)
    assert [(now.groups_done, now.rows_done, now.bytes_done) for now in seen] == [(1, 100, 10), (2, 400, 40)]
    assert [now.seconds_left for now in seen] == [6.0, 0.0]
    assert Progress("resolve t", 1, 1, 1).seconds_left is None


def test_a_terminal_gets_a_bar_and_a_pipe_gets_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    portions = [Portion(1000, 10)]
    with report_progress("resolve t", portions, None) as reporter:
        reporter.finish_group(portions[0])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with report_progress("resolve t", portions, None) as reporter:
        reporter.finish_group(portions[0])
    assert "resolve t" in capsys.readouterr().err


def test_removed_files_are_counted_where_there_are_no_rows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock: Iterator[float] = iter([0.0, 2.0, 3.0])
    monkeypatch.setattr("rowdelta.maintenance.progress.time.monotonic", lambda: next(clock))
    seen: list[Progress] = []
    portions = [Portion(files=1000), Portion(files=500)]
    with report_progress("expire t", portions, seen.append) as reporter:
        for group in portions:
            reporter.finish_group(group)
    assert [(now.groups_done, now.files_done, now.files) for now in seen] == [(1, 1000, 1500), (2, 1500, 1500)]
    assert [now.seconds_left for now in seen] == [1.0, 0.0]
    monkeypatch.undo()
    with show_search("expire t", None):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    with show_search("expire t", None):
        pass
    assert "looking for files" in capsys.readouterr().err
    with report_progress("expire t", portions, None) as reporter:
        reporter.finish_group(portions[0])
    shown = capsys.readouterr().err
    assert "1/2 groups, 1,000 files" in shown
    assert "rows" not in shown


def test_progress_within_a_group_is_reported_as_rows_and_bytes() -> None:
    seen: list[Progress] = []
    with report_progress("compact t", [Portion(100, 1_000), Portion(100, 1_000)], seen.append) as reporter:
        reporter.track_group(Portion(100, 1_000))(0.5)
        reporter.finish_group(Portion(100, 1_000))
        reporter.track_group(Portion(100, 1_000))(0.25)
    assert [(now.groups_done, now.rows_done, now.bytes_done) for now in seen] == [
        (0, 50, 500),
        (1, 100, 1_000),
        (1, 125, 1_250),
    ]


def test_tasks_of_all_stages_count_and_the_share_never_falls() -> None:
    looks: Iterator[dict[int, tuple[int, int] | None]] = iter(
        [
            {1: (0, 4)},
            {1: (3, 4)},
            {2: (0, 12)},  # the first stage is done, and much more work comes to light
            {2: (9, 12), 3: None},
            {2: (12, 12)},
        ]
    )
    ended = threading.Event()

    class Tracker:
        now: ClassVar[dict[int, tuple[int, int] | None]] = {}

        def getActiveStageIds(self) -> list[int]:  # noqa: N802 - Spark's name
            found = next(looks, None)
            if found is None:
                ended.set()
            Tracker.now = found or {}
            return list(Tracker.now)

        def getStageInfo(self, stage: int) -> Any:  # noqa: N802 - Spark's name
            tasks = Tracker.now[stage]
            return tasks and SimpleNamespace(numCompletedTasks=tasks[0], numTasks=tasks[1])

    told: list[float] = []
    context: Any = SimpleNamespace(statusTracker=Tracker)
    with watch_jobs(context, told.append, pause=0.001):
        assert ended.wait(10)
    assert told == [0.75, 13 / 16]
