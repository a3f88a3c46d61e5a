"""Which equality deletes are worth rewriting, and into which groups: one key, one partition and one age at a time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rowdelta.change import IntegerBatch
from rowdelta.codec import sort_distinct
from rowdelta.encoding import BatchStatistics, DeleteBatch, DeleteEncoding, FileContent, KeyColumn, choose_encoding
from rowdelta.errors import EncodingError
from rowdelta.iceberg import read_footer
from rowdelta.read import is_integer, load_hashed_integers, load_integer_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rowdelta.encoding import EncodingChoice
    from rowdelta.iceberg import DeleteEntry, Field, SnapshotFiles, TableHandle

# Arrow holds and writes these as Iceberg's Parquet files have them.
_PLAIN: Final = ("int", "long", "date", "timestamp", "timestamptz", "string", "binary", "boolean")


@dataclass(frozen=True)
class EqualityGroup:
    """Equality deletes of one key, one partition and one age: one file can replace them."""

    entries: tuple[DeleteEntry, ...]
    columns: tuple[Field, ...]
    encoding: DeleteEncoding


def plan_equality_groups(
    handle: TableHandle,
    files: SnapshotFiles,
    entries: Iterable[DeleteEntry],
    target: DeleteEncoding | None,
    min_input_files: int,
) -> tuple[list[EqualityGroup], list[str]]:
    """Groups the equality deletes to rewrite; also returns the reasons why others stay.

    Args:
        handle: The table.
        files: The snapshot.
        entries: Equality deletes of it.
        target: The encoding to write; None keeps the encoding of each delete.
        min_input_files: How many deletes a group must have where the encoding stays the same.
    """
    by_place: dict[Any, list[tuple[DeleteEntry, DeleteEncoding]]] = defaultdict(list)
    for entry in entries:
        encoding = read_encoding(handle, entry)
        ids = tuple(sorted(entry.equality_ids))
        place = (entry.sequence_number, entry.spec_id, repr(entry.partition), ids, target or encoding)
        by_place[place].append((entry, encoding))
    groups: list[EqualityGroup] = []
    skipped: list[str] = []
    for (*_, ids, new_encoding), members in by_place.items():
        group_entries = tuple(entry for entry, _ in members)
        if all(encoding is new_encoding for _, encoding in members) and len(group_entries) < min_input_files:
            continue
        columns = [handle.metadata.schema.by_id.get(field_id) for field_id in ids]
        present = tuple(column for column in columns if column is not None)
        group = EqualityGroup(group_entries, present, new_encoding)
        obstacle = find_obstacle(handle, files, group, len(ids))
        if obstacle is None:
            groups.append(group)
        else:
            skipped.append(f"{group_entries[0].path}: {obstacle}")
    return groups, skipped


def read_encoding(handle: TableHandle, entry: DeleteEntry) -> DeleteEncoding:
    """Reads the encoding of a delete file, by its manifest and its footer."""
    blobs = read_footer(handle, entry.path, entry.file_size_in_bytes).blobs if entry.is_vector else ()
    return entry.encoding(blobs[0].type if blobs else None)


def find_obstacle(handle: TableHandle, files: SnapshotFiles, group: EqualityGroup, column_count: int) -> str | None:
    """Explains why a group cannot be written in its encoding; None if it can.

    Args:
        handle: The table.
        files: The snapshot.
        group: The group, with those of its key columns that the table still has.
        column_count: How many key columns its deletes have.
    """
    columns, target = group.columns, group.encoding
    if len(columns) < column_count:
        return "a key column has been dropped"
    single = column_count == 1 and is_integer(columns[0])
    if target is DeleteEncoding.DELETION_VECTOR and not single:
        return "only one integer column fits into a vector"
    inner = [column.name for column in columns if len(column.path) > 1]
    if target is DeleteEncoding.FULL_ROW and inner:
        return f"key {inner[0]!r} is inside a struct, which cannot be written outside of Spark"
    if target is DeleteEncoding.FULL_ROW and not single:
        unsupported = [column for column in columns if not _is_plain(column)]
        if unsupported:
            return (
                f"column {unsupported[0].name!r} of type {unsupported[0].type_name} cannot be written outside of Spark"
            )
    try:
        statistics = None
        if target is DeleteEncoding.DELETION_VECTOR:
            statistics = load_integer_batch(handle, files, group.entries, columns[0]).statistics
        choose_group_encoding(handle, group, statistics)
    except EncodingError as error:
        return error.message
    return None


def choose_group_encoding(
    handle: TableHandle, group: EqualityGroup, statistics: BatchStatistics | None
) -> EncodingChoice | None:
    """Decides how to write a group as a vector, within the table's properties; None if it becomes a Parquet file."""
    if group.encoding is DeleteEncoding.FULL_ROW:
        return None
    keys = tuple(KeyColumn(column.name, column.type_name, column.required) for column in group.columns)
    version, properties = handle.metadata.format_version, handle.metadata.properties
    batch = DeleteBatch(FileContent.EQUALITY, version, statistics or BatchStatistics(0), keys, properties)
    return choose_encoding(batch, encoding=group.encoding.value)


def load_integer_batch(
    handle: TableHandle, files: SnapshotFiles, entries: Sequence[DeleteEntry], column: Field
) -> IntegerBatch:
    """Loads the distinct keys of deletes on one integer column."""
    plain = [entry for entry in entries if read_encoding(handle, entry) is not DeleteEncoding.HASH_MAP]
    loaded = load_integer_keys(handle, files, plain, column) if plain else []
    loaded += [load_hashed_integers(handle, entry, column) for entry in entries if entry not in plain]
    has_null = any(keys.has_null for keys in loaded)
    return IntegerBatch((), sort_distinct(np.concatenate([keys.keys for keys in loaded])), has_null)


def _is_plain(column: Field) -> bool:
    return column.type_name in _PLAIN or column.type_name.startswith("decimal")
