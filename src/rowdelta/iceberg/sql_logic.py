"""SQL's logic in Iceberg's terms: nulls, NaN and negative zero.

Iceberg compares otherwise than Spark SQL does. A comparison with null is never unknown, but true or false: null comes
before all values, and `<>` is true for it. The bounds of a file leave out NaN, which is greater than all other values.
And -0.0 comes before 0.0, to which it is equal. Here a predicate becomes one that gives SQL's answer with Iceberg's
rules, so that it can decide about whole files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from rowdelta.iceberg.handle import TableHandle

_ORDERED: Final = {"LT": "lessThan", "LT_EQ": "lessThanOrEqual", "GT": "greaterThan", "GT_EQ": "greaterThanOrEqual"}
# Of the two zeros, the one that makes the other fall on the same side.
_ZEROS: Final = {"LT": -0.0, "GT_EQ": -0.0, "GT": 0.0, "LT_EQ": 0.0}
_UNKNOWN_OF_NULL: Final = {*_ORDERED, "EQ", "NOT_EQ", "IN", "NOT_IN", "STARTS_WITH", "NOT_STARTS_WITH", "NOT_NAN"}
_NEGATED: Final = {"NOT_EQ", "NOT_IN", "NOT_STARTS_WITH"}
_LAST_CHARACTER: Final = chr(0x10FFFF)
_BEFORE_SURROGATES: Final = 0xD7FF
_AFTER_SURROGATES: Final = 0xE000


class SqlLogic:
    """Rewrites Iceberg's expressions for one table."""

    def __init__(self, handle: TableHandle) -> None:
        self._expressions = handle.gateway.iceberg.expressions.Expressions
        self._schema = handle._table.schema()
        self._has_floats = bool(float_columns(handle))

    def rewritten(self, found: Any, *, nulls: bool) -> Any:
        """An expression without NOT that is true where SQL's predicate is.

        Args:
            found: Iceberg's translation, without NOT.
            nulls: Whether negated predicates stay true for nulls, as those of `<=>` are.
        """
        kind = str(found.op().name())
        if kind in {"AND", "OR"}:
            left, right = (self.rewritten(side, nulls=nulls) for side in (found.left(), found.right()))
            return self._both(left, right) if kind == "AND" else self._either(left, right)
        if kind not in _UNKNOWN_OF_NULL:
            return found
        exact = self._of_values(kind, found)
        if nulls and (kind in _NEGATED or kind == "NOT_NAN"):
            return self._either(self._expressions.isNull(found.term()), exact)
        return self._both(self._expressions.notNull(found.term()), exact)

    def _of_values(self, kind: str, found: Any) -> Any:
        """A comparison that is right for all values but null."""
        if kind.endswith("STARTS_WITH"):
            return self._prefix(found.term(), str(found.literal().value()), negated=kind.startswith("NOT"))
        if kind == "NOT_NAN" or not self._is_float(found):
            return found
        term = found.term()
        if kind in {"IN", "NOT_IN"}:
            values = [literal.value() for literal in found.literals()]
            if 0 not in values:
                return found
            others = [value for value in values if value != 0]
            join, kind = (self._either, "EQ") if kind == "IN" else (self._both, "NOT_EQ")
            zero = self._compared(kind, term, 0.0)
            for value in others:
                zero = join(zero, self._compared(kind, term, value))
            return zero
        return self._compared(kind, term, found.literal().value())

    def _compared(self, kind: str, term: Any, value: float) -> Any:
        """A comparison of a floating-point column, as Spark orders its values."""
        expressions = self._expressions
        if kind in {"EQ", "NOT_EQ"}:
            if value != 0:
                return (expressions.equal if kind == "EQ" else expressions.notEqual)(term, value)
            if kind == "EQ":
                return self._both(expressions.greaterThanOrEqual(term, -0.0), expressions.lessThanOrEqual(term, 0.0))
            return self._either(self._compared("LT", term, value), self._compared("GT", term, value))
        return self._ordered(kind, term, value)

    def _ordered(self, kind: str, term: Any, value: float) -> Any:
        limit = _ZEROS[kind] if value == 0 else value
        found = getattr(self._expressions, _ORDERED[kind])(term, limit)
        return self._either(found, self._expressions.isNaN(term)) if kind.startswith("GT") else found

    def _prefix(self, term: Any, prefix: str, *, negated: bool) -> Any:
        """A prefix as a range: Iceberg fails to compare the prefix of a partition that is null."""
        expressions, after = self._expressions, next_prefix(prefix)
        if negated:
            below = expressions.lessThan(term, prefix)
            return below if after is None else self._either(below, expressions.greaterThanOrEqual(term, after))
        above = expressions.greaterThanOrEqual(term, prefix)
        return above if after is None else self._both(above, expressions.lessThan(term, after))

    def _is_float(self, found: Any) -> bool:
        if not self._has_floats:
            return False
        kind = self._schema.findType(found.ref().name())
        return kind is not None and str(kind.typeId().name()) in {"FLOAT", "DOUBLE"}

    def _both(self, left: Any, right: Any) -> Any:
        join: Callable[[Any, Any], Any] = getattr(self._expressions, "and")
        return join(left, right)

    def _either(self, left: Any, right: Any) -> Any:
        join: Callable[[Any, Any], Any] = getattr(self._expressions, "or")
        return join(left, right)


def float_columns(handle: TableHandle) -> list[str]:
    """The columns of a floating-point type, those in structs by their dotted names."""
    return [column.name for column in handle.metadata.schema.by_id.values() if column.type_name in {"float", "double"}]


def next_prefix(prefix: str) -> str | None:
    """The least text that is greater than every text with a prefix; None where there is none.

    Examples:
        >>> next_prefix("EU"), next_prefix("a" + chr(0x10FFFF)), next_prefix("")
        ('EV', 'b', None)
    """
    stem = prefix.rstrip(_LAST_CHARACTER)
    if not stem:
        return None
    last = ord(stem[-1])
    return stem[:-1] + chr(_AFTER_SURROGATES if last == _BEFORE_SURROGATES else last + 1)
