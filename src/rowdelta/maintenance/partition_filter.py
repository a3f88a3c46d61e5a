"""The equality deletes that a maintenance predicate covers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rowdelta.change import as_content_file
from rowdelta.errors import InputError
from rowdelta.iceberg import build_row_filter, partition_residuals
from rowdelta.read import scope_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column

    from rowdelta.iceberg import DeleteEntry, TableHandle


@dataclass(frozen=True)
class CoveredDeletes:
    """Deletes whose every row is inside a predicate, and why others are not."""

    deletes: tuple[DeleteEntry, ...]
    skipped: tuple[str, ...] = ()


def find_covered_deletes(
    handle: TableHandle, deletes: Sequence[DeleteEntry], where: str | Column | None, *, for_iceberg: bool = False
) -> CoveredDeletes:
    """The equality deletes that can go when only the partitions of a predicate are looked at.

    A delete of the whole table also speaks for the partitions outside, so it is left out; so is one of a partition
    that the predicate covers in part.

    Args:
        handle: The table.
        deletes: The equality deletes.
        where: The predicate; None for all rows.
        for_iceberg: Whether Iceberg chooses files by the predicate afterwards, which takes some nulls for matches.

    Raises:
        InputError: The predicate is none that Iceberg understands, or it cuts through a partition.
    """
    if where is None:
        return CoveredDeletes(tuple(deletes))
    condition = build_row_filter(handle, where)
    if not condition.exact:
        raise InputError(
            f"partitions={where!r} cannot be checked against partitions",
            hint="compare partition columns with values, such as region = 'EU'",
        )
    scoped = [entry for entry in deletes if scope_of(entry, handle.metadata.specs) is not None]
    files = [as_content_file(handle, entry) for entry in scoped]
    answers = partition_residuals(handle, files, condition)
    if for_iceberg:
        theirs = partition_residuals(handle, files, replace(condition, expression=condition.translated))
        answers = [answer if answer == their else None for answer, their in zip(answers, theirs, strict=True)]
    cut = [entry for entry, answer in zip(scoped, answers, strict=True) if answer is None]
    if cut:
        raise InputError(
            f"partitions={where!r} covers the partition of {cut[0].path} only in part, or not for certain",
            hint="name whole partitions: an equality delete is resolved for all its rows or not at all",
        )
    inside = tuple(entry for entry, answer in zip(scoped, answers, strict=True) if answer)
    whole = len(deletes) - len(scoped)
    skipped = (
        (f"{whole} equality deletes are for the whole table, and stay: resolve without a predicate to be rid of them",)
        if whole
        else ()
    )
    return CoveredDeletes(inside, skipped)


def select_by_partition(handle: TableHandle, deletes: Sequence[DeleteEntry], where: str | Column) -> list[DeleteEntry]:
    """The deletes whose partition Iceberg does not rule out when it chooses files by a predicate."""
    condition = build_row_filter(handle, where)
    theirs = replace(condition, expression=condition.translated)
    answers = partition_residuals(handle, [as_content_file(handle, entry) for entry in deletes], theirs)
    return [entry for entry, answer in zip(deletes, answers, strict=True) if answer is not False]
