"""Selects the deletes that a maintenance predicate covers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rowdelta.change import to_content_file
from rowdelta.errors import InputError
from rowdelta.iceberg import build_row_filter, evaluate_partitions
from rowdelta.read import find_scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column

    from rowdelta.iceberg import DeleteEntry, TableHandle


@dataclass(frozen=True)
class CoveredDeletes:
    """Deletes whose rows are all inside a predicate, and why others are skipped."""

    deletes: tuple[DeleteEntry, ...]
    skipped: tuple[str, ...] = ()


def find_covered_deletes(
    handle: TableHandle, deletes: Sequence[DeleteEntry], where: str | Column | None, *, for_iceberg: bool = False
) -> CoveredDeletes:
    """Finds the equality deletes to remove when only the partitions of a predicate are read.

    A delete of the whole table also applies to the partitions outside, so it is skipped. A partition must be covered
    as a whole.

    Args:
        handle: The table.
        deletes: The equality deletes.
        where: The predicate; None for all rows.
        for_iceberg: Whether Iceberg selects files by the predicate afterwards; it treats some nulls as matches.

    Raises:
        InputError: Iceberg cannot evaluate the predicate, or it cuts through a partition.
    """
    if where is None:
        return CoveredDeletes(tuple(deletes))
    condition = build_row_filter(handle, where)
    if not condition.exact:
        raise InputError(
            f"partitions={where!r} cannot be checked against partitions",
            hint="compare partition columns with values, such as region = 'EU'",
        )
    scoped = [entry for entry in deletes if find_scope(entry, handle.metadata.specs) is not None]
    files = [to_content_file(handle, entry) for entry in scoped]
    answers = evaluate_partitions(handle, files, condition)
    if for_iceberg:
        by_iceberg = evaluate_partitions(handle, files, replace(condition, expression=condition.translated))
        answers = [answer if answer == other else None for answer, other in zip(answers, by_iceberg, strict=True)]
    partial = [entry for entry, answer in zip(scoped, answers, strict=True) if answer is None]
    if partial:
        raise InputError(
            f"partitions={where!r} covers the partition of {partial[0].path} only in part, or may do so",
            hint="name whole partitions: an equality delete is resolved for all its rows or not at all",
        )
    inside = tuple(entry for entry, answer in zip(scoped, answers, strict=True) if answer)
    table_wide = len(deletes) - len(scoped)
    if not table_wide:
        return CoveredDeletes(inside)
    reason = (
        f"{table_wide} equality deletes apply to the whole table, and stay: resolve without a predicate to remove them"
    )
    return CoveredDeletes(inside, (reason,))


def select_by_partition(handle: TableHandle, deletes: Sequence[DeleteEntry], where: str | Column) -> list[DeleteEntry]:
    """Selects the deletes whose partition Iceberg does not rule out when it selects files by a predicate."""
    condition = build_row_filter(handle, where)
    translated = replace(condition, expression=condition.translated)
    answers = evaluate_partitions(handle, [to_content_file(handle, entry) for entry in deletes], translated)
    return [entry for entry, answer in zip(deletes, answers, strict=True) if answer is not False]
