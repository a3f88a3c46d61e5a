"""What every verb has in common: a plan to inspect first, and a result with its numbers."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, TypeVar

from rowdelta.spark import quiet_tasks, translate_errors

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Result:
    """What an operation did.

    Attributes:
        snapshot_id: The new snapshot; None if nothing changed.
        rows_deleted: Rows deleted; None if no row was looked up.
        rows_inserted: Rows added; None if no row was looked up.
        rows_updated: Rows changed; None if no row was looked up.
        data_files_added: New data files.
        data_files_removed: Data files that the table no longer has.
        delete_files_added: New delete files.
        delete_files_removed: Delete files that the table no longer has.
        bytes_added: The size of all new files.
        seconds: How long it took.

    Examples:
        >>> result = t.delete("status = 'void'").execute()
        >>> result.rows_deleted, result.delete_files_added, result.snapshot_id == t.metadata.current_snapshot_id
        (1, 1, True)
        >>> t.delete("status = 'void'").execute().snapshot_id is None  # nothing is left to delete
        True
    """

    snapshot_id: int | None = None
    rows_deleted: int | None = 0
    rows_inserted: int | None = 0
    rows_updated: int | None = 0
    data_files_added: int = 0
    data_files_removed: int = 0
    delete_files_added: int = 0
    delete_files_removed: int = 0
    bytes_added: int = 0
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Returns the numbers as a dictionary.

        Examples:
            >>> Result(rows_deleted=3).to_dict()["rows_deleted"]
            3
        """
        return asdict(self)


@dataclass(frozen=True)
class Plan:
    """What an operation would do, step by step. Making a plan changes nothing.

    Examples:
        >>> print(t.upsert(changes, key="id", order_by="seq", delete_when="op = 'D'").plan())
        upsert into lake.db.orders
          key       id
          keys      3, of which 1 are deleted
          scope     global: the table has no partitions
          lane      keys (the table allows equality delete vectors)
          scan      none: the rows are not looked up
          encoding  equality-delete-vector: 3 keys of long column 'id' as a bitmap
    """

    title: str
    steps: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        width = max((len(name) for name, _ in self.steps), default=0)
        return "\n".join([self.title, *(f"  {name:<{width}}  {text}" for name, text in self.steps)])

    def to_dict(self) -> dict[str, str]:
        """Returns the steps as a dictionary; steps of the same name become one text.

        Examples:
            >>> Plan("delete from lake.db.orders", (("rows", "none: the table is empty"),)).to_dict()
            {'plan': 'delete from lake.db.orders', 'rows': 'none: the table is empty'}
        """
        texts = {"plan": self.title}
        for name, text in self.steps:
            texts[name] = f"{texts[name]}; {text}" if name in texts else text
        return texts


ResultT = TypeVar("ResultT", bound=Result)
Step = ParamSpec("Step")
Returned = TypeVar("Returned")
_STEPS: Final = ("plan", "execute")


def with_translated_errors(step: Callable[Step, Returned]) -> Callable[Step, Returned]:
    """Wraps a method of a verb: errors of Spark and Java become `RowDeltaError`s, and Spark does not log them first."""

    @functools.wraps(step)
    def run(*args: Step.args, **kwargs: Step.kwargs) -> Returned:
        self: Any = args[0]
        spark = self._spark if hasattr(self, "_spark") else self._handle.spark
        with translate_errors(spark), quiet_tasks(spark):
            return step(*args, **kwargs)

    return run


class Operation(ABC, Generic[ResultT]):
    """A verb with its arguments, ready to be planned or executed.

    `execute` follows one order in every verb: it opens the target, finds rows or keys, stages files, commits them in
    one snapshot and returns the result.

    Examples:
        >>> delete = t.delete("status = 'void'")  # nothing has happened yet
        >>> delete.execute().rows_deleted
        1
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Wraps `plan` and `execute` of every verb in `with_translated_errors`."""
        super().__init_subclass__(**kwargs)
        for name in _STEPS:
            if name in cls.__dict__:
                setattr(cls, name, with_translated_errors(cls.__dict__[name]))

    @abstractmethod
    def plan(self) -> Plan:
        """Says what `execute` would do. Changes nothing.

        Examples:
            >>> print(t.delete("id <= 4").plan())
            delete from lake.db.orders
              mode       metadata alone (every row of these files matches)
              encoding   none: no delete is written
              isolation  serializable
              filter     id <= 4
              files      1 to drop, 0 pruned
              rows       4 in these files
              bytes      ...
        """

    @abstractmethod
    def execute(self) -> ResultT:
        """Executes the verb, in one snapshot or not at all.

        Examples:
            >>> t.delete("id <= 4").execute().rows_deleted
            4
        """
