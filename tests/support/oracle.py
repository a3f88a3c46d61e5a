"""Compares tables with their expected content. A failure lists the rows that differ.

The order of rows does not matter, duplicates do. Values are compared by how Python prints them: NaN equals NaN, 0.0
differs from -0.0, and 1 differs from 1.0 and from True.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame

    import rowdelta as rd

ROWS_LISTED = 20


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    """The rows of a DataFrame as plain sorted tuples."""
    return sorted((_make_plain(tuple(row)) for row in frame.collect()), key=repr)


def ids(table: rd.Table, **options: Any) -> list[int]:
    """The sorted ids of the live rows, as rowdelta reads them, with this column only."""
    return sorted(row[0] for row in table.read(columns=["id"], **options).collect())


def assert_same_rows(
    actual: DataFrame | Iterable[tuple[Any, ...]], expected: DataFrame | Iterable[tuple[Any, ...]]
) -> None:
    """Compares two multisets of rows, each given as a DataFrame or as tuples.

    Raises:
        AssertionError: If they differ. It counts the missing and the extra rows, and lists the first 20 of each.
    """
    want = _count_rows(expected)
    have = _count_rows(actual)
    missing, extra = want - have, have - want
    if missing or extra:
        counts = f"{have.total()} rows instead of {want.total()}"
        raise AssertionError(
            "\n".join([counts, *_list_differences("-", "missing", missing), *_list_differences("+", "extra", extra)])
        )


def assert_same_ids(actual: DataFrame, expected: Iterable[int]) -> None:
    """Compares the column `id` of a DataFrame, which is read with all of its columns."""
    assert_same_rows([(row.id,) for row in actual.collect()], [(one,) for one in expected])


def assert_same_tables(actual: DataFrame, expected: DataFrame) -> None:
    """Compares the columns, the types and the rows of two DataFrames; one job collects both."""
    assert actual.dtypes == expected.dtypes
    both = rows(actual.selectExpr("true", "*").unionAll(expected.selectExpr("false", "*")))
    assert_same_rows(
        [tuple(row) for is_actual, *row in both if is_actual],
        [tuple(row) for is_actual, *row in both if not is_actual],
    )


def _count_rows(some: DataFrame | Iterable[tuple[Any, ...]]) -> Counter[str]:
    collected: Iterable[tuple[Any, ...]] = some.collect() if hasattr(some, "collect") else some
    return Counter(repr(_make_plain(tuple(row))) for row in collected)


def _list_differences(sign: str, title: str, differing: Counter[str]) -> list[str]:
    """A line that counts the differing rows, and a line for each of the first of them."""
    if not differing:
        return []
    lines = [f"{sign} {row}{f' x{count}' if count > 1 else ''}" for row, count in sorted(differing.items())]
    cut = [f"{sign} ..."] if len(lines) > ROWS_LISTED else []
    return [f"{differing.total()} {title} ({sign}):", *lines[:ROWS_LISTED], *cut]


def _make_plain(value: Any) -> Any:
    """A value in which rows, arrays and maps are tuples."""
    if isinstance(value, (tuple, list)):
        return tuple(_make_plain(inner) for inner in value)
    if isinstance(value, dict):
        return tuple(sorted(((_make_plain(k), _make_plain(v)) for k, v in value.items()), key=repr))
    return bytes(value) if isinstance(value, bytearray) else value
