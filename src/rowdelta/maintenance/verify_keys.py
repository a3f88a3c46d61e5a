"""Verifies before a commit that rewritten equality deletes hold exactly the keys of the old ones.

The new files are read back from storage, by Iceberg's own reader where possible, and compared with the old files. Keys
are compared as the numbers, texts and bytes that are stored: none of them passes through a time zone, or through the
DataFrame that they were written from.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.codec import sort_distinct
from rowdelta.encoding import DeleteEncoding
from rowdelta.errors import VerificationError
from rowdelta.iceberg import find_column_path, read_delete_keys, read_encoding, read_listed_files, read_parent_files
from rowdelta.read import (
    is_integer,
    load_hashed_integers,
    load_hashed_keys,
    read_row_keys,
    read_vector_keys,
    to_integers,
    write_integer_sql,
)
from rowdelta.spark import collect_arrow, make_frame_from_arrow, parse_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rowdelta.iceberg import DeleteEntry, Field, SnapshotFiles, TableHandle, UncommittedSnapshot
    from rowdelta.maintenance.equality_groups import EqualityGroup
    from rowdelta.read import IntegerKeys

_FILE: Final = "file"
_DECIMAL: Final = re.compile(r"decimal\((\d+), ?(\d+)\)")
_STORED_AS: Final = {
    "boolean": pa.bool_(),
    "string": pa.string(),
    "uuid": pa.string(),
    "binary": pa.binary(),
    "fixed": pa.binary(),
    "float": pa.float64(),
    "double": pa.float64(),
}


def build_key_check(
    files: SnapshotFiles, groups: Sequence[EqualityGroup], paths: Sequence[str]
) -> Callable[[UncommittedSnapshot], None]:
    """Builds a check that each new delete file holds the keys of the group that it replaces; it runs once.

    Args:
        files: The snapshot of the groups.
        groups: Old deletes.
        paths: The new file of each group.
    """
    done: list[bool] = []

    def check(uncommitted: UncommittedSnapshot) -> None:
        if done:
            return
        after = read_listed_files(uncommitted.handle, read_parent_files(uncommitted).snapshot, uncommitted.listing)
        written = {entry.path: entry for entry in after.equality_deletes}
        old = _KeyReader(uncommitted.handle, files, groups, [group.entries for group in groups])
        new = _KeyReader(uncommitted.handle, after, groups, [[written[path]] for path in paths])
        for group, path in zip(groups, paths, strict=True):
            _compare_keys(
                group, path, old.collect(group.columns, group.entries), new.collect(group.columns, [written[path]])
            )
        done.append(True)

    return check


def _compare_keys(group: EqualityGroup, path: str, old: pa.Table, new: pa.Table) -> None:
    if old.equals(new):
        return
    names = ", ".join(column.name for column in group.columns)
    raise VerificationError(
        f"{path} would delete other values of {names} than what it replaces ({new.num_rows:,} keys instead of "
        f"{old.num_rows:,}, or other ones); nothing was committed",
        hint="the table is as it was; please report this with the types of these columns",
    )


class _KeyReader:
    """Reads the keys of delete files of one snapshot, with one job over the Parquet files of each set of columns.

    For a single integer column, the driver receives one word for each 64 neighbouring keys.
    """

    def __init__(
        self,
        handle: TableHandle,
        files: SnapshotFiles,
        groups: Sequence[EqualityGroup],
        entries: Sequence[Iterable[DeleteEntry]],
    ) -> None:
        self._handle = handle
        self._rows: dict[str, pa.Table] = {}
        self._integers: dict[str, IntegerKeys] = {}
        by_columns: dict[tuple[Field, ...], list[DeleteEntry]] = defaultdict(list)
        for group, some in zip(groups, entries, strict=True):
            by_columns[group.columns] += [entry for entry in some if not entry.is_vector]
        for columns, rows in by_columns.items():
            if rows and _is_one_integer(columns):
                self._integers |= read_row_keys(handle, files, rows, columns[0])
            elif rows:
                self._rows |= _read_rows(handle, files, rows, columns)

    def collect(self, columns: Sequence[Field], entries: Iterable[DeleteEntry]) -> pa.Table:
        """Collects the distinct keys of some files, sorted."""
        if _is_one_integer(columns):
            loaded = [self._read_integers(columns[0], entry) for entry in entries]
            keys = pa.array(sort_distinct(np.concatenate([part.keys for part in loaded])), pa.int64())
            nulls = pa.nulls(int(any(part.has_null for part in loaded)), pa.int64())
            return pa.table({str(columns[0].id): pa.concat_arrays([keys, nulls])})
        table = pa.concat_tables([self._read_file(columns, entry) for entry in entries])
        distinct = table.group_by(table.column_names).aggregate([])
        return distinct.sort_by([(name, "ascending") for name in table.column_names]).combine_chunks()

    def _read_file(self, columns: Sequence[Field], entry: DeleteEntry) -> pa.Table:
        if not entry.is_vector:
            return self._rows[entry.path]
        return _convert_to_stored(columns, load_hashed_keys(self._handle, entry, columns))

    def _read_integers(self, column: Field, entry: DeleteEntry) -> IntegerKeys:
        if not entry.is_vector:
            return self._integers[entry.path]
        if read_encoding(self._handle, entry) is DeleteEncoding.HASH_MAP:
            return load_hashed_integers(self._handle, entry, column)
        return read_vector_keys(self._handle, entry, column)


def _is_one_integer(columns: Sequence[Field]) -> bool:
    return len(columns) == 1 and is_integer(columns[0])


def _read_rows(
    handle: TableHandle, files: SnapshotFiles, entries: Sequence[DeleteEntry], columns: Sequence[Field]
) -> dict[str, pa.Table]:
    """Reads the keys of Parquet files as Iceberg reads them, by path; Spark converts dates and times to integers."""
    paths = [entry.path for entry in entries]
    numbers = pa.table({"_file": pa.array(paths, pa.string()), _FILE: pa.array(range(len(paths)), pa.int32())})
    rows = read_delete_keys(handle, files, entries, [column.id for column in columns])
    references = [(column, find_column_path(handle, column.id)) for column in columns]
    values = [
        parse_column(write_integer_sql(c, sql) if is_integer(c) else sql).alias(str(c.id)) for c, sql in references
    ]
    joined = rows.select("_file", *values).join(F.broadcast(make_frame_from_arrow(handle.spark, numbers)), "_file")
    table = collect_arrow(joined.drop("_file")).combine_chunks()
    codes = table[_FILE].to_numpy()
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(paths) + 1))
    keys = _convert_to_stored(columns, table.drop_columns([_FILE]).take(pa.array(order)))
    return {path: keys.slice(ends[i], ends[i + 1] - ends[i]) for i, path in enumerate(paths)}


def _convert_to_stored(columns: Sequence[Field], keys: pa.Table) -> pa.Table:
    """Converts keys to the values that Iceberg's metadata would hold, in the order of the columns."""
    return pa.table({str(column.id): _store_column(column, keys[str(column.id)]) for column in columns})


def _store_column(column: Field, values: pa.ChunkedArray) -> Any:
    array = values.combine_chunks()
    if is_integer(column):
        return to_integers(column, array)
    decimal = _DECIMAL.fullmatch(column.type_name)
    if decimal is not None:
        return array.cast(pa.decimal128(int(decimal[1]), int(decimal[2])))
    arrow_type = _STORED_AS[column.type_name.partition("[")[0]]
    array = array.cast(arrow_type)
    return _to_bits(array) if pa.types.is_floating(arrow_type) else array


def _to_bits(numbers: pa.Array) -> pa.Array:
    """Floats as bits: a NaN does not equal itself. All NaNs become one, and -0.0 becomes 0.0, as Spark equates them."""
    number = pc.if_else(pc.is_nan(numbers), float("nan"), pc.add(numbers, 0.0))
    return number.view(pa.int64())
