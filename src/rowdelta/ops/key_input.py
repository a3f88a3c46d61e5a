"""The keys that a caller gives: checked against the table, and bound to the partitions that they are for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.errors import InputError
from rowdelta.iceberg import PartitionSpec, unpartitioned_spec
from rowdelta.ops.refusals import not_null
from rowdelta.scan import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg import Field, TableHandle

# What Spark calls the types that may be widened to a column's type without losing anything.
_WIDENS: Final = {
    "bigint": {"int", "smallint", "tinyint"},
    "int": {"smallint", "tinyint"},
}
_SPEC_TO_BE_ADDED: Final = PartitionSpec(id=-1, fields=())


@dataclass(frozen=True)
class KeyInput:
    """Checked keys.

    Attributes:
        frame: Columns `k0`, `k1`, ... (the key), then `s0`, `s1`, ... (what the partition is made of), then `p0`, ...
            (the partition itself), all with the types of the table.
        columns: The key columns, in the order of `k0`, `k1`, ...
        spec: The partition spec of the deletes; an unpartitioned one stands for the whole table.
        sources: The columns that partitions are made of, in the order of `s0`, `s1`, ...
    """

    frame: DataFrame
    columns: tuple[Field, ...]
    spec: PartitionSpec
    sources: tuple[Field, ...]

    @property
    def key_names(self) -> list[str]:
        """`k0`, `k1`, ..."""
        return [f"k{index}" for index in range(len(self.columns))]

    @property
    def partition_names(self) -> list[str]:
        """`p0`, `p1`, ..., none where the deletes are for the whole table."""
        return [] if self.spec.is_unpartitioned else [f"p{index}" for index in range(len(self.spec.fields))]

    @property
    def adds_spec(self) -> bool:
        """Whether the table has no spec without partitions yet, and these keys need one."""
        return self.spec is _SPEC_TO_BE_ADDED

    def with_spec(self, handle: TableHandle) -> KeyInput:
        """The same keys under a spec that the table has; adds it if need be."""
        return replace(self, spec=unpartitioned_spec(handle)) if self.adds_spec else self


def check_keys(handle: TableHandle, keys: DataFrame, key: str | Sequence[str], scope: str) -> KeyInput:
    """Checks that a frame has the key columns, with fitting types, and what its partitions need.

    Raises:
        InputError: A column is missing, of another type, or cannot be a key.
    """
    names = [key] if isinstance(key, str) else list(key)
    if not names:
        raise InputError("no key column was given", hint="name the columns that identify a row: key='id'")
    if len(set(names)) != len(names):
        raise InputError(f"the key {names} names a column twice")
    schema = handle.metadata.schema
    columns = tuple(schema.find(name) for name in names)
    for column in columns:
        _check_type(column)
    spec = _spec(handle, keys, scope)
    parts = [] if spec.is_unpartitioned else [part for part in spec.fields if part.transform != "void"]
    sources = tuple(schema.by_id[source] for source in dict.fromkeys(part.source_id for part in parts))
    target = handle.spark.table(handle.full_name).limit(0)
    frame = keys.select(
        *(_typed(handle, keys, column, target).alias(f"k{i}") for i, column in enumerate(columns)),
        *(_typed(handle, keys, column, target).alias(f"s{i}") for i, column in enumerate(sources)),
    )
    source_names = {column.id: f"s{i}" for i, column in enumerate(sources)}
    if not spec.is_unpartitioned:
        values = [_transformed(handle, part.transform, source_names.get(part.source_id)) for part in spec.fields]
        frame = frame.select("*", *(F.expr(value).alias(f"p{i}") for i, value in enumerate(values)))
    return KeyInput(frame, columns, spec, sources)


def _check_type(column: Field) -> None:
    if not isinstance(column.type, str) or len(column.path) > 1:
        raise InputError(
            f"column {column.name!r} of type {column.type_name} cannot be a key", hint="use top-level primitive columns"
        )
    if column.type_name in {"float", "double"}:
        raise InputError(
            f"column {column.name!r} of type {column.type_name} cannot be a key", hint="equal floats are not reliable"
        )


def _spec(handle: TableHandle, keys: DataFrame, scope: str) -> PartitionSpec:
    """The spec that the deletes get: the table's own, or one without partitions for deletes of the whole table."""
    if scope not in {"auto", "partition", "global"}:
        raise InputError(f"unknown scope {scope!r}", hint="use 'auto', 'partition' or 'global'")
    spec = handle.metadata.spec
    if spec.is_unpartitioned:
        return spec
    if scope == "global":
        return next((known for known in handle.metadata.specs.values() if known.is_unpartitioned), _SPEC_TO_BE_ADDED)
    have = {name.lower() for name in keys.columns}
    by_id = handle.metadata.schema.by_id
    sources = [by_id[part.source_id].name for part in spec.fields if part.transform != "void"]
    missing = [name for name in sources if name.lower() not in have]
    if missing:
        raise InputError(
            f"{handle.name} is partitioned by {', '.join(sources)}, but the keys have no column {', '.join(missing)}",
            hint="add it, so that deletes find their partition; scope='global' deletes in all of them",
        )
    return spec


def _typed(handle: TableHandle, keys: DataFrame, column: Field, target: DataFrame) -> Column:
    """A column of the input with the table's type; nothing is converted that could lose something."""
    found = [name for name in keys.columns if name.lower() == column.name.lower()]
    if len(found) != 1:
        raise InputError(
            f"the keys have {'no' if not found else 'more than one'} column {column.name!r}",
            hint=f"their columns are {', '.join(keys.columns)}",
        )
    have = keys.schema[found[0]].dataType.simpleString()
    want = target.schema[column.name].dataType.simpleString()
    if have not in {want, "void"} and have not in _WIDENS.get(want, set()):
        raise InputError(
            f"key column {column.name!r} is {have}, but in {handle.name} it is {want}",
            hint=f"cast it first: col('{column.name}').cast('{want}')",
        )
    value = F.col(quote(found[0])).cast(want)
    if not column.required:
        return value
    return not_null(value, f"a key is null in column {column.name!r}, which the table requires")


def _transformed(handle: TableHandle, transform: str, source: str | None) -> str:
    """A partition value in SQL, by Iceberg's own functions."""
    if transform == "void" or source is None:
        return "NULL"
    if transform == "identity":
        return source
    name, _, argument = transform.partition("[")
    functions = {
        "bucket": "bucket",
        "truncate": "truncate",
        "year": "years",
        "month": "months",
        "day": "days",
        "hour": "hours",
    }
    if name not in functions:
        raise InputError(f"partition transform {transform!r} of {handle.name} is not known", hint="use scope='global'")
    arguments = f"{argument.rstrip(']')}, {source}" if argument else source
    return f"`{handle.catalog}`.system.{functions[name]}({arguments})"
