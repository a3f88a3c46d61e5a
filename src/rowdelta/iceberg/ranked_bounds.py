"""The bounds and null counts of one column in many files, compared as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rowdelta.iceberg.bounds import decode_bound
from rowdelta.iceberg.live_files import ColumnMetrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from rowdelta.iceberg.live_files import LiveData, LiveDelete
    from rowdelta.iceberg.schema import Field

_UNKNOWN: Final = -1


class RankedColumn:
    """The bounds and null counts of one column in every data file, bounds as ranks among all bounds of the column."""

    def __init__(self, column: Field, data: Sequence[LiveData], deletes: Sequence[LiveDelete]) -> None:
        self._type = column.type_name
        # A required field of an optional struct can be null all the same.
        self._required = column.required and len(column.path) < 2  # noqa: PLR2004
        missing = ColumnMetrics()
        of_data = [file.metrics.get(column.id, missing) for file in data]
        bounds = [
            self._decode(bound)
            for metrics in (*of_data, *(d.metrics[column.id] for d in deletes if column.id in d.metrics))
            for bound in (metrics.lower, metrics.upper)
        ]
        self._ranks = {value: rank for rank, value in enumerate(sorted({v for v in bounds if v is not None}))}
        self._lower = self._make_array(self._find_rank(metrics.lower) for metrics in of_data)
        self._upper = self._make_array(self._find_rank(metrics.upper) for metrics in of_data)
        self._nulls = self._make_array(_UNKNOWN if metrics.nulls is None else metrics.nulls for metrics in of_data)
        self._values = self._make_array(_UNKNOWN if metrics.values is None else metrics.values for metrics in of_data)

    def may_match(self, delete: ColumnMetrics | None, files: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Returns which of some data files may hold a value of the delete file."""
        delete = delete or ColumnMetrics()
        lower, upper = self._find_rank(delete.lower), self._find_rank(delete.upper)
        possible = np.ones(len(files), dtype=bool)
        if _UNKNOWN not in {lower, upper}:
            data_lower, data_upper = self._lower[files], self._upper[files]
            bounded = (data_lower != _UNKNOWN) & (data_upper != _UNKNOWN)
            possible = ~bounded | ((data_lower <= upper) & (lower <= data_upper))
        if self._required:
            return possible
        nulls = self._nulls[files]
        if delete.nulls == 0:
            possible &= (nulls != self._values[files]) | (nulls == _UNKNOWN)
            return possible
        if delete.nulls is not None and delete.nulls == delete.values:
            possible &= nulls != 0
        possible |= nulls != 0  # both may hold a null
        return possible

    def _find_rank(self, bound: bytes | None) -> int:
        value = self._decode(bound)
        return _UNKNOWN if value is None else self._ranks[value]

    def _decode(self, bound: bytes | None) -> Any:
        return decode_bound(self._type, bound)

    @staticmethod
    def _make_array(values: Iterable[int]) -> npt.NDArray[np.int64]:
        return np.fromiter(values, dtype=np.int64)
