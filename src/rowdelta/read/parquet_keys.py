"""The keys of small standard delete files, read here and not by Spark.

A hundred thousand sorted keys are some ten kilobytes of Parquet. A stream of changes leaves such a file with every
commit, and a Spark job over fifty of them takes far longer than fifty reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from rowdelta.codec import sorted_distinct
from rowdelta.iceberg import together
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
    """The keys of delete files on one integer column, by path.

    Files that are large, of another format, or that store the column in a way that takes Iceberg's rules to read, are
    left out.
    """
    wanted, room = [], MOST_BYTES_TOGETHER
    for entry in entries if len(column.path) < 2 else ():  # noqa: PLR2004 - a column inside a struct
        size = entry.file_size_in_bytes
        if entry.file_format == "PARQUET" and size <= min(MOST_BYTES, room):
            wanted.append(entry)
            room -= size
    found = together(lambda entry: _read(handle, entry, column), wanted)
    return {entry.path: keys for entry, keys in zip(wanted, found, strict=True) if keys is not None}


def _read(handle: TableHandle, entry: DeleteEntry, column: Field) -> IntegerKeys | None:
    data = handle.io.read(entry.path, 0, entry.file_size_in_bytes)
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        names = [known.name for known in file.schema_arrow if _field_id(known) == column.id]
        table = file.read(columns=names, use_threads=False)
    except (pa.ArrowException, OSError):
        return None  # Iceberg's reader says what is wrong with it
    if table.num_columns != 1 or table.schema.types[0] not in _DIRECT[column.type_name]:
        return None
    return _distinct(table.column(0))


def _field_id(known: pa.Field) -> int | None:
    found = (known.metadata or {}).get(_FIELD_ID)
    return None if found is None else int(found)


def _distinct(column: pa.ChunkedArray) -> IntegerKeys:
    values = column.drop_null().combine_chunks()
    if pa.types.is_date32(values.type):
        values = values.cast(pa.int32())
    keys = sorted_distinct(values.cast(pa.int64()).to_numpy())
    return IntegerKeys(keys, has_null=column.null_count > 0)
