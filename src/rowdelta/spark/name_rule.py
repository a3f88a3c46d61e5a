"""Which columns a name stands for: Spark's setting `spark.sql.caseSensitive` decides, for rowdelta as for Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class NameRule:
    """How names are compared: letter by letter, or in any case."""

    case_sensitive: bool = False

    def fold(self, name: str) -> str:
        """What two names have in common that are the same."""
        return name if self.case_sensitive else name.lower()

    def same(self, left: str, right: str) -> bool:
        """Whether two names are the same."""
        return self.fold(left) == self.fold(right)

    def find(self, name: str, names: Iterable[str]) -> list[str]:
        """The names that a name stands for; more than one where it is ambiguous.

        Examples:
            >>> NameRule(case_sensitive=True).find("id", ["id", "ID"]), NameRule().find("iD", ["id", "v"])
            (['id'], ['id'])
        """
        wanted = self.fold(name)
        return [known for known in names if self.fold(known) == wanted]

    def by_name(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Names by what `fold` makes of them."""
        found: dict[str, list[str]] = {}
        for name in names:
            found.setdefault(self.fold(name), []).append(name)
        return found

    def clashes(self, names: Sequence[str]) -> list[str]:
        """Names that no statement can tell from another one of them.

        Examples:
            >>> NameRule().clashes(["id", "ID", "v"]), NameRule(case_sensitive=True).clashes(["id", "ID"])
            (['id', 'ID'], [])
        """
        return [name for alike in self.by_name(names).values() if len(alike) > 1 for name in alike]


ANY_CASE: Final = NameRule()


def read_name_rule(spark: SparkSession) -> NameRule:
    """The rule of a session, as it is now."""
    return NameRule(bool(spark._jsparkSession.sessionState().conf().caseSensitiveAnalysis()))
