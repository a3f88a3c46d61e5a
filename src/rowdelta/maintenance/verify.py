"""Are the visible rows the same after maintenance as before? Asked before the commit, answered inside Spark.

Every row gets a 64-bit hash of all its columns; the count, the sum and the exclusive or of the hashes do not depend on
the order of rows. Different numbers prove that the rows differ. Equal ones prove that there are as many rows; that they
are the same is as sure as a 64-bit hash: of two sets that differ by mistake, one pair in 2^64 looks alike. It is no
guard against rows that were made to collide. 0.0 and -0.0 have the same hash, as they are equal in SQL.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.errors import VerificationError
from rowdelta.iceberg import files_of, parent_files
from rowdelta.read import live_rows
from rowdelta.spark import quote

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg import SnapshotFiles, TableHandle, Uncommitted

VERIFIED_BELOW: Final = 1 << 30
_HASH: Final = "__rd_hash"
_EXAMPLES: Final = 5
_LONGEST: Final = 300
_ALL_FIELDS: Final = {"ignoreNullFields": "false"}


@dataclass(frozen=True)
class Fingerprint:
    """A whole set of rows in three numbers: other rows have others, but for one chance in 2^64."""

    rows: int
    total: Decimal
    mixed: int


def compute_fingerprint(frame: DataFrame) -> Fingerprint:
    """The fingerprint of all rows and columns of a frame."""
    row = (
        frame.select(hash_row(frame).alias(_HASH))
        .agg(F.count("*"), F.sum(F.col(_HASH).cast("decimal(38, 0)")), F.bit_xor(_HASH))
        .collect()[0]
    )
    return Fingerprint(row[0], row[1] or Decimal(0), row[2] or 0)


def hash_row(frame: DataFrame) -> Column:
    """A 64-bit hash of a row."""
    fields = frame.schema.fields
    return F.xxhash64(*(part for field in fields for part in _parts(F.col(quote(field.name)), field.dataType)))


def _parts(value: Column, kind: T.DataType) -> tuple[Column, Column]:
    """A value and whether it is null: Spark's hash passes over nulls, and (1, null) would be (null, 1)."""
    return value.isNull(), _hashable(value, kind)


def _hashable(value: Column, kind: T.DataType) -> Column:
    """A value that Spark can hash, nulls inside of it included: a map as its sorted entries, a variant as its text."""
    if isinstance(kind, T.MapType):
        return F.array_sort(F.transform(F.map_entries(value), lambda entry: _entry(entry, kind)))
    if isinstance(kind, T.VariantType):
        return F.to_json(value)
    if isinstance(kind, T.ArrayType):
        return F.transform(value, lambda element: F.struct(*_parts(element, kind.elementType)))
    if isinstance(kind, T.StructType):
        parts = [part for field in kind.fields for part in _parts(value.getField(field.name), field.dataType)]
        return F.struct(*parts)
    return value


def _entry(entry: Column, kind: T.MapType) -> Column:
    return F.struct(_hashable(entry["key"], kind.keyType), *_parts(entry["value"], kind.valueType))


def should_verify(verify: bool | None, size_in_bytes: int) -> bool:  # noqa: FBT001 - what the user asked for
    """Whether to compare all visible rows: as the user says, else only in a small table."""
    return size_in_bytes < VERIFIED_BELOW if verify is None else verify


def build_row_check(only: AbstractSet[str] | None = None) -> Callable[[Uncommitted], None]:
    """A check that the state about to be committed shows the same rows as the one before it.

    It runs once: when a commit is tried again after a lost race, the change is still the same.

    Args:
        only: The data files that can differ; all of them when left out.
    """
    done: list[bool] = []

    def check(made: Uncommitted) -> None:
        if done:
            return
        handle, before = made.handle, parent_files(made)
        after = files_of(handle, before.snapshot, made.listing)
        compare_rows(read_all(handle, before, only), read_all(handle, after, only), handle.name)
        done.append(True)

    return check


def read_all(handle: TableHandle, files: SnapshotFiles, only: AbstractSet[str] | None = None) -> DataFrame:
    """The live rows with every delete applied, also those that seem to find no row: a check trusts no such thought."""
    schema_id = handle.metadata.current_schema_id
    return live_rows(handle, files, schema_id, only=only, deletes=files.equality_deletes).live()


def compare_rows(before: DataFrame, after: DataFrame, name: str) -> None:
    """Compares two states of a table.

    Raises:
        VerificationError: They differ; the message shows some of the rows that do.
    """
    old, new = compute_fingerprint(before), compute_fingerprint(after)
    if old == new:
        return
    lost, extra = _only_in(before, after), _only_in(after, before)
    examples = [*(f"- {row}" for row in lost), *(f"+ {row}" for row in extra)]
    raise VerificationError(
        f"{name} would show {new.rows:,} rows instead of {old.rows:,}, or other ones; nothing was committed. "
        f"Rows that would be lost (-) or come back (+):\n" + "\n".join(examples),
        hint="the table is as it was; please report this with the output of t.delete_files()",
    )


def _only_in(these: DataFrame, others: DataFrame) -> list[str]:
    """Some rows that there are more of on one side."""
    counts = [
        side.groupBy(hash_row(side).alias(_HASH)).agg(F.count("*").alias(name))
        for side, name in ((these, "here"), (others, "there"))
    ]
    more = counts[0].join(counts[1], _HASH, "left").where("here > coalesce(there, 0)").select(_HASH).limit(_EXAMPLES)
    hashed = these.withColumn(_HASH, hash_row(these))
    found = hashed.join(F.broadcast(more), _HASH, "left_semi").drop(_HASH).limit(_EXAMPLES)
    # As text that Spark makes: Python has no dates beyond the years 1 and 9999.
    texts = [row[0] for row in found.select(F.to_json(F.struct("*"), _ALL_FIELDS)).collect()]
    return [text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..." for text in texts]
