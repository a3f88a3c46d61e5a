"""The comparison that other tests rely on: what it accepts, what it rejects, and what its failure shows."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from tests.support.oracle import ROWS_LISTED, assert_same_rows


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        ([], []),
        ([(1, "a"), (2, None)], [(2, None), (1, "a")]),
        ([(math.nan,), (None,)], [(None,), (float("nan"),)]),
        ([([1, 2], {"k": "v", "l": None})], [((1, 2), {"l": None, "k": "v"})]),
        ([(bytearray(b"x"),)], [(b"x",)]),
        (((i,) for i in range(3)), [(2,), (1,), (0,)]),
    ],
)
def test_rows_are_compared_without_their_order(actual: list[tuple[object]], expected: list[tuple[object]]) -> None:
    assert_same_rows(actual, expected)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        ([(1,)], [(1,), (1,)]),
        ([(1,)], [(1.0,)]),
        ([(1,)], [(True,)]),
        ([(1,)], [("1",)]),
        ([(0.0,)], [(-0.0,)]),
        ([(None,)], [(math.nan,)]),
        ([(Decimal("1.0"),)], [(Decimal("1.00"),)]),
        ([((1, None),)], [((1,),)]),
    ],
)
def test_rows_differ_by_count_value_and_type(actual: list[tuple[object]], expected: list[tuple[object]]) -> None:
    with pytest.raises(AssertionError, match="missing"):
        assert_same_rows(actual, expected)
    with pytest.raises(AssertionError, match="extra"):
        assert_same_rows(expected, actual)


def test_a_failure_lists_the_missing_and_the_extra_rows() -> None:
    with pytest.raises(AssertionError) as failure:
        assert_same_rows([(1, "a"), (2, "b"), (2, "b"), (9, "z")], [(1, "a"), (2, "b"), (3, "c")])
    assert str(failure.value).splitlines() == [
        "4 rows instead of 3",
        "1 missing (-):",
        "- (3, 'c')",
        "2 extra (+):",
        "+ (2, 'b')",
        "+ (9, 'z')",
    ]


def test_a_failure_lists_a_few_rows_and_counts_all() -> None:
    with pytest.raises(AssertionError) as failure:
        assert_same_rows([(i,) for i in range(10, 90)] * 2, [])
    lines = str(failure.value).splitlines()
    assert lines[:3] == ["160 rows instead of 0", "160 extra (+):", "+ (10,) x2"]
    assert len(lines) == 2 + ROWS_LISTED + 1
    assert lines[-1] == "+ ..."
