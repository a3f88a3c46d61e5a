"""The table at the end of a run: which verb gave the right rows on which component."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tests.lake.components import COMPONENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSIONS: Final = (2, 3)


@dataclass(frozen=True)
class Outcome:
    """How a verb ended."""

    passed: bool
    seconds: float

    def __str__(self) -> str:
        return "ok" if self.passed else "FAILED"


@dataclass
class Report:
    """What was run, by the verb, the component and the format version."""

    outcomes: dict[tuple[str, str, int], Outcome] = field(default_factory=dict)
    requests: dict[str, tuple[int, int]] = field(default_factory=dict)  # to storage and to the catalog, by verb

    def list_requests(self) -> Iterator[str]:
        """A line for each verb whose requests were counted."""
        for verb, (storage, catalog) in sorted(self.requests.items()):
            yield f"{verb:<24} {storage:>4} {catalog:>4}"

    def lines(self) -> Iterator[str]:
        """A line for each verb, and a column for each component, with both format versions and the mean seconds."""
        verbs = list(dict.fromkeys(verb for verb, _, _ in self.outcomes))
        width = max(map(len, verbs), default=0)
        yield _join_cells("", width, [*COMPONENTS, "seconds"])
        yield _join_cells("", width, ["v2 v3"] * len(COMPONENTS))
        for verb in verbs:
            ran = [outcome for (name, _, _), outcome in self.outcomes.items() if name == verb]
            seconds = f"{sum(outcome.seconds for outcome in ran) / len(ran):.1f}"
            yield _join_cells(verb, width, [*(self._describe(verb, name) for name in COMPONENTS), seconds])
        totals = [self._count_seconds(name) for name in COMPONENTS]
        yield _join_cells("seconds", width, [*(f"{total:.0f}" for total in totals), f"{sum(totals):.0f}"])

    def _describe(self, verb: str, component: str) -> str:
        return " ".join(str(self.outcomes.get((verb, component, version), "-")) for version in VERSIONS)

    def _count_seconds(self, component: str) -> float:
        return sum(outcome.seconds for (_, name, _), outcome in self.outcomes.items() if name == component)


def _join_cells(title: str, width: int, cells: list[str]) -> str:
    return f"{title:<{width}}" + "".join(f"{cell:>10}" for cell in cells)
