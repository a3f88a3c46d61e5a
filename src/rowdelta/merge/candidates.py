"""Selects the rows of a table that may match the source of a merge, by the keys of the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowdelta.change import choose_locator
from rowdelta.merge.by_bitmap import build_lookup, can_look_up, is_small
from rowdelta.merge.condition import find_key_range
from rowdelta.spark import where_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rowdelta.change import RowLocator, Target
    from rowdelta.merge.by_bitmap import KeyLookup
    from rowdelta.merge.matching import Matching


@dataclass(frozen=True)
class SourceKeys:
    """What the keys of a source tell about the rows that match.

    Attributes:
        lookup: The keys as a bitmap, if there can be one.
        range: A predicate that all matching rows meet, if there is one.
    """

    lookup: KeyLookup | None
    range: str | None


@dataclass(frozen=True)
class Candidates:
    """Rows of the table that may match.

    Attributes:
        rows: The rows.
        in_range: All rows in the range of the keys: what Iceberg checks for conflicts. None without a range.
        locator: Locates the rows.
        lookup: The keys of the source as a bitmap, if there is one.
    """

    rows: DataFrame
    in_range: DataFrame | None
    locator: RowLocator
    lookup: KeyLookup | None


def collect_source_keys(matching: Matching, source: DataFrame) -> SourceKeys:
    """Collects the keys of a source, or their range; nothing if rows that match no key are wanted, too."""
    if matching.keeps_all_rows:
        return SourceKeys(None, None)
    can_use_lookup = can_look_up(matching.handle, source, matching.on)
    was_small = can_use_lookup and is_small(source)
    lookup = build_lookup(matching.handle, source, matching.on) if was_small else None
    if lookup is not None:
        return SourceKeys(lookup, lookup.range)
    keys = find_key_range(matching.handle, source, matching.on.pairs)
    if can_use_lookup and not was_small and is_small(source):  # the range has computed the source: its size is known
        lookup = build_lookup(matching.handle, source, matching.on)
    return SourceKeys(lookup, keys)


def select_candidates(target: Target, rows: DataFrame, keys: SourceKeys) -> Candidates:
    """Selects the rows that may match, so that Spark skips files and row groups."""
    in_range = None if keys.range is None else where_sql(rows, keys.range)
    rows = rows if in_range is None else in_range
    rows = rows if keys.lookup is None else rows.where(keys.lookup.bits.test_key())
    return Candidates(rows, in_range, choose_locator(target, rows), keys.lookup)
