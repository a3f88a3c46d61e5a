"""What Iceberg's rewrite of data files is asked to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rowdelta.choices import CompactStrategy, check_choice
from rowdelta.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

DANGLING: Final = "remove-dangling-deletes"


@dataclass(frozen=True)
class CompactOptions:
    """What Iceberg's rewrite is asked to do; see `Table.compact`."""

    strategy: CompactStrategy = "binpack"
    sort_order: str | None = None
    data_files: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_choice("strategy", self.strategy, CompactStrategy)
        if self.strategy == "binpack" and self.sort_order is not None:
            raise InputError("binpack takes no sort_order", hint="use strategy='sort'")
        if self.strategy == "zorder" and not self.sort_order:
            raise InputError("zorder needs columns", hint="name them: sort_order='region, ts'")

    @property
    def is_whole(self) -> bool:
        """Whether Iceberg rewrites all data files, in one commit."""
        every, parts = (_is_true(self.options.get(name)) for name in ("rewrite-all", "partial-progress.enabled"))
        return self.data_files is None and every and not parts

    def build_arguments(self, table: str, branch: str) -> dict[str, Any]:
        """Builds the arguments of `rewrite_data_files`."""
        order = f"zorder({self.sort_order})" if self.strategy == "zorder" else self.sort_order
        arguments = {
            "table": table,
            "strategy": "binpack" if self.strategy == "binpack" else "sort",
            "sort_order": order,
            # Iceberg looks for dangling deletes on main alone; `compact` does it itself, on any branch.
            "options": {key: str(value) for key, value in self.options.items() if key != DANGLING} or None,
            "where": self.data_files,
            "branch": branch,
        }
        return {name: value for name, value in arguments.items() if value is not None}


def _is_true(value: object) -> bool:
    return str(value).strip().lower() == "true"
