"""Reads the exact keys of hash maps, and checks them against the columns that they delete by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from rowdelta.codec import decode_hash_map, read_blob, sort_distinct
from rowdelta.errors import FormatError
from rowdelta.iceberg import read_only_blob_metadata
from rowdelta.read.integer_keys import IntegerKeys, to_integers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rowdelta.iceberg import DeleteEntry, Field, TableHandle


def _is_local(arrow_type: pa.DataType) -> bool:
    """Whether it is a time without a zone, or a day from before the column was widened."""
    return (pa.types.is_timestamp(arrow_type) and arrow_type.tz is None) or bool(pa.types.is_date32(arrow_type))


def _is_instant(arrow_type: pa.DataType) -> bool:
    return pa.types.is_timestamp(arrow_type) and arrow_type.tz is not None


def _is_text(arrow_type: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type))


def _is_bytes(arrow_type: pa.DataType) -> bool:
    checks = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(check(arrow_type) for check in checks)


# Which Arrow types may hold the keys of an Iceberg type; a column may have been widened since.
_FITTING: Final[dict[str, Callable[[Any], bool]]] = {
    "boolean": pa.types.is_boolean,
    "int": pa.types.is_signed_integer,
    "long": pa.types.is_signed_integer,
    "float": pa.types.is_floating,
    "double": pa.types.is_floating,
    "decimal": pa.types.is_decimal,
    "date": pa.types.is_date32,
    "timestamp": _is_local,
    "timestamptz": _is_instant,
    "string": _is_text,
    "uuid": _is_text,
    "binary": _is_bytes,
    "fixed": _is_bytes,
}


def load_hashed_keys(handle: TableHandle, entry: DeleteEntry, columns: Sequence[Field]) -> pa.Table:
    """Reads the keys of a hash map: a column for each key column, named by field id and in their order.

    Raises:
        FormatError: They do not agree with the manifest entry or the columns of the table.
    """
    blob = read_only_blob_metadata(handle, entry.path, entry.file_size_in_bytes)
    keys = decode_hash_map(read_blob(handle.io.source(entry.path, entry.file_size_in_bytes), blob)).keys
    wanted = [str(column.id) for column in columns]
    if sorted(keys.column_names) != sorted(wanted):
        raise FormatError(f"{entry.path} has keys of fields {keys.column_names}, its manifest entry says {wanted}")
    if keys.num_rows != entry.record_count:
        raise FormatError(f"{entry.path} holds {keys.num_rows} keys, its manifest entry says {entry.record_count}")
    for column in columns:
        check_type(entry.path, column, keys.schema.field(str(column.id)).type)
    return keys.select(wanted)


def load_hashed_integers(handle: TableHandle, entry: DeleteEntry, column: Field) -> IntegerKeys:
    """Reads the keys of a hash map of one integer column."""
    values = load_hashed_keys(handle, entry, [column])[str(column.id)].combine_chunks()
    keys = to_integers(column, values.drop_null()).to_numpy()
    return IntegerKeys(sort_distinct(keys), values.null_count > 0)


def check_type(path: str, column: Field, arrow_type: pa.DataType) -> None:
    """Refuses keys that cannot be values of a column.

    Times with a zone are not times without one: the conversion depends on a zone that the file does not name.
    """
    fits = _FITTING.get(column.type_name.partition("(")[0].partition("[")[0])
    if fits is None or not fits(arrow_type):
        raise FormatError(
            f"{path} has keys of type {arrow_type} for column {column.name!r}, which is {column.type_name}",
            hint="an older rowdelta wrote times without a zone as if they had one; roll the table back to the snapshot "
            "before that rewrite_deletes",
        )
