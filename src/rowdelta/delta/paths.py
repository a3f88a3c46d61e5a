"""Resolves paths of the Delta log to paths that Iceberg opens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import unquote, urlsplit

from rowdelta.codec import DeletionVectorDescriptor, delta_vector_path
from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Mapping

Action = TypeVar("Action")
_MALFORMED: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ABSOLUTE_VECTOR: Final = "p"
REPAIR: Final = "RESTORE the Delta table to a version before that, or write the rows of this file again with Delta Lake"


def resolve_data_path(root: str, path: str) -> str:
    """Resolves the path of a data file.

    Args:
        root: The table's folder, without escapes.
        path: The path in the log, with URL escapes; relative to the folder, or absolute.

    Examples:
        >>> resolve_data_path("file:/lake/t", "p=a%2520b/x.parquet")
        'file:/lake/t/p=a%20b/x.parquet'
        >>> resolve_data_path("s3://lake/t", "s3://other/t/x%20y.parquet")
        's3://other/t/x y.parquet'
    """
    if _MALFORMED.search(path):
        raise FormatError(f"path {path!r} of the Delta log has a malformed escape", hint="a % must be written as %25")
    # Every writer escapes a colon in the first part of a relative path, so this is a scheme.
    parts = urlsplit(path)
    decoded = unquote(path[len(parts.scheme) + 1 :], errors="strict") if parts.scheme else unquote(path)
    if parts.scheme:
        return f"{parts.scheme}:{decoded}"
    return decoded if decoded.startswith("/") else f"{root.rstrip('/')}/{decoded}"


def index_by_path(root: str, actions: Mapping[str, Action]) -> dict[str, Action]:
    """Indexes actions by the resolved path of their file, instead of its path in the log.

    Raises:
        FormatError: Two paths name the same file.

    Examples:
        >>> index_by_path("s3://lake/t", {"x.parquet": 1})
        {'s3://lake/t/x.parquet': 1}
    """
    resolved_actions: dict[str, Action] = {}
    for path, action in actions.items():
        resolved = resolve_data_path(root, path)
        if resolved in resolved_actions:
            raise FormatError(f"the Delta log names the file {resolved} by two different paths", hint=REPAIR)
        resolved_actions[resolved] = action
    return resolved_actions


def resolve_vector_path(root: str, vector: DeletionVectorDescriptor) -> str:
    """Resolves the path of the file that holds a deletion vector.

    Examples:
        >>> resolve_vector_path("s3://lake/t", DeletionVectorDescriptor("u", "ab^-aqEH.-t@S}K{vb[*k^", 4, 40, 6))
        's3://lake/t/ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin'
    """
    path = delta_vector_path(vector)
    return resolve_data_path(root, path) if vector.storage_type == _ABSOLUTE_VECTOR else f"{root.rstrip('/')}/{path}"
