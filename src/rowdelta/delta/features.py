"""Which Delta tables can be mirrored: reader features that are known, all others are refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rowdelta.errors import InputError

if TYPE_CHECKING:
    from rowdelta.delta.actions import Metadata, Protocol

# Checkpoints are delta-spark's own affair, and vacuuming only asks writers to be careful.
KNOWN_FEATURES: Final = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
    }
)
MAPPING_MODES: Final = ("none", "name", "id")
_WITH_FEATURES: Final = 3


def check_protocol(protocol: Protocol) -> None:
    """Refuses a table that asks its readers for something that an Iceberg table cannot say.

    Raises:
        InputError: With every unknown feature.
    """
    if protocol.min_reader_version > _WITH_FEATURES:
        raise InputError(f"the Delta table needs reader version {protocol.min_reader_version}; 1 to 3 are known")
    unknown = sorted(protocol.reader_features - KNOWN_FEATURES)
    if unknown:
        raise InputError(
            f"the Delta table uses reader features that cannot be mirrored: {', '.join(unknown)}",
            hint=f"these can: {', '.join(sorted(KNOWN_FEATURES))}; ALTER TABLE ... DROP FEATURE may remove the others",
        )


def check_metadata(metadata: Metadata) -> None:
    """Refuses files that are not Parquet, and ways of finding columns that are not known."""
    if metadata.file_format.lower() != "parquet":
        raise InputError(f"the Delta table's data files are {metadata.file_format!r}, not Parquet")
    if metadata.mapping_mode not in MAPPING_MODES:
        raise InputError(
            f"the Delta table's column mapping mode is {metadata.mapping_mode!r}", hint="none, name and id are known"
        )
