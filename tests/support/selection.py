"""A pytest plugin that chooses the cases of a run, and reports which verbs the run executed."""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter, defaultdict
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

import pytest

import rowdelta as rd
from tests.support.sampling import ALL, SAMPLE, Factors, costs, factors_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_READS: Final = ("read", "changes", "view", "delete_files", "debt", "advise")
LAKE: Final = "tests/lake"
_executed: set[str] = set()  # verbs, by the test that is running
_cases: Counter[str] = Counter()  # tests, by verb


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--sample",
        metavar="SEED",
        help=f"which sample of the matrices to run: a number, or '{ALL}' for every case; by default today's for the "
        "whole suite, and every case of files that are named",
    )
    parser.addoption(
        "--lake",
        action="store_true",
        help="also run the tests of real components, which start servers; a run that names their folder does so anyway",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.option.lake |= any(LAKE in argument for argument in config.args)
    if config.option.sample is None:  # before xdist starts its workers, which get the same options
        today = str(dt.datetime.now(dt.timezone.utc).date().toordinal())
        config.option.sample = today if _is_whole(config) else ALL
    os.environ[SAMPLE] = config.option.sample
    for verb in _operations(rd.Operation):
        verb.execute = _record_verb(verb.execute, verb.__name__)
    for name in _READS:
        setattr(rd.Table, name, _record_verb(getattr(rd.Table, name), name))


def pytest_report_header(config: pytest.Config) -> str:
    chosen = config.option.sample
    return "sample: every case" if chosen == ALL else f"sample: {chosen} (--sample={chosen} repeats it)"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.sample == ALL:
        return
    chosen = choose([item.nodeid for item in items], [_factors(item) for item in items], int(config.option.sample))
    left = [item for number, item in enumerate(items) if number not in chosen]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for number, item in enumerate(items) if number in chosen]


def choose(names: list[str], factors: list[Factors], seed: int) -> set[int]:
    """Chooses the cases that a run executes, and returns their numbers."""
    tests: dict[str, list[int]] = defaultdict(list)
    for number in sorted(range(len(names)), key=names.__getitem__):  # independent of the order of this run
        tests[names[number].split("[")[0]].append(number)
    return {
        numbers[index]
        for test, numbers in tests.items()
        for index in costs().sample(test, [factors[number] for number in numbers], seed)
    }


def _factors(item: pytest.Item) -> Factors:
    spec = getattr(item, "callspec", None)
    return () if spec is None else factors_of(spec.params.values())


def _is_whole(config: pytest.Config) -> bool:
    """Whether the run is of the whole suite."""
    narrowed = config.option.keyword or config.option.markexpr or config.option.collectonly
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not narrowed


def _operations(base: type[Any]) -> Iterator[type[Any]]:
    for verb in base.__subclasses__():
        yield verb
        yield from _operations(verb)


def _record_verb(step: Callable[..., Any], verb: str) -> Callable[..., Any]:
    @wraps(step)
    def run(*args: Any, **kwargs: Any) -> Any:
        _executed.add(verb)
        return step(*args, **kwargs)

    return run


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    _executed.clear()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    if call.when == "call":
        item.user_properties.append(("verbs", sorted(_executed)))
    yield


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call":
        for name, verbs in report.user_properties:
            if name == "verbs":
                assert isinstance(verbs, list)
                _cases.update(verbs)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if _cases:
        terminalreporter.section("cases by verb")
        for verb, count in sorted(_cases.items()):
            terminalreporter.line(f"{verb:<16} {count:>5}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails a run of the whole suite that did not execute every verb, whatever the sample."""
    whole = _is_whole(session.config) and not hasattr(session.config, "workerinput")
    unguarded = sorted({verb.__name__ for verb in _operations(rd.Operation)} - {*_cases})
    if whole and session.exitstatus == pytest.ExitCode.OK and unguarded:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        reporter.line(f"no test executed {', '.join(unguarded)}")
