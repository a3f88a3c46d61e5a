"""Verifies before a commit, inside Spark, that maintenance does not change the visible rows.

Every row gets a 64-bit hash of all its columns; the count, the sum and the exclusive or of the hashes do not depend on
the order of rows. Different numbers prove that the rows differ. Equal numbers prove that there are as many rows. That
the rows are the same is as certain as a 64-bit hash: an accidental difference goes unnoticed once in 2^64 times. Rows
that were crafted to collide are not detected. 0.0 and -0.0 have the same hash, as they are equal in SQL.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.errors import VerificationError
from rowdelta.iceberg import read_listed_files, read_parent_files
from rowdelta.read import build_live_rows
from rowdelta.spark import quote

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg import SnapshotFiles, TableHandle, UncommittedSnapshot

VERIFIED_BELOW: Final = 1 << 30
_HASH: Final = "__rd_hash"
_EXAMPLES: Final = 5
_LONGEST: Final = 300
_ALL_FIELDS: Final = {"ignoreNullFields": "false"}


@dataclass(frozen=True)
class Fingerprint:
    """Three numbers for a whole set of rows; two different sets share them once in 2^64 times."""

    rows: int
    total: Decimal
    mixed: int


def compute_fingerprint(frame: DataFrame) -> Fingerprint:
    """Computes the fingerprint of all rows and columns of a frame."""
    row = (
        frame.select(hash_row(frame).alias(_HASH))
        .agg(F.count("*"), F.sum(F.col(_HASH).cast("decimal(38, 0)")), F.bit_xor(_HASH))
        .collect()[0]
    )
    return Fingerprint(row[0], row[1] or Decimal(0), row[2] or 0)


def hash_row(frame: DataFrame) -> Column:
    """Hashes a row to 64 bits."""
    fields = frame.schema.fields
    return F.xxhash64(*(part for field in fields for part in _split_null(F.col(quote(field.name)), field.dataType)))


def _split_null(value: Column, data_type: T.DataType) -> tuple[Column, Column]:
    """Returns a value, and whether it is null: Spark's hash skips nulls, so (1, null) would equal (null, 1)."""
    return value.isNull(), _make_hashable(value, data_type)


def _make_hashable(value: Column, data_type: T.DataType) -> Column:
    """Makes a value that Spark hashes with its inner nulls: of a map, its sorted entries; of a variant, its text."""
    if isinstance(data_type, T.MapType):
        return F.array_sort(F.transform(F.map_entries(value), lambda entry: _make_entry_hashable(entry, data_type)))
    if data_type.typeName() == "variant":
        return F.to_json(value)
    if isinstance(data_type, T.ArrayType):
        return F.transform(value, lambda element: F.struct(*_split_null(element, data_type.elementType)))
    if isinstance(data_type, T.StructType):
        parts = [part for field in data_type.fields for part in _split_null(value.getField(field.name), field.dataType)]
        return F.struct(*parts)
    return value


def _make_entry_hashable(entry: Column, map_type: T.MapType) -> Column:
    return F.struct(_make_hashable(entry["key"], map_type.keyType), *_split_null(entry["value"], map_type.valueType))


def should_verify(verify: bool | None, size_in_bytes: int) -> bool:  # noqa: FBT001 - what the user asked for
    """Whether to compare all visible rows: as the user says, else only in a small table."""
    return size_in_bytes < VERIFIED_BELOW if verify is None else verify


def build_row_check(only: AbstractSet[str] | None = None) -> Callable[[UncommittedSnapshot], None]:
    """Builds a check that the state about to be committed shows the same rows as the state before it.

    It runs once: when a commit is retried after a lost race, the change is still the same.

    Args:
        only: The data files that can differ; default: all of them.
    """
    done: list[bool] = []

    def check(uncommitted: UncommittedSnapshot) -> None:
        if done:
            return
        handle, before = uncommitted.handle, read_parent_files(uncommitted)
        after = read_listed_files(handle, before.snapshot, uncommitted.listing)
        compare_rows(read_all(handle, before, only), read_all(handle, after, only), handle.name)
        done.append(True)

    return check


def read_all(handle: TableHandle, files: SnapshotFiles, only: AbstractSet[str] | None = None) -> DataFrame:
    """Reads the live rows and applies every delete. A check does not rely on pruning, so no delete is skipped."""
    schema_id = handle.metadata.current_schema_id
    return build_live_rows(handle, files, schema_id, only=only, deletes=files.equality_deletes).apply_deletes()


def compare_rows(before: DataFrame, after: DataFrame, name: str) -> None:
    """Compares two states of a table.

    Raises:
        VerificationError: They differ; the message shows some of the rows that do.
    """
    old, new = compute_fingerprint(before), compute_fingerprint(after)
    if old == new:
        return
    lost, extra = _find_extra_rows(before, after), _find_extra_rows(after, before)
    examples = [*(f"- {row}" for row in lost), *(f"+ {row}" for row in extra)]
    raise VerificationError(
        f"{name} would show {new.rows:,} rows instead of {old.rows:,}, or other ones; nothing was committed. "
        f"Rows that would be lost (-) or come back (+):\n" + "\n".join(examples),
        hint="the table is as it was; please report this with the output of t.delete_files()",
    )


def _find_extra_rows(these: DataFrame, others: DataFrame) -> list[str]:
    """Finds some rows that occur more often on this side."""
    counts = [
        side.groupBy(hash_row(side).alias(_HASH)).agg(F.count("*").alias(name))
        for side, name in ((these, "here"), (others, "there"))
    ]
    more = counts[0].join(counts[1], _HASH, "left").where("here > coalesce(there, 0)").select(_HASH).limit(_EXAMPLES)
    hashed = these.withColumn(_HASH, hash_row(these))
    rows = hashed.join(F.broadcast(more), _HASH, "left_semi").drop(_HASH).limit(_EXAMPLES)
    # Spark makes the text: Python has no dates before year 1 or after year 9999.
    texts = [row[0] for row in rows.select(F.to_json(F.struct("*"), _ALL_FIELDS)).collect()]
    return [text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..." for text in texts]
