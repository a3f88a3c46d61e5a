"""Rewrites Iceberg expressions so that they follow SQL's logic of nulls, NaN and negative zero.

Iceberg compares differently from Spark SQL. A comparison with null is never unknown, but true or false: null comes
before all values, and `<>` is true for it. The bounds of a file omit NaN, which SQL orders after all other values. And
-0.0 comes before 0.0, although SQL treats them as equal. A rewritten predicate gives SQL's answer under Iceberg's
rules, so that it can decide about whole files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from rowdelta.iceberg.table_handle import TableHandle

_ORDERED: Final = {"LT": "lessThan", "LT_EQ": "lessThanOrEqual", "GT": "greaterThan", "GT_EQ": "greaterThanOrEqual"}
# Which of the two zeros puts both on the same side of the comparison.
_ZEROS: Final = {"LT": -0.0, "GT_EQ": -0.0, "GT": 0.0, "LT_EQ": 0.0}
_UNKNOWN_OF_NULL: Final = {*_ORDERED, "EQ", "NOT_EQ", "IN", "NOT_IN", "STARTS_WITH", "NOT_STARTS_WITH", "NOT_NAN"}
_NEGATED: Final = {"NOT_EQ", "NOT_IN", "NOT_STARTS_WITH"}
_LAST_CHARACTER: Final = chr(0x10FFFF)
_BEFORE_SURROGATES: Final = 0xD7FF
_AFTER_SURROGATES: Final = 0xE000


class SqlLogic:
    """Rewrites Iceberg's expressions for one table."""

    def __init__(self, handle: TableHandle) -> None:
        self._gateway = handle.gateway
        self._expressions = handle.gateway.iceberg.expressions.Expressions
        self._schema = handle.java_table.schema()
        self._has_floats = bool(list_float_columns(handle))

    def rewrite(self, found: Any, *, nulls: bool) -> Any:
        """Rewrites an expression without NOT, so that it is true where SQL's predicate is.

        Args:
            found: Iceberg's translation, without NOT.
            nulls: Whether negated predicates stay true for nulls, as those of `<=>` are.
        """
        kind = str(found.op().name())
        if kind in {"AND", "OR"}:
            left, right = (self.rewrite(side, nulls=nulls) for side in (found.left(), found.right()))
            return self._join_and(left, right) if kind == "AND" else self._join_or(left, right)
        if kind not in _UNKNOWN_OF_NULL:
            return found
        exact = self._rewrite_comparison(kind, found)
        if nulls and (kind in _NEGATED or kind == "NOT_NAN"):
            return self._join_or(self._expressions.isNull(found.term()), exact)
        return self._join_and(self._expressions.notNull(found.term()), exact)

    def _rewrite_comparison(self, kind: str, found: Any) -> Any:
        """Rewrites a comparison, so that it is correct for all values except null."""
        if kind.endswith("STARTS_WITH"):
            return self._rewrite_prefix(found.term(), str(found.literal().value()), negated=kind.startswith("NOT"))
        if kind == "NOT_NAN" or not self._is_float(found):
            return found
        return self._rewrite_float_comparison(kind, found)

    def _rewrite_float_comparison(self, kind: str, found: Any) -> Any:
        """Rewrites a comparison of a floating-point column to Spark's order of values.

        Only zero gets a new literal: Python would return a Java `float` as a `double`, and Iceberg treats infinity as
        a value that a `float` cannot have. The expression must exclude NaN explicitly: where a file does not count
        NaN, Iceberg assumes that it has none.
        """
        term, expressions = found.term(), self._expressions
        if kind in {"IN", "NOT_IN"}:
            has_zero = any(literal.value() == 0 for literal in self._gateway.members(found.literals()))
        else:
            has_zero = found.literal().value() == 0
        if kind == "NOT_IN":
            return self._join_and(found, self._differs_from_zero(term)) if has_zero else found
        if kind == "NOT_EQ":
            return self._differs_from_zero(term) if has_zero else found
        if kind in {"GT", "GT_EQ"}:
            return self._join_or(self._compare_with_zero(kind, term) if has_zero else found, expressions.isNaN(term))
        if kind == "IN" and has_zero:
            found = self._join_or(found, self._equals_zero(term))
        elif has_zero:
            found = self._equals_zero(term) if kind == "EQ" else self._compare_with_zero(kind, term)
        return self._join_and(expressions.notNaN(term), found)

    def _compare_with_zero(self, kind: str, term: Any) -> Any:
        return getattr(self._expressions, _ORDERED[kind])(term, _ZEROS[kind])

    def _equals_zero(self, term: Any) -> Any:
        return self._join_and(self._compare_with_zero("GT_EQ", term), self._compare_with_zero("LT_EQ", term))

    def _differs_from_zero(self, term: Any) -> Any:
        above = self._join_or(self._compare_with_zero("GT", term), self._expressions.isNaN(term))
        return self._join_or(self._compare_with_zero("LT", term), above)

    def _rewrite_prefix(self, term: Any, prefix: str, *, negated: bool) -> Any:
        """Rewrites a prefix as a range: Iceberg fails to compare the prefix of a null partition."""
        expressions, after = self._expressions, find_next_prefix(prefix)
        if negated:
            below = expressions.lessThan(term, prefix)
            return below if after is None else self._join_or(below, expressions.greaterThanOrEqual(term, after))
        above = expressions.greaterThanOrEqual(term, prefix)
        return above if after is None else self._join_and(above, expressions.lessThan(term, after))

    def _is_float(self, found: Any) -> bool:
        if not self._has_floats:
            return False
        kind = self._schema.findType(found.ref().name())
        return kind is not None and str(kind.typeId().name()) in {"FLOAT", "DOUBLE"}

    def _join_and(self, left: Any, right: Any) -> Any:
        join: Callable[[Any, Any], Any] = getattr(self._expressions, "and")
        return join(left, right)

    def _join_or(self, left: Any, right: Any) -> Any:
        join: Callable[[Any, Any], Any] = getattr(self._expressions, "or")
        return join(left, right)


def list_float_columns(handle: TableHandle) -> list[str]:
    """The columns of a floating-point type, those in structs by their dotted names."""
    return [column.name for column in handle.metadata.schema.by_id.values() if column.type_name in {"float", "double"}]


def find_next_prefix(prefix: str) -> str | None:
    """The smallest text that is greater than every text with a prefix; None if there is none.

    Examples:
        >>> find_next_prefix("EU"), find_next_prefix("a" + chr(0x10FFFF)), find_next_prefix("")
        ('EV', 'b', None)
    """
    stem = prefix.rstrip(_LAST_CHARACTER)
    if not stem:
        return None
    last = ord(stem[-1])
    return stem[:-1] + chr(_AFTER_SURROGATES if last == _BEFORE_SURROGATES else last + 1)
