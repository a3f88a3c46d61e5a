"""The data of the demo: orders, a stream of changes to them, and a plain model of the expected result."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

ORDERS: Final = 2_000_000
BATCHES: Final = 8
CHANGES: Final = 20_000
STATUSES: Final = ("new", "paid", "shipped", "returned")
_MOST: Final = ORDERS + BATCHES * CHANGES
_DELETED_IN_TEN: Final = 2
_INSERTED_IN_TEN: Final = 3


@dataclass
class Model:
    """Every order by its id, in plain arrays: the expected rows of the table."""

    alive: npt.NDArray[np.bool_] = field(default_factory=lambda: np.arange(_MOST) < ORDERS)
    cents: npt.NDArray[np.int64] = field(default_factory=lambda: np.arange(_MOST) * 7 % 100_000)
    status: npt.NDArray[np.int8] = field(default_factory=lambda: (np.arange(_MOST) % 3).astype(np.int8))
    next_id: int = ORDERS

    def to_arrow(self) -> pa.Table:
        """Returns the live rows, by id."""
        ids = np.flatnonzero(self.alive)
        status = pa.DictionaryArray.from_arrays(pa.array(self.status[ids]), pa.array(STATUSES)).cast(pa.string())
        return pa.table({"id": ids, "status": status, "cents": self.cents[ids]})


def write_batch(inbox: Path, number: int, model: Model) -> int:
    """Writes a file of Debezium events, some keys more than once, and applies them to the model; returns its size."""
    random = np.random.default_rng(number)
    fresh = CHANGES * _INSERTED_IN_TEN // 10
    ids = np.concatenate([random.integers(0, model.next_id, CHANGES - fresh), np.arange(fresh) + model.next_id])
    model.next_id += fresh
    deletes = np.concatenate([random.integers(0, 10, CHANGES - fresh) < _DELETED_IN_TEN, np.zeros(fresh, bool)])
    cents = random.integers(0, 100_000, CHANGES)
    status = random.integers(0, len(STATUSES), CHANGES).astype(np.int8)
    start = int(time.time() * 1000) - CHANGES
    events = [
        _make_event(int(ids[at]), bool(deletes[at]), int(cents[at]), int(status[at]), start + int(at))
        for at in random.permutation(CHANGES)
    ]
    for at in range(CHANGES):
        model.alive[ids[at]] = not deletes[at]
        model.cents[ids[at]], model.status[ids[at]] = cents[at], status[at]
    text = "".join(events)
    path = inbox / f"{number:03d}.json"
    path.with_suffix(".tmp").write_text(text, encoding="utf-8")
    os.utime(path.with_suffix(".tmp"), (1_700_000_000 + number,) * 2)  # Spark takes files in the order of their times
    path.with_suffix(".tmp").rename(path)
    return len(text)


def _make_event(number: int, deletes: bool, cents: int, status: int, at: int) -> str:
    row = {"id": number, "status": STATUSES[status], "cents": cents}
    if deletes:
        return json.dumps({"op": "d", "before": {"id": number}, "after": None, "ts_ms": at}) + "\n"
    return json.dumps({"op": "u", "before": None, "after": row, "ts_ms": at}) + "\n"
