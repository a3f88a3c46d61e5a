"""The complete description of a merge."""

from __future__ import annotations

from dataclasses import dataclass

from rowdelta.merge.clauses import BY_SOURCE, MATCHED, Clause, select_clauses
from rowdelta.merge.matching import Matching


@dataclass(frozen=True)
class MergeSpec(Matching):
    """A merge whose clauses are complete.

    Attributes:
        clauses: What happens to rows; the first clause that applies wins.
        mode: `merge-on-read` or `copy-on-write`.
        mode_reason: Why this mode.
        isolation: `serializable` or `snapshot`.
    """

    clauses: tuple[Clause, ...]
    mode: str
    mode_reason: str
    isolation: str

    def list_clauses(self, *kinds: str) -> list[tuple[int, Clause]]:
        """Selects the clauses for some kinds of rows, with their numbers."""
        return select_clauses(self.clauses, *kinds)

    @property
    def keeps_all_rows(self) -> bool:
        """Whether a clause applies to rows that nothing matches."""
        return bool(self.list_clauses(BY_SOURCE))

    @property
    def updates(self) -> list[tuple[int, Clause]]:
        """The clauses that update rows, with their numbers."""
        changes = self.list_clauses(MATCHED, BY_SOURCE)
        return [(number, clause) for number, clause in changes if clause.action == "update"]

    @property
    def replaces_rows(self) -> bool:
        """Whether every matched row is replaced by a row of the source, so that no old value is read."""
        changes = [clause for _, clause in self.list_clauses(MATCHED, BY_SOURCE)]
        return len(changes) == 1 and changes[0].action == "update" and changes[0].is_plain
