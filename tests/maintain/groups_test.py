"""Groups of files, and the progress through them; no Spark."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rowdelta.iceberg import LiveData
from rowdelta.maintain.groups import in_groups, portion
from rowdelta.maintain.progress import Portion, Progress, reporting

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


def file(number: int, records: int) -> LiveData:
    return LiveData(f"f{number}", 0, (), 1, records, records * 10, {})


def test_files_are_grouped_by_what_their_positions_may_take() -> None:
    files = [file(number, records) for number, records in enumerate([64_000, 64_000, 6_400_000, 64_000])]
    one = 64_000 // 64 * 128 + 2048
    groups = in_groups(files, 2 * one)
    assert [[found.path for found in group] for group in groups] == [["f0", "f1"], ["f2"], ["f3"]]
    assert in_groups(files, 1 << 30) == [files]
    assert in_groups([], 1 << 30) == []
    assert portion(groups[0]) == Portion(128_000, 1_280_000)


def test_progress_counts_groups_and_guesses_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock: Iterator[float] = iter([0.0, 2.0, 3.0])
    monkeypatch.setattr("rowdelta.maintain.progress.time.monotonic", lambda: next(clock))
    seen: list[Progress] = []
    portions = [Portion(100, 10), Portion(300, 30)]
    with reporting("resolve t", portions, seen.append) as reporter:
        for group in portions:
            reporter.done(group)
    assert [(now.groups_done, now.rows_done, now.bytes_done) for now in seen] == [(1, 100, 10), (2, 400, 40)]
    assert [now.seconds_left for now in seen] == [6.0, 0.0]
    assert Progress("resolve t", 1, 1, 1).seconds_left is None


def test_a_terminal_gets_a_bar_and_a_pipe_gets_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    portions = [Portion(1000, 10)]
    with reporting("resolve t", portions, None) as reporter:
        reporter.done(portions[0])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with reporting("resolve t", portions, None) as reporter:
        reporter.done(portions[0])
    assert "resolve t" in capsys.readouterr().err
