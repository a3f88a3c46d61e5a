"""Estimates how many bytes an encoding takes, by the size of the key columns and the number of deletes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rowdelta.encoding.delete_encoding import DeleteEncoding
from rowdelta.encoding.file_content import FileContent
from rowdelta.errors import EncodingError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_SELECTIVITY: Final = 0.5

# A file path of about 256 bytes, and the position.
POSITION_ROW_BYTES: Final = 256 + 8
PUFFIN_OVERHEAD_BYTES: Final = 1024
PARQUET_COMPRESSION: Final = 3
OTHER_FIELD_BYTES: Final = 32
FIELD_BYTES: Final[Mapping[str, int]] = {
    "int": 4,
    "long": 8,
    "float": 4,
    "double": 8,
    "date": 4,
    "timestamp": 8,
    "timestamptz": 8,
    "string": 64,
    "binary": 128,
}


class EncodingCostEstimator:
    """Rough sizes of the two basic encodings, and the cheaper one.

    The types of key columns are Iceberg's names: `long`, `decimal(10,2)`, `struct<...>`. None in their place means
    position deletes, which have no key columns.

    Examples:
        >>> estimator = EncodingCostEstimator()
        >>> estimator.estimate_full_row_cost(1000, ["long"]), estimator.estimate_deletion_vector_cost(
        ...     FileContent.EQUALITY, 1000, ["long"]
        ... )
        (2666, 2024)
        >>> str(estimator.choose_encoding(FileContent.EQUALITY, 1000, 1_000_000, ["long"]))
        'deletion-vector'
    """

    def estimate_full_row_cost(self, delete_count: int, equality_types: Sequence[str] | None) -> int:
        """Estimates the bytes of the deletes as rows of a Parquet file.

        Examples:
            >>> EncodingCostEstimator().estimate_full_row_cost(100, ["int", "string"])
            2266
        """
        _refuse_negative("delete count", delete_count)
        if equality_types is None:
            row_bytes = POSITION_ROW_BYTES
        else:
            row_bytes = sum(self.estimate_field_size(name) for name in equality_types)
        return delete_count * row_bytes // PARQUET_COMPRESSION

    def estimate_deletion_vector_cost(
        self, content: FileContent, delete_count: int, equality_types: Sequence[str] | None
    ) -> int | None:
        """Estimates the bytes of the deletes as a bitmap: a byte for each, and the Puffin file around them.

        Returns:
            The bytes, or None where a bitmap cannot hold the key: several columns, or a type other than `long`.

        Examples:
            >>> print(EncodingCostEstimator().estimate_deletion_vector_cost(FileContent.EQUALITY, 100, ["string"]))
            None
        """
        _refuse_negative("delete count", delete_count)
        if content == FileContent.EQUALITY and list(equality_types or ()) != ["long"]:
            return None
        return delete_count + PUFFIN_OVERHEAD_BYTES

    def estimate_field_size(self, type_name: str) -> int:
        """Estimates the bytes of one value of a type; 32 for every type without its own estimate.

        Examples:
            >>> EncodingCostEstimator().estimate_field_size("decimal(10,2)")
            32
        """
        return FIELD_BYTES.get(type_name, OTHER_FIELD_BYTES)

    def selectivity(self, delete_count: int, total_row_count: int) -> float:
        """Returns the deleted share of the rows; infinite for a table without rows.

        Examples:
            >>> EncodingCostEstimator().selectivity(600_000, 1_000_000)
            0.6
        """
        _refuse_negative("delete count", delete_count)
        _refuse_negative("total row count", total_row_count)
        return delete_count / total_row_count if total_row_count else float("inf")

    def choose_encoding(
        self,
        content: FileContent,
        estimated_delete_count: int,
        total_row_count: int,
        equality_types: Sequence[str] | None,
    ) -> DeleteEncoding:
        """Chooses a deletion vector for less than half of the rows if it is smaller, otherwise full rows.

        Examples:
            >>> str(EncodingCostEstimator().choose_encoding(FileContent.EQUALITY, 600_000, 1_000_000, ["long"]))
            'full-row'
        """
        selectivity = self.selectivity(estimated_delete_count, total_row_count)
        full_row = self.estimate_full_row_cost(estimated_delete_count, equality_types)
        vector = self.estimate_deletion_vector_cost(content, estimated_delete_count, equality_types)
        if vector is not None and selectivity < MAX_SELECTIVITY and vector < full_row:
            return DeleteEncoding.DELETION_VECTOR
        return DeleteEncoding.FULL_ROW


def _refuse_negative(what: str, count: int) -> None:
    if count < 0:
        raise EncodingError(f"the {what} is {count}", hint="a number of rows is 0 or more")
