"""Writes values of any type in a form that Spark can group by: two values are equal if their forms are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rowdelta.spark import quote

if TYPE_CHECKING:
    from rowdelta.iceberg import Field

_UNORDERED = ("variant",)


def write_comparable(column: Field) -> str | None:
    """Writes a column in comparable form, in SQL; None if Spark compares it as it is.

    Spark does not compare maps and variants. The entries of a map are compared in the order of its keys, and a variant
    by its JSON.

    Examples:
        >>> from rowdelta.iceberg import Field
        >>> write_comparable(Field(1, "id", "long", True))
        >>> write_comparable(Field(2, "m", {"type": "map", "key": "string", "value": "long"}, False))
        'array_sort(map_entries(`m`))'
    """
    return _write(quote(column.name), column.type, 0) if _is_unordered(column.type) else None


def _is_unordered(data_type: str | dict[str, Any]) -> bool:
    if isinstance(data_type, str):
        return data_type in _UNORDERED
    if data_type["type"] == "struct":
        return any(_is_unordered(field["type"]) for field in data_type["fields"])
    return data_type["type"] == "map" or _is_unordered(data_type["element"])


def _write(value: str, data_type: str | dict[str, Any], depth: int) -> str:
    if not _is_unordered(data_type):
        return value
    if isinstance(data_type, str):
        return f"to_json({value})"
    inner = f"x{depth}"
    if data_type["type"] == "struct":
        parts = [_write(f"{value}.{quote(field['name'])}", field["type"], depth) for field in data_type["fields"]]
        return f"if({value} IS NULL, NULL, struct({', '.join(parts)}))"
    if data_type["type"] == "list":
        return f"transform({value}, {inner} -> {_write(inner, data_type['element'], depth + 1)})"
    key, item = data_type["key"], data_type["value"]
    entries = f"map_entries({value})"
    if _is_unordered(key) or _is_unordered(item):
        pair = f"struct({_write(f'{inner}.key', key, depth + 1)}, {_write(f'{inner}.value', item, depth + 1)})"
        entries = f"transform({entries}, {inner} -> {pair})"
    return f"array_sort({entries})"
