"""Writes tests/costs.json from the report of a run of every case: what tests cost, and what a run can afford.

    pytest -n 2 --sample=all --junitxml=report.xml
    python scripts/test_costs.py report.xml

Two workers on two cores share the time, so that the seconds of all cases add up to twice those of the run.
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
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
CHEAP_SECONDS: Final = 0.2
SHARES: Final = (64.0, 32.0, 24.0, 16.0, 12.0, 10.0, 8.0, 6.0, 5.0, 4.0, 3.0, 2.5, 2.0, 1.5, 1.0, 0.7, 0.5)
SEEDS: Final = range(10)


def main() -> None:
    """Reads the reports and writes the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", type=Path, nargs="+")
    parser.add_argument("--budget", type=float, default=640.0, help="seconds that the cases of a run may take together")
    arguments = parser.parse_args()
    times: dict[str, dict[str, float]] = defaultdict(dict)
    for report in arguments.reports:
        for case in ET.parse(report).iter("testcase"):  # noqa: S314
            times[_test(case)][case.get("name", "")] = float(case.get("time", 0))
    seconds = {test: round(statistics.mean(cases.values()), 2) for test, cases in sorted(times.items())}
    dear = {test: found for test, found in seconds.items() if found >= CHEAP_SECONDS}
    cheap = sum(sum(cases.values()) for test, cases in times.items() if test not in dear)
    (ROOT / "tests" / "costs.json").write_text(
        json.dumps({"share": _share(times, dear, arguments.budget - cheap), "seconds": dear}, indent=1) + "\n"
    )


def _test(case: ET.Element) -> str:
    folder, _, module = case.get("classname", "").rpartition(".")
    name = re.sub(r"\[.*", "", case.get("name", ""))
    return f"{'/'.join([*folder.split('.'), module])}.py::{name}"


def _share(times: dict[str, dict[str, float]], seconds: dict[str, float], budget: float) -> float:
    """The largest share with which a run keeps to the budget, for a few seeds."""
    from tests.support.sampling import sample  # noqa: PLC0415 - the folder of the project is on the path by now

    for share in SHARES:
        worst = max(
            sum(
                seconds[test] * len(sample(test, [tuple(_words(name)) for name in cases], seconds[test], share, seed))
                for test, cases in times.items()
                if test in seconds
            )
            for seed in SEEDS
        )
        if worst <= budget:
            return share
    return SHARES[-1]


def _words(name: str) -> list[str]:
    """The values of a case, as its id has them: near enough to count how many cases a sample has."""
    return re.sub(r".*?\[|\]$", "", name).split("-")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
