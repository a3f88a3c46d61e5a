"""Do rewritten equality deletes hold the same keys as the old ones? The answer is exact, and given before the commit.

What was written is read back from storage, by Iceberg's own reader where it can be, and compared with what the old
files say. Keys are compared as the numbers, texts and bytes that they are stored as: none goes through a time zone, nor
through the DataFrame that they were written from.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.codec import sorted_distinct
from rowdelta.encoding import DeleteEncoding
from rowdelta.errors import VerificationError
from rowdelta.iceberg import column_path, delete_rows, encoding_of, files_of, parent_files
from rowdelta.read import as_integers, hashed_integers, integer_sql, is_integer, load_hashed_keys, row_keys, vector_keys
from rowdelta.spark import arrow_frame, sql_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rowdelta.iceberg import DeleteEntry, Field, SnapshotFiles, TableHandle, Uncommitted
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
) -> Callable[[Uncommitted], None]:
    """A check that each new delete file holds the keys of the group that it replaces; it runs once.

    Args:
        files: The snapshot that the groups are of.
        groups: Old deletes.
        paths: The new file of each group.
    """
    done: list[bool] = []

    def check(made: Uncommitted) -> None:
        if done:
            return
        after = files_of(made.handle, parent_files(made).snapshot, made.listing)
        written = {entry.path: entry for entry in after.equality_deletes}
        old = _Keys(made.handle, files, groups, [group.entries for group in groups])
        new = _Keys(made.handle, after, groups, [[written[path]] for path in paths])
        for group, path in zip(groups, paths, strict=True):
            _compare(group, path, old.of(group.columns, group.entries), new.of(group.columns, [written[path]]))
        done.append(True)

    return check


def _compare(group: EqualityGroup, path: str, old: pa.Table, new: pa.Table) -> None:
    if old.equals(new):
        return
    names = ", ".join(column.name for column in group.columns)
    raise VerificationError(
        f"{path} would delete other values of {names} than what it replaces ({new.num_rows:,} keys instead of "
        f"{old.num_rows:,}, or other ones); nothing was committed",
        hint="the table is as it was; please report this with the types of these columns",
    )


class _Keys:
    """The keys of delete files of one snapshot; those of Parquet files are read in one job for each set of columns.

    Of one integer column only a word for each 64 neighbouring keys comes home.
    """

    def __init__(
        self,
        handle: TableHandle,
        files: SnapshotFiles,
        groups: Sequence[EqualityGroup],
        entries: Sequence[Iterable[DeleteEntry]],
    ) -> None:
        self._handle = handle
        self._read: dict[str, pa.Table] = {}
        self._integers: dict[str, IntegerKeys] = {}
        by_columns: dict[tuple[Field, ...], list[DeleteEntry]] = defaultdict(list)
        for group, some in zip(groups, entries, strict=True):
            by_columns[group.columns] += [entry for entry in some if not entry.is_vector]
        for columns, rows in by_columns.items():
            if rows and _is_one_integer(columns):
                self._integers |= row_keys(handle, files, rows, columns[0])
            elif rows:
                self._read |= _rows(handle, files, rows, columns)

    def of(self, columns: Sequence[Field], entries: Iterable[DeleteEntry]) -> pa.Table:
        """The distinct keys of some files, sorted."""
        if _is_one_integer(columns):
            found = [self._integer(columns[0], entry) for entry in entries]
            keys = pa.array(sorted_distinct(np.concatenate([part.keys for part in found])), pa.int64())
            nulls = pa.nulls(int(any(part.has_null for part in found)), pa.int64())
            return pa.table({str(columns[0].id): pa.concat_arrays([keys, nulls])})
        table = pa.concat_tables([self._of(columns, entry) for entry in entries])
        distinct = table.group_by(table.column_names).aggregate([])
        return distinct.sort_by([(name, "ascending") for name in table.column_names]).combine_chunks()

    def _of(self, columns: Sequence[Field], entry: DeleteEntry) -> pa.Table:
        if not entry.is_vector:
            return self._read[entry.path]
        return _stored(columns, load_hashed_keys(self._handle, entry, columns))

    def _integer(self, column: Field, entry: DeleteEntry) -> IntegerKeys:
        if not entry.is_vector:
            return self._integers[entry.path]
        if encoding_of(self._handle, entry) is DeleteEncoding.HASH_MAP:
            return hashed_integers(self._handle, entry, column)
        return vector_keys(self._handle, entry, column)


def _is_one_integer(columns: Sequence[Field]) -> bool:
    return len(columns) == 1 and is_integer(columns[0])


def _rows(
    handle: TableHandle, files: SnapshotFiles, entries: Sequence[DeleteEntry], columns: Sequence[Field]
) -> dict[str, pa.Table]:
    """The keys of Parquet files as Iceberg reads them, by path; Spark makes integers of dates and times."""
    paths = [entry.path for entry in entries]
    numbers = pa.table({"_file": pa.array(paths, pa.string()), _FILE: pa.array(range(len(paths)), pa.int32())})
    found = delete_rows(handle, files, entries, [column.id for column in columns])
    references = [(column, column_path(handle, column.id)) for column in columns]
    values = [sql_column(integer_sql(c, sql) if is_integer(c) else sql).alias(str(c.id)) for c, sql in references]
    joined = found.select("_file", *values).join(F.broadcast(arrow_frame(handle.spark, numbers)), "_file")
    table = joined.drop("_file").toArrow().combine_chunks()
    codes = table[_FILE].to_numpy()
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(paths) + 1))
    keys = _stored(columns, table.drop_columns([_FILE]).take(pa.array(order)))
    return {path: keys.slice(ends[i], ends[i + 1] - ends[i]) for i, path in enumerate(paths)}


def _stored(columns: Sequence[Field], keys: pa.Table) -> pa.Table:
    """Keys as the metadata of Iceberg would hold them, in the order of the columns."""
    return pa.table({str(column.id): _stored_column(column, keys[str(column.id)]) for column in columns})


def _stored_column(column: Field, values: pa.ChunkedArray) -> Any:
    array = values.combine_chunks()
    if is_integer(column):
        return as_integers(column, array)
    decimal = _DECIMAL.fullmatch(column.type_name)
    if decimal is not None:
        return array.cast(pa.decimal128(int(decimal[1]), int(decimal[2])))
    kind = _STORED_AS[column.type_name.partition("[")[0]]
    array = array.cast(kind)
    return _bits(array) if pa.types.is_floating(kind) else array


def _bits(numbers: pa.Array) -> pa.Array:
    """A NaN is itself as bits. Those of -0.0 and of the many NaNs are made the same: to Spark they are one key."""
    number = pc.if_else(pc.is_nan(numbers), float("nan"), pc.add(numbers, 0.0))
    return number.view(pa.int64())
