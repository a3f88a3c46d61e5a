from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowdelta.encoding import DeleteEncoding, EncodingCostEstimator, FileContent
from rowdelta.errors import EncodingError

FULL_ROW, VECTOR = DeleteEncoding.FULL_ROW, DeleteEncoding.DELETION_VECTOR
POSITION, EQUALITY = FileContent.POSITION, FileContent.EQUALITY
estimator = EncodingCostEstimator()


def test_sparse_deletes_prefer_a_deletion_vector() -> None:
    assert estimator.choose_encoding(EQUALITY, 1000, 1_000_000, ["long"]) is VECTOR


def test_dense_deletes_prefer_full_row() -> None:
    assert estimator.choose_encoding(EQUALITY, 600_000, 1_000_000, ["long"]) is FULL_ROW


@pytest.mark.parametrize(
    ("type_name", "size"),
    [
        ("int", 4),
        ("long", 8),
        ("float", 4),
        ("double", 8),
        ("date", 4),
        ("timestamp", 8),
        ("timestamptz", 8),
        ("string", 64),
        ("binary", 128),
        ("boolean", 32),
        ("time", 32),
        ("uuid", 32),
        ("timestamp_ns", 32),
        ("decimal(10,2)", 32),
        ("fixed[16]", 32),
        ("struct<1: a: optional long>", 32),
        ("list<long>", 32),
    ],
)
def test_the_size_of_a_field_depends_on_its_type(type_name: str, size: int) -> None:
    assert estimator.estimate_field_size(type_name) == size


@pytest.mark.parametrize(
    ("count", "types", "cost"),
    [
        (0, ["long"], 0),
        (1, ["long"], 2),
        (2, ["long"], 5),
        (3, ["long"], 8),
        (1000, ["long"], 2666),
        (1, ["int"], 1),
        (100, ["int", "string"], 2266),
        (10, ["string", "binary", "decimal(10,2)"], 746),
        (10, [], 0),
        (1, None, 88),
        (1000, None, 88_000),
        (10**15, ["long"], 2_666_666_666_666_666),
    ],
)
def test_full_row_cost_is_the_row_size_over_three_rounded_down(count: int, types: list[str] | None, cost: int) -> None:
    assert estimator.estimate_full_row_cost(count, types) == cost


@pytest.mark.parametrize(("count", "cost"), [(0, 1024), (1, 1025), (1000, 2024), (1_000_000, 1_001_024)])
@pytest.mark.parametrize(("content", "types"), [(EQUALITY, ["long"]), (POSITION, None)])
def test_a_vector_costs_a_byte_for_each_delete_and_the_puffin_file(
    content: FileContent, types: list[str] | None, count: int, cost: int
) -> None:
    assert estimator.estimate_deletion_vector_cost(content, count, types) == cost


@pytest.mark.parametrize("types", [None, [], ["int"], ["string"], ["timestamptz"], ["long", "long"], ["struct<>"]])
def test_a_vector_has_no_cost_where_it_is_not_applicable(types: list[str] | None) -> None:
    assert estimator.estimate_deletion_vector_cost(EQUALITY, 10, types) is None
    assert estimator.choose_encoding(EQUALITY, 10, 1_000_000, types) is FULL_ROW


@pytest.mark.parametrize(
    ("content", "count", "total", "types", "encoding"),
    [
        # 8n/3 > n + 1024 from 615 deletes on.
        (EQUALITY, 614, 1_000_000, ["long"], FULL_ROW),
        (EQUALITY, 615, 1_000_000, ["long"], VECTOR),
        (EQUALITY, 100, 1_000_000, ["long"], FULL_ROW),
        # Exactly half is too much.
        (EQUALITY, 499_999, 1_000_000, ["long"], VECTOR),
        (EQUALITY, 500_000, 1_000_000, ["long"], FULL_ROW),
        (EQUALITY, 2_000_000, 1_000_000, ["long"], FULL_ROW),
        (POSITION, 11, 1_000_000, None, FULL_ROW),
        (POSITION, 12, 1_000_000, None, VECTOR),
        (POSITION, 600_000, 1_000_000, None, FULL_ROW),
        (EQUALITY, 0, 1_000_000, ["long"], FULL_ROW),
    ],
)
def test_a_vector_is_chosen_for_less_than_half_of_the_rows_if_it_is_smaller(
    content: FileContent, count: int, total: int, types: list[str] | None, encoding: DeleteEncoding
) -> None:
    assert estimator.choose_encoding(content, count, total, types) is encoding


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_a_table_without_rows_gets_full_row(count: int) -> None:
    assert estimator.selectivity(count, 0) == float("inf")
    assert estimator.choose_encoding(EQUALITY, count, 0, ["long"]) is FULL_ROW


def test_negative_counts_are_refused() -> None:
    with pytest.raises(EncodingError, match="the delete count is -1"):
        estimator.estimate_full_row_cost(-1, ["long"])
    with pytest.raises(EncodingError, match="the delete count is -1"):
        estimator.estimate_deletion_vector_cost(POSITION, -1, None)
    with pytest.raises(EncodingError, match="the total row count is -2"):
        estimator.choose_encoding(EQUALITY, 1, -2, ["long"])


@given(count=st.integers(0, 2**40), total=st.integers(1, 2**40))
def test_the_choice_is_the_formula(count: int, total: int) -> None:
    expected = VECTOR if count / total < 0.5 and count + 1024 < count * 8 // 3 else FULL_ROW
    assert estimator.choose_encoding(EQUALITY, count, total, ["long"]) is expected
