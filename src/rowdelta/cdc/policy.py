"""When a stream turns its equality deletes into deletion vectors, and shows the result to readers of another branch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rowdelta.errors import InputError

if TYPE_CHECKING:
    from rowdelta.table import Table

PUBLISH_EVERY: Final = 10
_TOTAL: Final = "total-equality-deletes"


def live_equality_deletes(table: Table) -> int:
    """Live equality deletes of the branch, by its newest snapshot."""
    head = table.metadata.head(table.branch)
    return 0 if head is None else int(head.summary.get(_TOTAL, 0))


@dataclass
class ResolvePolicy:
    """Resolves every so many commits, or when so many deletes are live, or never.

    Attributes:
        every: Commits between two resolves.
        max_debt: Live equality deletes that are too many.
        publish: The branch that is moved forward to every resolved state.
    """

    every: int | None = None
    max_debt: int | None = None
    publish: str | None = None
    _since: int = 0

    def __post_init__(self) -> None:
        for name, value in (("resolve_every", self.every), ("max_debt", self.max_debt)):
            if value is not None and value < 1:
                raise InputError(f"{name}={value} is not a positive number")
        if self.publish is not None and self.every is None and self.max_debt is None:
            self.every = PUBLISH_EVERY

    def after_commit(self, table: Table) -> bool:
        """Resolves if it is time; returns whether it did."""
        self._since += 1
        often = self.every is not None and self._since >= self.every
        much = self.max_debt is not None and live_equality_deletes(table) >= self.max_debt
        return (often or much) and self.resolve(table)

    def resolve(self, table: Table) -> bool:
        """Resolves what is live, and publishes it."""
        table.resolve(publish=self.publish).execute()
        self._since = 0
        return True

    @property
    def is_behind(self) -> bool:
        """Whether commits have not been published yet."""
        return self.publish is not None and self._since > 0
