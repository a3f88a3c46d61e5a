"""Which cases of a matrix one run executes: a sample chosen by code that covers every pair of parameter values.

A test with many parameters is a matrix: version x encoding x key x layout. `make test` runs enough of its cases that
any two values of any two parameters meet in one of them; `make test-all` (`--sample=all`) runs all. The seed changes
from day to day, so that the whole matrix has its turn; it is printed, and `--sample=SEED` repeats a run.

`tests/costs.json` has the seconds that a case of a test takes, and the share of the run that each test gets: a cheap
matrix runs whole, an expensive one by single values, and a test that takes long has its turn every few days. A run of
every case measures them: `scripts/test_costs.py` writes the file.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import os
import random
import zlib
from collections.abc import Hashable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Factors: TypeAlias = tuple[Hashable, ...]

COSTS: Final = Path(__file__).parent.parent / "costs.json"
ALL: Final = "all"
SAMPLE: Final = "ROWDELTA_SAMPLE"  # the environment variable that tells tests which sample is run


def examples(few: int, many: int) -> int:
    """How many examples a property is tried on: few, or many where every case is run."""
    return many if os.environ.get(SAMPLE) == ALL else few


def factors_of(parameters: Iterable[Any]) -> Factors:
    """The values of a case that are combined: those of tuples and dataclasses one by one.

    Examples:
        >>> factors_of(["v2", ("edv", 3)])
        ('v2', 'edv', 3)
    """
    factors: list[Hashable] = []
    for value in parameters:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            factors += factors_of(getattr(value, field.name) for field in dataclasses.fields(value))
        elif isinstance(value, tuple):
            factors += factors_of(value)
        else:
            factors.append(
                value if isinstance(value, Hashable) and type(value).__repr__ is not object.__repr__ else repr(value)
            )
    return tuple(factors)


def cover(cases: Sequence[Factors], strength: int, seed: int) -> list[int]:
    """The numbers of cases in which all combinations of so many values occur that occur in any case.

    Greedy: the next case is always one with the most missing combinations; the seed decides among equals.

    Examples:
        >>> cases = [(a, b, c) for a in "xy" for b in "xy" for c in "xy"]
        >>> len(cover(cases, 2, seed=1)), len(cover(cases, 1, seed=1))
        (4, 2)
    """
    order = list(range(len(cases)))
    random.Random(seed).shuffle(order)
    combinations = {number: _combinations(cases[number], strength) for number in order}
    missing = set().union(*combinations.values()) if combinations else set()
    chosen: list[int] = []
    while missing:
        best = max(order, key=lambda number: len(combinations[number] & missing))
        chosen.append(best)
        missing -= combinations[best]
    return chosen


def _combinations(factors: Factors, strength: int) -> set[tuple[tuple[int, Hashable], ...]]:
    numbered = list(enumerate(factors))
    return set(itertools.combinations(numbered, min(strength, len(numbered))))


@dataclasses.dataclass(frozen=True)
class Costs:
    """What tests cost.

    Attributes:
        share: Seconds that the sample of one test may take.
        seconds: Seconds of one case, by the test; a test that is missing here is cheap, or new.
    """

    share: float
    seconds: dict[str, float]

    def sample(self, test: str, cases: Sequence[Factors], seed: int) -> list[int]:
        """The numbers of the cases of a test that a run executes."""
        return sample(test, cases, self.seconds.get(test, 0.0), self.share, seed)


@cache
def costs() -> Costs:
    """What is written down."""
    return Costs(**json.loads(COSTS.read_text(encoding="utf-8")))


def sample(test: str, cases: Sequence[Factors], seconds: float, share: float, seed: int) -> list[int]:
    """The numbers of the cases of one test that a run executes.

    Args:
        test: The name of the test.
        cases: Its cases.
        seconds: What one case takes.
        share: What the sample may take. All cases run if they fit, else all pairs of values, else all values, else a
            few cases; a case that takes longer than the share has its turn every second, third, ... seed.
        seed: Which sample it is.

    Examples:
        >>> cases = [(a, b, c) for a in range(4) for b in range(4) for c in range(4)]
        >>> [len(sample("test", cases, seconds, 8.0, seed=1)) for seconds in (0.01, 0.4, 2.0, 5.0)]
        [64, 19, 4, 1]
        >>> [len(sample("test", [()], 24.0, 8.0, seed)) for seed in range(6)]
        [0, 0, 1, 0, 0, 1]
    """
    if len(cases) * seconds <= share:
        return list(range(len(cases)))
    turns = math.ceil(seconds / share)
    if (seed + zlib.crc32(test.encode())) % turns:
        return []
    chosen: list[int] = []
    for strength in (2, 1):
        chosen = cover(cases, strength, seed)
        if len(chosen) * seconds <= share:
            return chosen
    return chosen[: max(1, int(share / seconds))]
