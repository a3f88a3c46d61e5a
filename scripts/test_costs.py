"""Writes tests/costs.json from the report of a run of every case: what tests cost, and what a run can afford.

    pytest -n 2 --sample=all --junitxml=all.xml
    pytest -n 2 --junitxml=sample.xml
    python scripts/test_costs.py all.xml sample.xml

Two workers on two cores share the time, so that the seconds of all cases add up to twice those of the run. A later
report counts for the tests that it has: tests of properties try fewer examples in a sample.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import xml.etree.ElementTree as ET  # the reports are our own
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

ROOT: Final = Path(__file__).resolve().parent.parent
CHEAP_SECONDS: Final = 0.2
SHARES: Final = (8.0, 6.0, 4.0, 3.0, 2.5, 2.0, 1.8, 1.6, 1.4, 1.2, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
SEEDS: Final = range(10)


def main() -> None:
    """Reads the reports and writes the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", type=Path, nargs="+")
    parser.add_argument("--budget", type=float, default=640.0, help="seconds that the cases of a run may take together")
    arguments = parser.parse_args()
    cases: dict[str, set[str]] = defaultdict(set)
    seconds: dict[str, float] = {}
    for report in arguments.reports:
        times = _read_times(report)
        for test, by_case in times.items():
            cases[test].update(by_case)
            seconds[test] = round(statistics.mean(by_case.values()), 2)
    expensive = {test: found for test, found in sorted(seconds.items()) if found >= CHEAP_SECONDS}
    cheap = sum(len(cases[test]) * found for test, found in seconds.items() if test not in expensive)
    share = _choose_share(cases, expensive, arguments.budget - cheap)
    (ROOT / "tests" / "costs.json").write_text(json.dumps({"share": share, "seconds": expensive}, indent=1) + "\n")


def _read_times(report: Path) -> dict[str, dict[str, float]]:
    """Reads the seconds of every case, by test and case."""
    times: dict[str, dict[str, float]] = defaultdict(dict)
    for case in ET.parse(report).iter("testcase"):  # noqa: S314
        times[_test(case)][case.get("name", "")] = float(case.get("time", 0))
    return times


def _test(case: ET.Element) -> str:
    folder, _, module = case.get("classname", "").rpartition(".")
    name = re.sub(r"\[.*", "", case.get("name", ""))
    return f"{'/'.join([*folder.split('.'), module])}.py::{name}"


def _choose_share(cases: Mapping[str, Collection[str]], seconds: Mapping[str, float], budget: float) -> float:
    """Chooses the largest share with which a run keeps to the budget, for a few seeds."""
    from tests.support.sampling import sample  # noqa: PLC0415 - the folder of the project is on the path by now

    factors = {test: [tuple(_words(name)) for name in sorted(cases[test])] for test in seconds}
    for share in SHARES:
        runs = (
            sum(cost * len(sample(test, factors[test], cost, share, seed)) for test, cost in seconds.items())
            for seed in SEEDS
        )
        if max(runs) <= budget:
            return share
    return SHARES[-1]


def _words(name: str) -> list[str]:
    """The values of a case, as its id has them: near enough to count how many cases a sample has."""
    return re.sub(r".*?\[|\]$", "", name).split("-")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
