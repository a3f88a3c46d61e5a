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

    def rewrite(self, expression: Any, *, nulls: bool) -> Any:
        """Rewrites an expression without NOT, so that it is true where SQL's predicate is.

        Args:
            expression: Iceberg's translation, without NOT.
            nulls: Whether negated predicates stay true for nulls, as those of `<=>` are.
        """
        operation = str(expression.op().name())
        if operation in {"AND", "OR"}:
            left, right = (self.rewrite(side, nulls=nulls) for side in (expression.left(), expression.right()))
            return self._join_and(left, right) if operation == "AND" else self._join_or(left, right)
        if operation not in _UNKNOWN_OF_NULL:
            return expression
        exact = self._rewrite_comparison(operation, expression)
        if nulls and (operation in _NEGATED or operation == "NOT_NAN"):
            return self._join_or(self._expressions.isNull(expression.term()), exact)
        return self._join_and(self._expressions.notNull(expression.term()), exact)

    def _rewrite_comparison(self, operation: str, expression: Any) -> Any:
        """Rewrites a comparison, so that it is correct for all values except null."""
        if operation.endswith("STARTS_WITH"):
            return self._rewrite_prefix(
                expression.term(), str(expression.literal().value()), negated=operation.startswith("NOT")
            )
        if operation == "NOT_NAN" or not self._is_float(expression):
            return expression
        return self._rewrite_float_comparison(operation, expression)

    def _rewrite_float_comparison(self, operation: str, expression: Any) -> Any:
        """Rewrites a comparison of a floating-point column to Spark's order of values.

        Only zero gets a new literal: Python would return a Java `float` as a `double`, and Iceberg treats infinity as
        a value that a `float` cannot have. The expression must exclude NaN explicitly: where a file does not count
        NaN, Iceberg assumes that it has none.
        """
        term, expressions = expression.term(), self._expressions
        if operation in {"IN", "NOT_IN"}:
            has_zero = any(literal.value() == 0 for literal in self._gateway.members(expression.literals()))
        else:
            has_zero = expression.literal().value() == 0
        if operation == "NOT_IN":
            return self._join_and(expression, self._differs_from_zero(term)) if has_zero else expression
        if operation == "NOT_EQ":
            return self._differs_from_zero(term) if has_zero else expression
        if operation in {"GT", "GT_EQ"}:
            return self._join_or(
                self._compare_with_zero(operation, term) if has_zero else expression, expressions.isNaN(term)
            )
        if operation == "IN" and has_zero:
            expression = self._join_or(expression, self._equals_zero(term))
        elif has_zero:
            expression = self._equals_zero(term) if operation == "EQ" else self._compare_with_zero(operation, term)
        return self._join_and(expressions.notNaN(term), expression)

    def _compare_with_zero(self, operation: str, term: Any) -> Any:
        return getattr(self._expressions, _ORDERED[operation])(term, _ZEROS[operation])

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

    def _is_float(self, expression: Any) -> bool:
        if not self._has_floats:
            return False
        java_type = self._schema.findType(expression.ref().name())
        return java_type is not None and str(java_type.typeId().name()) in {"FLOAT", "DOUBLE"}

    def _join_and(self, left: Any, right: Any) -> Any:
        join: Callable[[Any, Any], Any] = getattr(self._expressions, "and")
        return join(left, right)

    def _join_or(self, left: Any, right: Any) -> Any:
        join: Callable[[Any, Any], Any] = getattr(self._expressions, "or")
        return join(left, right)


def list_float_columns(handle: TableHandle) -> list[str]:
    """Lists the columns of a floating-point type, those in structs by their dotted names."""
    return [column.name for column in handle.metadata.schema.by_id.values() if column.type_name in {"float", "double"}]


def find_next_prefix(prefix: str) -> str | None:
    """Finds the smallest text that is greater than every text with a prefix; None if there is none.

    Examples:
        >>> find_next_prefix("EU"), find_next_prefix("a" + chr(0x10FFFF)), find_next_prefix("")
        ('EV', 'b', None)
    """
    stem = prefix.rstrip(_LAST_CHARACTER)
    if not stem:
        return None
    last = ord(stem[-1])
    return stem[:-1] + chr(_AFTER_SURROGATES if last == _BEFORE_SURROGATES else last + 1)
