"""Converts Delta's statistics of a data file to Iceberg's metrics."""

from __future__ import annotations

import decimal
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rowdelta.delta.log_values import encode_bound
from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rowdelta.delta.schema import Leaf, Path

# Delta truncates times to milliseconds. Such bounds are right for pruning but are not the minimum and maximum, and this
# mode keeps Spark from answering min() and max() with them.
METRICS_MODE: Final = "write.metadata.metrics.column."
COUNTS: Final = "counts"
INEXACT: Final = ("timestamp", "timestamptz")


@dataclass(frozen=True)
class Metrics:
    """What a manifest says about a file's columns, by field id; it counts stored rows, not live rows."""

    record_count: int
    value_counts: Mapping[int, int] = field(default_factory=dict)
    null_value_counts: Mapping[int, int] = field(default_factory=dict)
    lower_bounds: Mapping[int, bytes] = field(default_factory=dict)
    upper_bounds: Mapping[int, bytes] = field(default_factory=dict)


def build_metrics_modes(leaves: Mapping[Path, Leaf]) -> dict[str, str]:
    """Builds the table properties that say which bounds are not exact."""
    return {f"{METRICS_MODE}{leaf.name}": COUNTS for leaf in leaves.values() if leaf.type in INEXACT}


def parse_statistics(text: str | None, leaves: Mapping[Path, Leaf], *, deletes: bool = False) -> Metrics | None:
    """Parses the statistics of a file; None if the number of rows is unknown.

    Args:
        text: The JSON text of the log.
        leaves: The columns by their names in the log.
        deletes: Whether rows of the file are deleted: then no engine takes a bound as the minimum or maximum.
    """
    if text is None:
        return None
    try:
        statistics = json.loads(text, parse_float=decimal.Decimal)
        if statistics is None or statistics.get("numRecords") is None:
            return None
        rows = int(statistics["numRecords"])
        if statistics.get("tightBounds") is False and not deletes:
            return Metrics(rows)
        nulls = dict(_select_columns(statistics.get("nullCount"), leaves))
        lows = dict(_select_columns(statistics.get("minValues"), leaves))
        highs = dict(_select_columns(statistics.get("maxValues"), leaves))
    except (ValueError, AttributeError, TypeError) as error:
        raise FormatError(f"statistics {text[:200]!r} of the Delta log cannot be read: {error}") from error
    counted = {leaf.id: int(count) for leaf, count in nulls.items()}
    return Metrics(
        record_count=rows,
        value_counts=dict.fromkeys(counted, rows),
        null_value_counts=counted,
        lower_bounds=_encode_bounds(lows, upper=False),
        upper_bounds=_encode_bounds(highs, upper=True),
    )


def _encode_bounds(values: Mapping[Leaf, Any], *, upper: bool) -> dict[int, bytes]:
    bounds = {leaf.id: encode_bound(value, leaf.type, upper=upper) for leaf, value in values.items()}
    return {number: value for number, value in bounds.items() if value is not None}


def _select_columns(values: Any, leaves: Mapping[Path, Leaf], parents: Path = ()) -> Iterator[tuple[Leaf, Any]]:
    """Yields the values of columns that the schema has; statistics may also cover dropped columns."""
    for name, value in (values or {}).items():
        path = (*parents, name)
        leaf = leaves.get(path)
        if leaf is not None and value is not None:
            yield leaf, value
        elif isinstance(value, dict):
            yield from _select_columns(value, leaves, path)
