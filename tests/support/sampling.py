"""Which cases of a matrix one run executes: a sample chosen by code that covers every pair of parameter values.

A test with many parameters is a matrix: version x encoding x key x layout. `make test` runs enough cases to combine
every two values of any two parameters; `make test-all` (`--sample=all`) runs all. The seed changes every day, so that
all cases run over time. A run prints its seed, and `--sample=SEED` repeats it.

`tests/costs.json` has the seconds of one case of each test, and the share of a run that a case gets. A matrix may take
the shares of all its cases: a cheap one runs as a whole, a more expensive one covers all pairs of values or all single
values, and a slow single test runs every few days. `scripts/test_costs.py` writes the file from a run of every case.
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
_SHORT_SECONDS: Final = 12.0
SAMPLE: Final = "ROWDELTA_SAMPLE"  # the environment variable that tells tests which sample is run


def examples(few: int, many: int) -> int:
    """The number of examples for a property: few, or many in a run of every case."""
    return many if os.environ.get(SAMPLE) == ALL else few


def factors_of(parameters: Iterable[Any]) -> Factors:
    """The values of a case that a sample combines; tuples and dataclasses count as their parts.

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
    """Chooses cases that cover all combinations of `strength` values which occur in any case; returns their numbers.

    It is greedy: the next case is one with the most missing combinations, and the seed decides among equals.

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
    """The cost of tests.

    Attributes:
        share: The seconds that a sample may take for each case of the whole test.
        seconds: The seconds of one case, by test. A missing test is cheap or new.
    """

    share: float
    seconds: dict[str, float]

    def sample(self, test: str, cases: Sequence[Factors], seed: int) -> list[int]:
        """Chooses the cases of a test that a run executes, and returns their numbers."""
        return sample(test, cases, self.seconds.get(test, 0.0), self.share, seed)


@cache
def costs() -> Costs:
    """Reads tests/costs.json."""
    return Costs(**json.loads(COSTS.read_text(encoding="utf-8")))


def sample(test: str, cases: Sequence[Factors], seconds: float, share: float, seed: int) -> list[int]:
    """Chooses the cases of one test that a run executes, and returns their numbers.

    Args:
        test: The name of the test.
        cases: Its cases.
        seconds: The seconds of one case.
        share: The seconds that the sample may take for each case. All cases run if they fit, else all pairs of values,
            else all values, else a few cases. If not even one fits, a matrix of short cases runs one, and any other
            test runs one case every second, third, ... seed.
        seed: The number of the sample.

    Examples:
        >>> cases = [(a, b, c) for a in range(4) for b in range(4) for c in range(4)]
        >>> [len(sample("test", cases, seconds, 1.0, seed=1)) for seconds in (0.5, 2.0, 8.0, 40.0)]
        [64, 19, 4, 1]
        >>> [len(sample("test", [()], 24.0, 8.0, seed)) for seed in range(6)]
        [0, 0, 1, 0, 0, 1]
    """
    if seconds <= share:
        return list(range(len(cases)))
    allowed = share * len(cases)
    is_short_matrix = len(cases) > 1 and seconds <= _SHORT_SECONDS
    turns = 1 if is_short_matrix else math.ceil(seconds / allowed)
    if (seed + zlib.crc32(test.encode())) % turns:
        return []
    chosen: list[int] = []
    for strength in (2, 1):
        chosen = cover(cases, strength, seed)
        if len(chosen) * seconds <= allowed:
            return chosen
    return chosen[: max(1, int(allowed / seconds))]
