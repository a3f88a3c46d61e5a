"""Calls Iceberg's stored procedures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rowdelta.errors import CommitConflictError, InputError, RowDeltaError, TableError
from rowdelta.spark import (
    JavaError,
    quote,
    quote_string,
    read_java_causes,
    read_java_message,
    read_java_name,
    run_procedure,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rowdelta.iceberg.table_handle import TableHandle

# The error of Iceberg's reader when it meets an equality delete vector.
_NO_PUFFIN_READER: Final = "Format model is not registered for format PUFFIN"
_CONFLICTS: Final = ("ValidationException", "CommitFailedException")


def call_procedure(handle: TableHandle, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Calls a procedure of the table's catalog, and returns its first row.

    Args:
        handle: The table.
        name: The procedure, such as `rewrite_data_files`.
        arguments: Texts, and maps of texts, by name.
    """
    listed = ", ".join(f"{key} => {_write_literal(value)}" for key, value in arguments.items())
    try:
        rows = run_procedure(handle.spark, f"{quote(handle.catalog)}.system.{name}({listed})").collect()
    except JavaError as error:
        raise _translate_error(name, error) from error
    row: dict[str, Any] = rows[0].asDict() if rows else {}
    return row


def _write_literal(value: Any) -> str:
    """Writes a value in SQL.

    Examples:
        >>> _write_literal({"rewrite-all": "true"})
        "map('rewrite-all', 'true')"
    """
    if isinstance(value, dict):
        return f"map({', '.join(_write_literal(part) for pair in value.items() for part in pair)})"
    return quote_string(str(value))


def _translate_error(name: str, error: Exception) -> RowDeltaError:
    error_name, text = read_java_name(error), read_java_message(error)
    if _NO_PUFFIN_READER in str(error):
        return CommitConflictError("another writer added an equality delete vector meanwhile", hint="run it again")
    # Iceberg's actions wrap the error of their commit in a RuntimeException.
    conflict = next((said for cause, said in read_java_causes(error) if cause in _CONFLICTS), None)
    if conflict is not None:
        return CommitConflictError(f"another writer changed the same data: {conflict}", hint="run it again")
    if error_name in {"IllegalArgumentException", "AnalysisException", "ParseException"}:
        return InputError(f"{name}: {text}")
    return TableError(f"{name} failed: {error_name}: {text}")
