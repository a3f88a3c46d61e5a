"""What an upsert did."""

from __future__ import annotations

from dataclasses import dataclass, field

from rowdelta.change import Result


@dataclass(frozen=True)
class UpsertResult(Result):
    """What an upsert did.

    If the rows are not looked up (`resolved` is False), `rows_inserted`, `rows_updated` and `rows_deleted` are None.

    Attributes:
        rows_written: The rows that were written, new ones and those that replace others.
        keys: Distinct keys in the batch.
        keys_deleted: Keys whose last change was a delete.
        changes_ignored: Changes that were not newer than the row in the table (`keep_newer=True`).
        resolved: Whether the old rows were looked up, and deleted by position.
        vectors: Delete files that are equality delete vectors.
        encodings: Delete files by encoding.
        reasons: Why each encoding was chosen.

    Examples:
        >>> result = t.upsert(changes, key="id", order_by="seq", delete_when="op = 'D'").execute()
        >>> result.keys, result.keys_deleted, result.rows_written, result.vectors
        (3, 1, 2, 1)
        >>> result.rows_inserted is None  # one of the two rows replaces another, but nothing has been looked up
        True
    """

    rows_written: int = 0
    keys: int = 0
    keys_deleted: int = 0
    changes_ignored: int = 0
    resolved: bool = False
    vectors: int = 0
    encodings: dict[str, int] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
