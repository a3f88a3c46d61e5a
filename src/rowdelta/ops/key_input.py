"""The keys that a caller gives: checked against the table, and bound to the partitions that they are for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.errors import InputError
from rowdelta.iceberg import PartitionSpec, unpartitioned_spec
from rowdelta.ops.refusals import not_null
from rowdelta.ops.scopes import REMEDY, check_scope, has_other_specs
from rowdelta.scan import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from rowdelta.iceberg import Field, PartitionField, TableHandle

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
        columns: The columns that rows are deleted by, in the order of `k0`, `k1`, ...
        spec: The partition spec of the deletes; an unpartitioned one stands for the whole table.
        sources: The columns that partitions are made of, in the order of `s0`, `s1`, ...
        scope_reason: Why the deletes are not kept to partitions, where nobody asked for that.
    """

    frame: DataFrame
    columns: tuple[Field, ...]
    spec: PartitionSpec
    sources: tuple[Field, ...]
    scope_reason: str = ""

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
    spec, more, reason = _place(handle, keys, columns, scope)
    columns = (*columns, *more)
    parts = [] if spec.is_unpartitioned else [part for part in spec.fields if part.transform != "void"]
    sources = tuple(schema.by_id[source] for source in dict.fromkeys(part.source_id for part in parts))
    types = handle.column_types
    frame = keys.select(
        *(_typed(handle, keys, column, types).alias(f"k{i}") for i, column in enumerate(columns)),
        *(_typed(handle, keys, column, types).alias(f"s{i}") for i, column in enumerate(sources)),
    )
    source_names = {column.id: f"s{i}" for i, column in enumerate(sources)}
    if not spec.is_unpartitioned:
        values = [_transformed(handle, part.transform, source_names.get(part.source_id)) for part in spec.fields]
        frame = frame.select("*", *(F.expr(value).alias(f"p{i}") for i, value in enumerate(values)))
    return KeyInput(frame, columns, spec, sources, reason)


def _check_type(column: Field) -> None:
    if not isinstance(column.type, str) or len(column.path) > 1:
        raise InputError(
            f"column {column.name!r} of type {column.type_name} cannot be a key", hint="use top-level primitive columns"
        )
    if column.type_name in {"float", "double"}:
        raise InputError(
            f"column {column.name!r} of type {column.type_name} cannot be a key",
            hint="floats that look equal may differ; use a column of another type",
        )


def _place(
    handle: TableHandle, keys: DataFrame, columns: tuple[Field, ...], scope: str
) -> tuple[PartitionSpec, list[Field], str]:
    """The spec that the deletes get, the columns that they must go by besides the key, and why.

    That is the table's own spec, or one without partitions for deletes of the whole table. Deletes of the table's spec
    do not reach rows that were written under another one.
    """
    check_scope(handle, scope)
    spec, by_id = handle.metadata.spec, handle.metadata.schema.by_id
    if spec.is_unpartitioned:
        return spec, [], ""
    everywhere = next((known for known in handle.metadata.specs.values() if known.is_unpartitioned), _SPEC_TO_BE_ADDED)
    if scope == "global":
        return everywhere, [], ""
    parts = [part for part in spec.fields if part.transform != "void"]
    _check_sources(handle, keys, [by_id[part.source_id] for part in parts])
    if not has_other_specs(handle):
        return spec, [], ""
    outside = [part for part in parts if part.source_id not in {column.id for column in columns}]
    more = list(dict.fromkeys(by_id[part.source_id] for part in outside))
    _check_exact(handle, outside, more)
    reason = "some rows were written under another partition spec"
    if more:
        reason += f", so that {', '.join(column.name for column in more)} must be equal too"
    return everywhere, more, reason


def _check_sources(handle: TableHandle, keys: DataFrame, sources: list[Field]) -> None:
    have = {name.lower() for name in keys.columns}
    inner = [column.name for column in sources if len(column.path) > 1]
    if inner:
        raise InputError(
            f"{handle.name} is partitioned by {', '.join(inner)} inside a struct, which keys cannot carry",
            hint="scope='global' deletes in all partitions",
        )
    missing = [column.name for column in sources if column.name.lower() not in have]
    if missing:
        raise InputError(
            f"{handle.name} is partitioned by {', '.join(column.name for column in sources)}, but the keys have no "
            f"column {', '.join(missing)}",
            hint="add it, so that deletes find their partition; scope='global' deletes in all of them",
        )


def _check_exact(handle: TableHandle, parts: list[PartitionField], sources: list[Field]) -> None:
    """Rows of another spec can be told by the values that partitions are made of, unless these are only somewhere near.

    Whoever deletes in a day or a prefix need not know the very time or text of the row.
    """
    floats = {column.id for column in sources if column.type_name in {"float", "double"}}
    vague = [p for p in parts if p.source_id in floats or p.transform.partition("[")[0] not in {"identity", "bucket"}]
    if vague:
        names = ", ".join(handle.metadata.schema.by_id[part.source_id].name for part in vague)
        raise InputError(
            f"some rows of {handle.name} were written under another partition spec, and the partition "
            f"{', '.join(part.name for part in vague)} of a key does not tell which of them are meant",
            hint=f"add {names} to the key, or {REMEDY}",
        )


def _typed(handle: TableHandle, keys: DataFrame, column: Field, types: StructType) -> Column:
    """A column of the input with the table's type; nothing is converted that could lose something."""
    found = [name for name in keys.columns if name.lower() == column.name.lower()]
    if len(found) != 1:
        raise InputError(
            f"the keys have {'no' if not found else 'more than one'} column {column.name!r}",
            hint=f"their columns are {', '.join(keys.columns)}",
        )
    have = keys.schema[found[0]].dataType.simpleString()
    want = types[column.name].dataType.simpleString()
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
