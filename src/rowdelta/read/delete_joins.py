"""Applies equality deletes as joins, which remove the rows with deleted keys.

Each is a broadcast left anti join on a 64-bit number: most of the work stays in generated code, and predicates still
reach the scan. The exact test (the bit of the key, its age, its partition) is the condition of the join, and runs only
for rows whose number matches. Sides that are too large to broadcast are joined by a shuffle on the same number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.read.merged_keys import NULL_CONTAINER
from rowdelta.spark import parse_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

AGE: Final = "__rd_age"
SPEC: Final = "__rd_spec"
PARTITION: Final = "__rd_partition"
SIDE: Final = "__rd_d_"  # before every name on the side of the deletes: a table may have columns of any other name
HASH: Final = f"{SIDE}hash"


@dataclass(frozen=True)
class DeletedKeys:
    """One side of the join: the deleted keys, and how a row finds its key.

    Attributes:
        frame: The deleted keys; the name of every column starts with `SIDE`, and `HASH` is the number to join on.
        probe: The number of a row of the table, in SQL.
        condition: The exact test, in SQL over both sides.
        size: The bytes of the frame, for the choice between broadcast and shuffle.
    """

    frame: DataFrame
    probe: str
    condition: str
    size: int

    def remove_from(self, rows: DataFrame, max_broadcast_bytes: int) -> DataFrame:
        """Selects the rows that are not deleted."""
        return rows.join(self._side(max_broadcast_bytes), self._on(), "left_anti")

    def keep_in(self, rows: DataFrame, max_broadcast_bytes: int) -> DataFrame:
        """Selects the rows that are deleted."""
        return rows.join(self._side(max_broadcast_bytes), self._on(), "left_semi")

    def _side(self, max_broadcast_bytes: int) -> DataFrame:
        return F.broadcast(self.frame) if self.size <= max_broadcast_bytes else self.frame.hint("shuffle_hash")

    def _on(self) -> Column:
        return parse_column(f"{self.probe} = {HASH} AND ({self.condition})")


def write_container_probe(key: str, *, nullable: bool, scoped: list[str]) -> str:
    """Writes the container of a row's key in SQL; with partitions, a hash of both."""
    container = f"shiftright({key}, 16)"
    if nullable:
        container = f"coalesce({container}, {NULL_CONTAINER}L)"
    return f"xxhash64({', '.join([container, *scoped])})" if scoped else container


def write_container_condition(key: str, *, aged: bool, nullable: bool) -> str:
    """Writes in SQL whether the bit of a key is set, and its delete is newer than the row."""
    word = f"get({SIDE}words, cast(shiftright({key}, 6) & 1023 as int))"
    bit = f"cast({key} & 63 as int)"
    hit = f"getbit({word}, {bit}) = 1"
    if aged:
        before = f"bit_count({word} & ~shiftleft(-1L, {bit}))"
        hit += f" AND {AGE} < get({SIDE}ages, get({SIDE}ranks, cast(shiftright({key}, 6) & 1023 as int)) + {before})"
    if not nullable:
        return hit
    null_hit = f"{AGE} < {SIDE}null_age" if aged else f"{SIDE}null_age IS NOT NULL"
    return f"if({key} IS NULL, {null_hit}, {hit})"


def write_scope_condition(fields: list[str]) -> str:
    """Writes in SQL whether a row is in the partition of the delete, given the fields of `_partition`."""
    same = [f"{field} <=> {SIDE}p{index}" for index, field in enumerate(fields)]
    return combine_tests([f"{SPEC} <=> {SIDE}spec_id", *same])


def combine_tests(tests: list[str]) -> str:
    """Writes in SQL whether all tests hold, in a form that Spark does not split.

    Spark would join on every equality that it finds, which is far slower than a join on one number.
    """
    return f"({' + '.join(f'cast({test} as int)' for test in tests)}) = {len(tests)}"
