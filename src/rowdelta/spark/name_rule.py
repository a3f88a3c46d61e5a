"""Compares column names with or without case, as the setting `spark.sql.caseSensitive` says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class NameRule:
    """Whether names that differ only in case are equal."""

    case_sensitive: bool = False

    def fold(self, name: str) -> str:
        """Returns the form that equal names share."""
        return name if self.case_sensitive else name.lower()

    def same(self, left: str, right: str) -> bool:
        """Whether two names are equal."""
        return self.fold(left) == self.fold(right)

    def find(self, name: str, names: Iterable[str]) -> list[str]:
        """Finds the names that equal a name; more than one if it is ambiguous.

        Examples:
            >>> NameRule(case_sensitive=True).find("id", ["id", "ID"]), NameRule().find("iD", ["id", "v"])
            (['id'], ['id'])
        """
        folded = self.fold(name)
        return [other for other in names if self.fold(other) == folded]

    def by_name(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Groups names by their folded form."""
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(self.fold(name), []).append(name)
        return groups

    def clashes(self, names: Sequence[str]) -> list[str]:
        """Finds the names that equal another one of them, so that no statement can distinguish them.

        Examples:
            >>> NameRule().clashes(["id", "ID", "v"]), NameRule(case_sensitive=True).clashes(["id", "ID"])
            (['id', 'ID'], [])
        """
        return [name for group in self.by_name(names).values() if len(group) > 1 for name in group]


ANY_CASE: Final = NameRule()


def read_name_rule(spark: SparkSession) -> NameRule:
    """Reads the current rule of a session."""
    return NameRule(bool(spark._jsparkSession.sessionState().conf().caseSensitiveAnalysis()))
