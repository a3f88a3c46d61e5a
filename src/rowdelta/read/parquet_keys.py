"""Reads the keys of small standard delete files without Spark.

A hundred thousand sorted keys take about ten kilobytes of Parquet. A stream of changes adds such a file with every
commit, and a Spark job over fifty of them takes far longer than fifty reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from rowdelta.codec import sort_distinct
from rowdelta.iceberg import run_in_parallel
from rowdelta.read.integer_keys import IntegerKeys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowdelta.iceberg import DeleteEntry, Field, TableHandle

MOST_BYTES: Final = 8 << 20
MOST_BYTES_TOGETHER: Final = 64 << 20
_FIELD_ID: Final = b"PARQUET:field_id"
_DIRECT: Final = {
    "long": (pa.int64(), pa.int32()),
    "int": (pa.int32(),),
    "date": (pa.date32(),),
    "timestamp": (pa.timestamp("us"),),
    "timestamptz": (pa.timestamp("us", "UTC"),),
}


def read_parquet_keys(handle: TableHandle, entries: Sequence[DeleteEntry], column: Field) -> dict[str, IntegerKeys]:
    """Reads the keys of delete files on one integer column, by path.

    Omits files that are large, of another format, or that store the column in a type that only Iceberg's rules convert.
    """
    wanted, room = [], MOST_BYTES_TOGETHER
    for entry in entries if len(column.path) < 2 else ():  # noqa: PLR2004 - a column inside a struct
        size = entry.file_size_in_bytes
        if entry.file_format == "PARQUET" and size <= min(MOST_BYTES, room):
            wanted.append(entry)
            room -= size
    read = run_in_parallel(lambda entry: _read(handle, entry, column), wanted)
    return {entry.path: keys for entry, keys in zip(wanted, read, strict=True) if keys is not None}


def _read(handle: TableHandle, entry: DeleteEntry, column: Field) -> IntegerKeys | None:
    data = handle.io.read(entry.path, 0, entry.file_size_in_bytes)
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        names = [field.name for field in file.schema_arrow if _find_field_id(field) == column.id]
        table = file.read(columns=names, use_threads=False)
    except (pa.ArrowException, OSError):
        return None  # Iceberg's reader reports the damage
    if table.num_columns != 1 or table.schema.types[0] not in _DIRECT[column.type_name]:
        return None
    return _to_distinct(table.column(0))


def _find_field_id(field: pa.Field) -> int | None:
    text = (field.metadata or {}).get(_FIELD_ID)
    return None if text is None else int(text)


def _to_distinct(column: pa.ChunkedArray) -> IntegerKeys:
    values = column.drop_null().combine_chunks()
    if pa.types.is_date32(values.type):
        values = values.cast(pa.int32())
    keys = sort_distinct(values.cast(pa.int64()).to_numpy())
    return IntegerKeys(keys, has_null=column.null_count > 0)
