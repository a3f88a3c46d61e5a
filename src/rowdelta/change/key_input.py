"""The keys of a caller, checked against the table and bound to partitions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change.key_scope import choose_scope
from rowdelta.change.row_errors import refuse_null
from rowdelta.errors import InputError
from rowdelta.iceberg import PartitionSpec, ensure_unpartitioned_spec
from rowdelta.spark import parse_column, quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from rowdelta.iceberg import Field, TableHandle

# Types that can be widened to the type of a column without loss, by their names in Spark.
_WIDENS: Final = {
    "bigint": {"int", "smallint", "tinyint"},
    "int": {"smallint", "tinyint"},
}
_SPEC_TO_BE_ADDED: Final = PartitionSpec(id=-1, fields=())


@dataclass(frozen=True)
class KeyInput:
    """Checked keys.

    Attributes:
        frame: Columns `k0`, `k1`, ... (the key), `s0`, `s1`, ... (the sources of the partition), and `p0`, ... (the
            partition), all with the types of the table.
        columns: The columns that rows are deleted by, in the order of `k0`, `k1`, ...
        spec: The partition spec of the deletes; an unpartitioned one means the whole table.
        sources: The source columns of partitions, in the order of `s0`, `s1`, ...
        scope_reason: Why the deletes are for the whole table, if `scope="auto"` decided so.
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
        """`p0`, `p1`, ...; none if the deletes are for the whole table."""
        return [] if self.spec.is_unpartitioned else [f"p{index}" for index in range(len(self.spec.fields))]

    @property
    def adds_spec(self) -> bool:
        """Whether these keys need a spec without partitions that the table does not have yet."""
        return self.spec is _SPEC_TO_BE_ADDED

    def with_spec(self, handle: TableHandle) -> KeyInput:
        """Binds the keys to a spec of the table; adds the spec if needed."""
        return replace(self, spec=ensure_unpartitioned_spec(handle)) if self.adds_spec else self


def bind_keys(
    handle: TableHandle, keys: DataFrame, key: str | Sequence[str], scope: str, *, keep: Sequence[str] = ()
) -> KeyInput:
    """Checks that a frame has the key columns, and the sources of partitions, with fitting types.

    Args:
        handle: The table.
        keys: The frame.
        key: The columns of the key.
        scope: Which partitions the deletes apply to.
        keep: Other columns of the frame to keep.

    Raises:
        InputError: A column is missing, of another type, or cannot be a key.
    """
    names = [key] if isinstance(key, str) else list(key)
    if not names:
        raise InputError("no key column was given", hint="name the columns that identify a row: key='id'")
    schema, rule = handle.metadata.schema, handle.name_rule
    columns = tuple(schema.find(name, rule) for name in names)
    if len({column.id for column in columns}) != len(columns):
        raise InputError(f"the key {names} names a column twice")
    for column in columns:
        _check_type(column)
    spec, reason = _find_spec(handle, keys, columns, scope)
    parts = [] if spec.is_unpartitioned else [part for part in spec.fields if part.transform != "void"]
    sources = tuple(schema.by_id[source] for source in dict.fromkeys(part.source_id for part in parts))
    types = handle.column_types
    frame = keys.select(
        *(_cast_column(handle, keys, column, types).alias(f"k{i}") for i, column in enumerate(columns)),
        *(_cast_column(handle, keys, column, types).alias(f"s{i}") for i, column in enumerate(sources)),
        *keep,
    )
    source_names = {column.id: f"s{i}" for i, column in enumerate(sources)}
    if not spec.is_unpartitioned:
        values = [write_partition_sql(handle, part.transform, source_names.get(part.source_id)) for part in spec.fields]
        frame = frame.select("*", *(parse_column(value).alias(f"p{i}") for i, value in enumerate(values)))
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


def _find_spec(
    handle: TableHandle, keys: DataFrame, columns: tuple[Field, ...], scope: str
) -> tuple[PartitionSpec, str]:
    """Finds the partition spec for the deletes, and the reason.

    It is the table's own spec, or one without partitions for deletes of the whole table. Deletes under the table's spec
    do not apply to rows that were written under another one.
    """
    spec, by_id = handle.metadata.spec, handle.metadata.schema.by_id
    chosen, reason = choose_scope(handle, [column.sql for column in columns], scope)
    if spec.is_unpartitioned:
        return spec, ""
    if chosen == "global":
        specs = handle.metadata.specs.values()
        unpartitioned = next((one for one in specs if one.is_unpartitioned), _SPEC_TO_BE_ADDED)
        return unpartitioned, "" if scope == "global" else reason
    _check_sources(handle, keys, [by_id[part.source_id] for part in spec.fields if part.transform != "void"])
    return spec, ""


def _check_sources(handle: TableHandle, keys: DataFrame, sources: list[Field]) -> None:
    rule = handle.name_rule
    inner = [column.name for column in sources if len(column.path) > 1]
    if inner:
        raise InputError(
            f"{handle.name} is partitioned by {', '.join(inner)} inside a struct, which keys cannot carry",
            hint="scope='global' deletes in all partitions",
        )
    missing = [column.name for column in sources if not rule.find(column.name, keys.columns)]
    if missing:
        raise InputError(
            f"{handle.name} is partitioned by {', '.join(column.name for column in sources)}, but the keys have no "
            f"column {', '.join(missing)}",
            hint="add it, so that deletes find their partition; scope='global' deletes in all of them",
        )


def _cast_column(handle: TableHandle, keys: DataFrame, column: Field, types: StructType) -> Column:
    """Casts a column of the input to the table's type, if that loses nothing."""
    names = handle.name_rule.find(column.name, keys.columns)
    if len(names) != 1:
        raise InputError(
            f"the keys have {'no' if not names else 'more than one'} column {column.name!r}",
            hint=f"their columns are {', '.join(keys.columns)}",
        )
    column_type = types[column.name].dataType
    have, want = keys.schema[names[0]].dataType.simpleString(), column_type.simpleString()
    if have not in {want, "void"} and have not in _WIDENS.get(want, set()):
        raise InputError(
            f"key column {column.name!r} is {have}, but in {handle.name} it is {want}",
            hint=f"cast it first: col('{column.name}').cast('{want}')",
        )
    value = F.col(quote(names[0])).cast(column_type)
    if not column.required:
        return value
    return refuse_null(value, f"a key is null in column {column.name!r}, which the table requires")


def write_partition_sql(handle: TableHandle, transform: str, source: str | None) -> str:
    """Writes a partition value in SQL, with Iceberg's own functions."""
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
    return f"{quote(handle.catalog)}.system.{functions[name]}({arguments})"
