"""Rows of a data file by position, and the partition that their deletes are written for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rowdelta.codec import bitmap_from_sorted, sort_distinct
from rowdelta.errors import TableError
from rowdelta.iceberg import ContentFile

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from pyroaring import BitMap64

    from rowdelta.iceberg import TableHandle


class DroppedPartitionError(TableError):
    """Deletes would be needed for files of a partition whose column was dropped."""

    def __init__(self, table: str, partition: str) -> None:
        super().__init__(
            f"files of {table} are partitioned by {partition}, whose column was dropped: Iceberg cannot write deletes "
            "for them",
            hint="rewrite these files first: t.compact(options={'rewrite-all': 'true'})",
        )


@dataclass(frozen=True)
class FilePositions:
    """Some rows of one data file.

    Attributes:
        path: The data file.
        spec_id: The partition spec of the file.
        partition: One JSON value for each field of the spec.
        positions: The positions of the rows.
        rows: How many rows were found; more than positions if a row was found twice.
    """

    path: str
    spec_id: int
    partition: tuple[Any, ...]
    positions: BitMap64
    rows: int

    @property
    def data_file(self) -> ContentFile:
        """The data file for a commit that removes it: Iceberg finds it by its partition and path."""
        return ContentFile(
            path=self.path,
            file_format="PARQUET",
            record_count=1,
            file_size_in_bytes=1,
            spec_id=self.spec_id,
            partition=self.partition,
        )


def select_positions(file: FilePositions, positions: npt.NDArray[np.int64]) -> FilePositions:
    """Selects some of the rows of a data file, by their positions in any order."""
    return replace(file, positions=bitmap_from_sorted(sort_distinct(positions)), rows=len(positions))


def find_dropped_partition(handle: TableHandle, spec_id: int) -> str | None:
    """Finds a partition field whose source column was dropped: Iceberg can no longer write its values."""
    columns = handle.metadata.schema.by_id
    fields = handle.metadata.specs[spec_id].fields
    return next((part.name for part in fields if part.source_id not in columns and part.transform != "void"), None)


def check_spec(handle: TableHandle, spec_id: int) -> None:
    """Refuses to write deletes for a spec that has a dropped partition.

    Raises:
        DroppedPartitionError: The source column of a partition was dropped.
    """
    name = find_dropped_partition(handle, spec_id)
    if name is not None:
        raise DroppedPartitionError(handle.name, name)
