"""Rows by file: whole runs as they were read, or sorted where a join has moved them; no Spark."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from rowdelta.change.row_locators import CODE, group_by_code


@pytest.mark.parametrize("runs", [1, 3, 5_000])
@pytest.mark.parametrize("batches", [1, 4])
def test_every_value_is_found_by_its_code_in_order(runs: int, batches: int) -> None:
    count = 20_000
    codes = (np.arange(count) * runs // count % 7).astype(np.int32)
    values = np.arange(count, dtype=np.int64)
    table = pa.table({CODE: codes, "a": values, "b": values * 2})
    cuts = np.linspace(0, count, batches + 1).astype(int).tolist()
    parts = [table.slice(start, end - start) for start, end in pairwise(cuts)]
    found = dict(group_by_code(pa.concat_tables([table.slice(0, 0), *parts]), ["a", "b"]))
    assert set(found) == set(codes.tolist())
    for code, (a, b) in found.items():
        assert a.tolist() == values[codes == code].tolist()
        assert (b == a * 2).all()


def test_no_rows_give_no_groups() -> None:
    assert list(group_by_code(pa.table({CODE: pa.array([], pa.int32()), "a": pa.array([], pa.int64())}), ["a"])) == []
