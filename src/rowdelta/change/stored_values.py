"""Casts values to the types of columns by the rules of ANSI SQL: structs by name, and forbidden nulls fail."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.change.row_errors import refuse_null
from rowdelta.errors import InputError
from rowdelta.spark import can_store, cast_strictly

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg import Field, TableHandle


def store_value(handle: TableHandle, rows: DataFrame, column: Field, value: Column, want: T.DataType) -> Column:
    """Casts a value to the type of a column if ANSI SQL allows it; overflow and a forbidden null fail at run time."""
    have = rows.select(value.alias("v")).schema["v"].dataType
    return store_typed_value(handle, column, value, have, want)


def fits_unchanged(column: Field, have: T.DataType, want: T.DataType) -> bool:
    """Whether a column stores every value of a type unchanged."""
    return not column.required and have.json() == want.json()


def store_typed_value(handle: TableHandle, column: Field, value: Column, have: T.DataType, want: T.DataType) -> Column:
    """Does the same for a value whose type is given."""
    result = _Storage(handle, have, want, column.name).convert(value, have, want, column.name)
    return _refuse_null_in(result, column.name) if column.required else result


def _refuse_null_in(value: Column, name: str) -> Column:
    return refuse_null(value, f"column {name!r} is required, but a row would get null")


def _to_nullable_json(data_type: T.DataType) -> str:
    """Writes a type as JSON, with nulls allowed at every level."""
    return re.sub(r'("nullable"|"containsNull"|"valueContainsNull"):false', r"\1:true", data_type.json())


@dataclass(frozen=True)
class _Storage:
    """One assignment: the types of both sides, for the message, and the conversion of each level."""

    handle: TableHandle
    value: T.DataType
    column: T.DataType
    name: str

    def convert(self, value: Column, have: T.DataType, want: T.DataType, name: str) -> Column:
        if have.json() == want.json():
            return value
        if _to_nullable_json(have) == _to_nullable_json(want) == want.json():
            return cast_strictly(self.handle.gateway, value, want)
        if isinstance(have, T.StructType) and isinstance(want, T.StructType):
            return F.when(value.isNotNull(), self._convert_struct(value, have, want, name))
        if isinstance(have, T.ArrayType) and isinstance(want, T.ArrayType):
            return F.transform(value, lambda item: self._convert_element(item, have, want, name))
        if isinstance(have, T.MapType) and isinstance(want, T.MapType):
            entries = F.transform(F.map_entries(value), lambda entry: self._convert_entry(entry, have, want, name))
            return F.map_from_entries(entries)
        if not can_store(self.handle.gateway, have, want):
            raise self._make_error()
        return cast_strictly(self.handle.gateway, value, want)

    def _convert_struct(self, value: Column, have: T.StructType, want: T.StructType, name: str) -> Column:
        fold = self.handle.name_rule.fold
        given = {fold(part.name): part for part in have.fields}
        if len(given) != len(have.fields) or given.keys() != {fold(part.name) for part in want.fields}:
            raise self._make_error()
        parts = []
        for part in want.fields:
            source, path = given[fold(part.name)], f"{name}.{part.name}"
            new = self.convert(value.getField(source.name), source.dataType, part.dataType, path)
            parts.append((new if part.nullable else _refuse_null_in(new, path)).alias(part.name))
        return F.struct(*parts)

    def _convert_element(self, item: Column, have: T.ArrayType, want: T.ArrayType, name: str) -> Column:
        path = f"{name}.element"
        new = self.convert(item, have.elementType, want.elementType, path)
        return new if want.containsNull else _refuse_null_in(new, path)

    def _convert_entry(self, entry: Column, have: T.MapType, want: T.MapType, name: str) -> Column:
        key = self.convert(entry.getField("key"), have.keyType, want.keyType, f"{name}.key")
        new = self.convert(entry.getField("value"), have.valueType, want.valueType, f"{name}.value")
        return F.struct(key, new if want.valueContainsNull else _refuse_null_in(new, f"{name}.value"))

    def _make_error(self) -> InputError:
        column_type = self.column.simpleString()
        return InputError(
            f"{self.value.simpleString()} cannot be stored in column {self.name!r} of type {column_type}",
            hint=f"cast it: cast(... as {column_type})",
        )
