"""Typed values that their columns cannot hold: numbers that are too large, and nulls where none may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

if TYPE_CHECKING:
    from pyspark.sql import Column

    from rowdelta.spark import NameRule


def unfit(value: Column, have: T.DataType, want: T.DataType, rule: NameRule) -> Column | None:
    """Whether a value, or one inside it, does not fit; None where all do, or none can be stored at all."""
    if isinstance(have, T.NumericType) and isinstance(want, T.NumericType):
        return None if have == want else value.isNotNull() & value.try_cast(want).isNull()
    if isinstance(have, T.StructType) and isinstance(want, T.StructType):
        return _in_struct(value, have, want, rule)
    if isinstance(have, T.ArrayType) and isinstance(want, T.ArrayType):
        return _in_items(value, have.elementType, want.elementType, rule, nullable=want.containsNull)
    if isinstance(have, T.MapType) and isinstance(want, T.MapType):
        keys = _in_items(F.map_keys(value), have.keyType, want.keyType, rule, nullable=True)
        values = _in_items(F.map_values(value), have.valueType, want.valueType, rule, nullable=want.valueContainsNull)
        return any_of(keys, values)
    return None


def _in_struct(value: Column, have: T.StructType, want: T.StructType, rule: NameRule) -> Column | None:
    given = {rule.fold(part.name): part for part in have.fields}
    tests = []
    for part in want.fields:
        source = given.get(rule.fold(part.name))
        if source is not None:
            inner = value.getField(source.name)
            tests.append(_in_part(inner, source.dataType, part.dataType, rule, nullable=part.nullable))
    inside = any_of(*tests)
    return None if inside is None else value.isNotNull() & inside


def _in_items(items: Column, have: T.DataType, want: T.DataType, rule: NameRule, *, nullable: bool) -> Column | None:
    if _in_part(F.lit(None), have, want, rule, nullable=nullable) is None:
        return None

    def test(item: Column) -> Column:
        found = _in_part(item, have, want, rule, nullable=nullable)
        assert found is not None
        return found

    return F.exists(items, test)


def _in_part(value: Column, have: T.DataType, want: T.DataType, rule: NameRule, *, nullable: bool) -> Column | None:
    return any_of(unfit(value, have, want, rule), None if nullable else value.isNull())


def any_of(*tests: Column | None) -> Column | None:
    """Whether one of the tests holds; None where there is none."""
    found: Column | None = None
    for test in tests:
        if test is not None:
            known = F.coalesce(test, F.lit(False))
            found = known if found is None else found | known
    return found
