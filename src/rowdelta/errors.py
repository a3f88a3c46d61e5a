"""The exceptions that rowdelta raises: what is wrong, with the value, and often a hint how to fix it."""

from __future__ import annotations


class RowDeltaError(Exception):
    """The base class of rowdelta's errors.

    Examples:
        >>> print(RowDeltaError("no column 'idd'", hint="did you mean 'id'?"))
        no column 'idd'
        Hint: did you mean 'id'?
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}\nHint: {hint}")
        self.message = message
        self.hint = hint


class FormatError(RowDeltaError):
    """Bytes that violate their format: a bad magic, length, checksum, cardinality or structure.

    Examples:
        >>> from rowdelta.codec import decode_deletion_vector
        >>> decode_deletion_vector(b"no vector")
        Traceback (most recent call last):
        rowdelta.errors.FormatError: vector has 9 bytes, fewer than the 12 of length, magic and checksum
    """


class EncodingError(RowDeltaError):
    """An unknown delete encoding, or one that a validation rule rejects.

    Examples:
        >>> from rowdelta.encoding import DeleteEncoding
        >>> DeleteEncoding.from_name("bitmap")
        Traceback (most recent call last):
        rowdelta.errors.EncodingError: unknown delete encoding 'bitmap'
        Hint: the known ones are equality-delete-vector, full-row, deletion-vector, hash-map
    """


class SessionError(RowDeltaError):
    """A Spark session that rowdelta cannot work with.

    Examples:
        >>> rd.session("warehouse", catalog="my lake")
        Traceback (most recent call last):
        rowdelta.errors.SessionError: catalog name 'my lake' is not a plain identifier
        Hint: use a name such as 'lake'
    """


class TableError(RowDeltaError):
    """A table that is missing, is not an Iceberg table, or is in a state that rowdelta does not support.

    Examples:
        >>> rd.table(spark, "lake.db.order")
        Traceback (most recent call last):
        rowdelta.errors.TableError: no table lake.db.order
        Hint: did you mean lake.db.orders?
    """


class InputError(RowDeltaError):
    """An argument that is not valid for its table.

    Examples:
        >>> t.delete_keys(changes, key="amount").execute()
        Traceback (most recent call last):
        rowdelta.errors.InputError: column 'amount' of type double cannot be a key
        Hint: floats that look equal may differ; use a column of another type
    """


class CommitConflictError(RowDeltaError):
    """Another writer changed what this operation read or wrote, so it cannot be committed.

    Examples:
        >>> for attempt in range(3):
        ...     try:
        ...         result = t.delete("status = 'void'").execute()
        ...         break
        ...     except rd.CommitConflictError:
        ...         print("another writer changed the same rows: trying again")
        >>> result.rows_deleted
        1
    """


class CommitStateUnknownError(RowDeltaError):
    """The catalog did not say whether a commit took place; no file was removed.

    Examples:
        >>> before = t.metadata.current_snapshot_id
        >>> try:
        ...     done = t.delete("status = 'void'").execute().snapshot_id is not None
        ... except rd.CommitStateUnknownError:  # check before running it again
        ...     done = t.refresh().metadata.current_snapshot_id != before
        >>> done
        True
    """


class VerificationError(RowDeltaError):
    """Rows that must be equal differ. Maintenance committed nothing; `from_delta(verify=True)` did, and says so.

    Examples:
        >>> try:
        ...     result = t.resolve(verify=True).execute()
        ... except rd.VerificationError as error:  # a bug or a damaged file; the table is unchanged
        ...     print(error)
        >>> result.snapshot_id is None  # this table has nothing to resolve
        True
    """
