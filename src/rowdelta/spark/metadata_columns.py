"""Iceberg's metadata columns, which every table has in addition to its own."""

from __future__ import annotations

from typing import Final

METADATA_COLUMNS: Final = frozenset(
    {"_file", "_pos", "_spec_id", "_partition", "_deleted", "_row_id", "_last_updated_sequence_number"}
)
