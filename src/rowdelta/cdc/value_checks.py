"""Finds typed values that their columns cannot hold: numbers that are too large, and nulls in required fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.spark import try_cast

if TYPE_CHECKING:
    from pyspark.sql import Column

    from rowdelta.spark import NameRule


def find_misfit(value: Column, have: T.DataType, want: T.DataType, rule: NameRule) -> Column | None:
    """Tests whether a value, or one inside it, does not fit; None if all fit, or none can be stored at all."""
    if isinstance(have, T.NumericType) and isinstance(want, T.NumericType):
        return None if have == want else value.isNotNull() & try_cast(value, want).isNull()
    if isinstance(have, T.StructType) and isinstance(want, T.StructType):
        return _find_misfit_in_struct(value, have, want, rule)
    if isinstance(have, T.ArrayType) and isinstance(want, T.ArrayType):
        return _find_misfit_in_items(value, have.elementType, want.elementType, rule, nullable=want.containsNull)
    if isinstance(have, T.MapType) and isinstance(want, T.MapType):
        keys = _find_misfit_in_items(F.map_keys(value), have.keyType, want.keyType, rule, nullable=True)
        nullable = want.valueContainsNull
        values = _find_misfit_in_items(F.map_values(value), have.valueType, want.valueType, rule, nullable=nullable)
        return combine_tests(keys, values)
    return None


def _find_misfit_in_struct(value: Column, have: T.StructType, want: T.StructType, rule: NameRule) -> Column | None:
    sources = {rule.fold(part.name): part for part in have.fields}
    tests = []
    for part in want.fields:
        source = sources.get(rule.fold(part.name))
        if source is not None:
            inner = value.getField(source.name)
            tests.append(_find_misfit_in_part(inner, source.dataType, part.dataType, rule, nullable=part.nullable))
    inside = combine_tests(*tests)
    return None if inside is None else value.isNotNull() & inside


def _find_misfit_in_items(
    items: Column, have: T.DataType, want: T.DataType, rule: NameRule, *, nullable: bool
) -> Column | None:
    if _find_misfit_in_part(F.lit(None), have, want, rule, nullable=nullable) is None:
        return None

    def test(item: Column) -> Column:
        misfit = _find_misfit_in_part(item, have, want, rule, nullable=nullable)
        assert misfit is not None
        return misfit

    return F.exists(items, test)


def _find_misfit_in_part(
    value: Column, have: T.DataType, want: T.DataType, rule: NameRule, *, nullable: bool
) -> Column | None:
    return combine_tests(find_misfit(value, have, want, rule), None if nullable else value.isNull())


def combine_tests(*tests: Column | None) -> Column | None:
    """Tests whether one of some tests holds; None if there are none."""
    combined: Column | None = None
    for test in tests:
        if test is not None:
            holds = F.coalesce(test, F.lit(False))
            combined = holds if combined is None else combined | holds
    return combined
