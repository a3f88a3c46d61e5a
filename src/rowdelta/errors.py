"""Every error that rowdelta raises on purpose: what was wrong, with the value, and what to do about it."""

from __future__ import annotations


class RowDeltaError(Exception):
    """The root of rowdelta's errors.

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
    """Bytes that are not what their format says: a bad magic, length, checksum, cardinality or structure."""


class EncodingError(RowDeltaError):
    """A delete encoding that is unknown, or that breaks one of the validation rules."""


class SessionError(RowDeltaError):
    """A Spark session that rowdelta cannot work with."""


class TableError(RowDeltaError):
    """A table that is missing, is not an Iceberg table, or is in a state that rowdelta does not support."""


class InputError(RowDeltaError):
    """An argument that makes no sense for the table it was given for."""


class CommitConflictError(RowDeltaError):
    """Another writer changed what this operation read or wrote, so that it cannot be committed as it is."""


class CommitStateUnknownError(RowDeltaError):
    """The catalog did not say whether a commit took place; no file was removed."""


class VerificationError(RowDeltaError):
    """Maintenance would have changed the visible rows, so nothing was committed."""
