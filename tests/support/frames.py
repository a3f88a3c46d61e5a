"""Whole-table comparison whose failure shows the rows that differ."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    """The rows of a DataFrame as plain sorted tuples."""
    return sorted((_plain(tuple(row)) for row in frame.collect()), key=repr)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_plain(inner) for inner in value)
    if isinstance(value, list):
        return tuple(_plain(inner) for inner in value)
    if isinstance(value, dict):
        return tuple(sorted(((_plain(k), _plain(v)) for k, v in value.items()), key=repr))
    return bytes(value) if isinstance(value, bytearray) else value


def assert_same_rows(found: DataFrame, expected: DataFrame | list[tuple[Any, ...]]) -> None:
    """Fails with the missing and the unexpected rows; the order of rows does not matter, duplicates do."""
    want = expected if isinstance(expected, list) else rows(expected)
    _assert_same(rows(found), [_plain(row) for row in want])


def assert_same_tables(found: DataFrame, expected: DataFrame) -> None:
    """The same for two frames of the same columns and types, both collected in one job."""
    assert found.dtypes == expected.dtypes
    both = rows(found.selectExpr("true", "*").unionAll(expected.selectExpr("false", "*")))
    _assert_same([row for ours, *row in both if ours], [row for ours, *row in both if not ours])


def _assert_same(found: Sequence[Any], expected: Sequence[Any]) -> None:
    have, want = Counter(map(repr, found)), Counter(map(repr, expected))
    missing, extra = want - have, have - want
    shown = [
        *(f"- {row} x{n}" for row, n in missing.most_common(10)),
        *(f"+ {row} x{n}" for row, n in extra.most_common(10)),
    ]
    assert not shown, f"{missing.total()} rows are missing (-), {extra.total()} are too many (+):\n" + "\n".join(shown)
