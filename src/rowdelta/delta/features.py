"""Checks whether rowdelta supports the features of a Delta table, and refuses others by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rowdelta.errors import InputError

if TYPE_CHECKING:
    from rowdelta.delta.actions import Metadata, Protocol

# delta-spark itself handles checkpoints, and the vacuum check only concerns writers.
SUPPORTED_FEATURES: Final = frozenset(
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
    """Refuses a table that asks its readers for something that an Iceberg table cannot express.

    Raises:
        InputError: Names every unsupported feature.
    """
    if protocol.min_reader_version > _WITH_FEATURES:
        raise InputError(f"the Delta table needs reader version {protocol.min_reader_version}; 1 to 3 are supported")
    supported = ", ".join(sorted(SUPPORTED_FEATURES))
    unknown = sorted(protocol.reader_features - SUPPORTED_FEATURES)
    if unknown:
        raise InputError(
            f"the Delta table uses reader features that cannot be mirrored: {', '.join(unknown)}",
            hint=f"supported are {supported}; ALTER TABLE ... DROP FEATURE may remove the others",
        )


def check_metadata(metadata: Metadata) -> None:
    """Refuses files that are not Parquet, and unknown column mapping modes."""
    if metadata.file_format.lower() != "parquet":
        raise InputError(f"the Delta table's data files are {metadata.file_format!r}, not Parquet")
    if metadata.mapping_mode not in MAPPING_MODES:
        raise InputError(
            f"the Delta table's column mapping mode is {metadata.mapping_mode!r}",
            hint="none, name and id are supported",
        )
