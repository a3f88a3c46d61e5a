"""The rows that an equality delete applies to: all of them, or those of one partition."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812 - its usual name

from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowdelta.iceberg import DeleteEntry, PartitionSpec


@dataclass(frozen=True)
class Scope:
    """The partition that a delete applies to: its spec, and a value for each field of the spec."""

    spec_id: int
    partition: tuple[Any, ...]


def find_scope(entry: DeleteEntry, specs: dict[int, PartitionSpec]) -> Scope | None:
    """Finds the partition of a delete; None if its spec has no partitions: then it applies to the whole table."""
    if specs[entry.spec_id].is_unpartitioned:
        return None
    return Scope(entry.spec_id, tuple(_to_hashable(value) for value in entry.partition))


def _to_hashable(value: Any) -> Any:
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

    def make_table(self, scopes: Sequence[Scope]) -> pa.Table:
        """Makes one row for each scope: `spec_id`, and `p0`, `p1`, ... in the order of `fields`, before the casts."""
        rows = [self._make_values(scope) for scope in scopes]
        columns = {"spec_id": pa.array([scope.spec_id for scope in scopes], pa.int32())}
        for index, name in enumerate(self._types):
            columns[f"p{index}"] = _make_column([row.get(name) for row in rows], name, self._types[name])
        return pa.table(columns)

    def get_casts(self) -> dict[str, T.DataType]:
        """Returns the Spark type of each column of `make_table`: Arrow has two Spark types for a timestamp."""
        return {f"p{index}": data_type for index, data_type in enumerate(self._types.values())}

    def _make_values(self, scope: Scope) -> dict[str, Any]:
        fields = self._specs[scope.spec_id].fields
        named = zip(fields, scope.partition, strict=True)
        return {
            self._names[part.field_id]: _to_spark_value(value, self._types[self._names[part.field_id]])
            for part, value in named
            if part.field_id in self._names
        }


def _make_column(values: list[Any], name: str, data_type: T.DataType) -> pa.Array:
    try:
        return pa.array(values, type=_find_arrow_type(data_type))
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise FormatError(
            f"an equality delete has a partition value of {name} that is not a valid "
            f"{data_type.simpleString()}: {error}",
            hint="its manifest was not written as the Iceberg spec says",
        ) from error


def _to_spark_value(value: Any, data_type: T.DataType) -> Any:
    if isinstance(data_type, T.StringType) and isinstance(value, uuid.UUID | bytes):
        return str(value if isinstance(value, uuid.UUID) else uuid.UUID(bytes=value))
    return value


def _find_arrow_type(data_type: T.DataType) -> pa.DataType | None:
    """Finds the Arrow type of a partition value; None if the values themselves decide."""
    arrow_types = {
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
    if isinstance(data_type, T.DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    return arrow_types.get(type(data_type))
