"""Delta's statistics of a data file as Iceberg's metrics."""

from __future__ import annotations

import decimal
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rowdelta.delta.log_values import bound
from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rowdelta.delta.schema import Leaf, Path

# Delta cuts times to milliseconds. Such bounds are right for pruning but are not the least and greatest values, and
# this mode keeps Spark from answering min() and max() with them.
METRICS_MODE: Final = "write.metadata.metrics.column."
COUNTS: Final = "counts"
INEXACT: Final = ("timestamp", "timestamptz")


@dataclass(frozen=True)
class Metrics:
    """What a manifest says of a file's columns, by field id; record counts are of stored rows, not of live ones."""

    record_count: int
    value_counts: Mapping[int, int] = field(default_factory=dict)
    null_value_counts: Mapping[int, int] = field(default_factory=dict)
    lower_bounds: Mapping[int, bytes] = field(default_factory=dict)
    upper_bounds: Mapping[int, bytes] = field(default_factory=dict)


def metrics_modes(leaves: Mapping[Path, Leaf]) -> dict[str, str]:
    """The table properties that say which bounds are not exact."""
    return {f"{METRICS_MODE}{leaf.name}": COUNTS for leaf in leaves.values() if leaf.type in INEXACT}


def parse_statistics(text: str | None, leaves: Mapping[Path, Leaf], *, deletes: bool = False) -> Metrics | None:
    """Reads the statistics of a file; None where the number of rows is not known.

    Args:
        text: The JSON text of the log.
        leaves: The columns by the names that the log gives them.
        deletes: Whether rows of the file are deleted: then no engine takes a bound for the least or greatest value.
    """
    if text is None:
        return None
    try:
        found = json.loads(text, parse_float=decimal.Decimal)
        if found is None or found.get("numRecords") is None:
            return None
        rows = int(found["numRecords"])
        if found.get("tightBounds") is False and not deletes:
            return Metrics(rows)
        nulls = dict(_known(found.get("nullCount"), leaves))
        lows = dict(_known(found.get("minValues"), leaves))
        highs = dict(_known(found.get("maxValues"), leaves))
    except (ValueError, AttributeError, TypeError) as error:
        raise FormatError(f"statistics {text[:200]!r} of the Delta log cannot be read: {error}") from error
    counted = {leaf.id: int(count) for leaf, count in nulls.items()}
    return Metrics(
        record_count=rows,
        value_counts=dict.fromkeys(counted, rows),
        null_value_counts=counted,
        lower_bounds=_bounds(lows, upper=False),
        upper_bounds=_bounds(highs, upper=True),
    )


def _bounds(values: Mapping[Leaf, Any], *, upper: bool) -> dict[int, bytes]:
    found = {leaf.id: bound(value, leaf.type, upper=upper) for leaf, value in values.items()}
    return {number: value for number, value in found.items() if value is not None}


def _known(values: Any, leaves: Mapping[Path, Leaf], parents: Path = ()) -> Iterator[tuple[Leaf, Any]]:
    """The values of columns that the schema has; statistics may also be of columns that are gone."""
    for name, value in (values or {}).items():
        path = (*parents, name)
        leaf = leaves.get(path)
        if leaf is not None and value is not None:
            yield leaf, value
        elif isinstance(value, dict):
            yield from _known(value, leaves, path)
