"""Starts the lake once for a run, and prints what was tried on which component."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.lake.lake import Lake
from tests.lake.report import Report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_REPORT: Final = pytest.StashKey[Report]()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves these tests out of a run that does not ask for them: they start servers and take minutes."""
    return None if config.option.lake else True


@pytest.fixture(scope="session")
def report(request: pytest.FixtureRequest) -> Report:
    """Collects the outcomes for the table."""
    return request.config.stash.setdefault(_REPORT, Report())


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """The cluster, the servers and the session."""
    lake = Lake(tmp_path_factory.mktemp("lake"))
    yield lake
    lake.stop()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    report = config.stash.get(_REPORT, None)
    if report is not None and report.outcomes:
        terminalreporter.section("verbs by component and format version")
        for line in report.lines():
            terminalreporter.line(line)
    if report is not None and report.requests:
        terminalreporter.section("requests to storage and to the catalog")
        for line in report.list_requests():
            terminalreporter.line(line)
