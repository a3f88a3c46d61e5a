"""Chooses how deletes by key are written: as positions of the rows, which are looked up, or as the keys themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowdelta.encoding.properties import UPSERT_RESOLVE, DeleteProperties
from rowdelta.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rowdelta.choices import Encoding


@dataclass(frozen=True)
class Lane:
    """How deletes by key are written.

    Attributes:
        resolves: Whether the rows are looked up, and deleted by position.
        reason: Why.
    """

    resolves: bool
    reason: str


def choose_lane(
    properties: Mapping[str, str],
    *,
    resolve: bool | None = None,
    encoding: Encoding | None = None,
    needs_rows: str | None = None,
) -> Lane:
    """Chooses between positions and keys.

    Args:
        properties: The properties of the table.
        resolve: What the caller asks for; None lets the other arguments decide.
        encoding: The encoding of keys that the caller asks for.
        needs_rows: The argument that needs the rows of the table, if there is one.

    Raises:
        InputError: The arguments contradict each other.

    Examples:
        >>> choose_lane({})
        Lane(resolves=True, reason='by default, so that every engine can read the table')
        >>> choose_lane({"write.delete.equality-vector.enabled": "true"}).resolves
        False
    """
    if encoding is not None and (resolve or needs_rows):
        raise InputError(
            f"encoding={encoding!r} is for keys, but {needs_rows or 'resolve=True'} deletes rows by position",
            hint="omit encoding=" if needs_rows else "omit encoding=, or use resolve=False",
        )
    if resolve is False and needs_rows:
        raise InputError(
            f"{needs_rows} needs the rows of the table, which resolve=False does not look up", hint="omit resolve="
        )
    if needs_rows:
        return Lane(True, f"{needs_rows} needs the old rows")
    if resolve is not None:
        return Lane(resolve, "as requested")
    if encoding is not None:
        return Lane(False, f"encoding={encoding!r} was given")
    wanted = DeleteProperties.from_mapping(properties)
    if wanted.upsert_resolve is not None:
        return Lane(wanted.upsert_resolve, f"table property {UPSERT_RESOLVE}")
    if wanted.equality_vector_enabled:
        return Lane(False, "the table allows equality delete vectors")
    return Lane(True, "by default, so that every engine can read the table")
