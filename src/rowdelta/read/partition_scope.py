"""Which rows an equality delete is for: all of them, or those of one partition."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812 - what everybody calls it

from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowdelta.iceberg import DeleteEntry, PartitionSpec


@dataclass(frozen=True)
class Scope:
    """The partition that a delete is for: its spec, and a value for each field of the spec."""

    spec_id: int
    partition: tuple[Any, ...]


def scope_of(entry: DeleteEntry, specs: dict[int, PartitionSpec]) -> Scope | None:
    """The partition of a delete; None where it is for the whole table, because its spec has no partitions."""
    if specs[entry.spec_id].is_unpartitioned:
        return None
    return Scope(entry.spec_id, tuple(_hashable(value) for value in entry.partition))


def _hashable(value: Any) -> Any:
    return bytes(value) if isinstance(value, bytearray | memoryview) else value


class ScopeColumns:
    """The `_partition` column of a table, and partition values of deletes in the same shape.

    `names` gives, for each partition field id, the name of its field in `_partition`.
    """

    def __init__(self, specs: dict[int, PartitionSpec], struct: T.StructType, names: dict[int, str]) -> None:
        self._specs = specs
        self._types = {field.name: field.dataType for field in struct.fields}
        self._names = names

    @property
    def fields(self) -> list[str]:
        """The fields of `_partition`."""
        return list(self._types)

    def table(self, scopes: Sequence[Scope]) -> pa.Table:
        """One row per scope: `spec_id`, and `p0`, `p1`, ... in the order of `fields`; still to be cast in Spark."""
        rows = [self._values(scope) for scope in scopes]
        columns = {"spec_id": pa.array([scope.spec_id for scope in scopes], pa.int32())}
        for index, name in enumerate(self._types):
            columns[f"p{index}"] = _column([row.get(name) for row in rows], name, self._types[name])
        return pa.table(columns)

    def casts(self) -> dict[str, T.DataType]:
        """The type of each column that `table` gives; by name, a timestamp may be one of two types."""
        return {f"p{index}": kind for index, kind in enumerate(self._types.values())}

    def _values(self, scope: Scope) -> dict[str, Any]:
        fields = self._specs[scope.spec_id].fields
        named = zip(fields, scope.partition, strict=True)
        return {
            self._names[part.field_id]: _spark_value(value, self._types[self._names[part.field_id]])
            for part, value in named
            if part.field_id in self._names
        }


def _column(values: list[Any], name: str, kind: T.DataType) -> pa.Array:
    try:
        return pa.array(values, type=_arrow_type(kind))
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise FormatError(
            f"an equality delete has a partition value of {name} that is no {kind.simpleString()}: {error}",
            hint="its manifest was not written as the Iceberg spec says",
        ) from error


def _spark_value(value: Any, kind: T.DataType) -> Any:
    if isinstance(kind, T.StringType) and isinstance(value, uuid.UUID | bytes):
        return str(value if isinstance(value, uuid.UUID) else uuid.UUID(bytes=value))
    return value


def _arrow_type(kind: T.DataType) -> pa.DataType | None:
    """The Arrow type of an empty or all-null column; the values themselves decide otherwise."""
    known = {
        T.StringType: pa.string(),
        T.IntegerType: pa.int32(),
        T.LongType: pa.int64(),
        T.DateType: pa.date32(),
        T.BooleanType: pa.bool_(),
        T.DoubleType: pa.float64(),
        T.FloatType: pa.float32(),
        T.BinaryType: pa.binary(),
        T.TimestampType: pa.timestamp("us", "UTC"),
        T.TimestampNTZType: pa.timestamp("us"),
    }
    if isinstance(kind, T.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    return known.get(type(kind))
