"""Converts Delta tables to Iceberg tables over the same data files."""

from __future__ import annotations

from rowdelta.delta.convert import FromDelta, FromDeltaResult, from_delta
from rowdelta.delta.progress import DeltaProgress, OnDeltaProgress

__all__ = [
    "DeltaProgress",
    "FromDelta",
    "FromDeltaResult",
    "OnDeltaProgress",
    "from_delta",
]
