r"""Quotes, unquotes and splits SQL names, and quotes SQL strings.

A string is quoted for a parser with default settings, which reads `\` as an escape: see `rowdelta.spark.generated_sql`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART: Final = re.compile(r"`(?:[^`]|``)+`|[^`.]+")
_DOTTED: Final = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*", re.DOTALL)


def quote(name: str) -> str:
    """Puts a name in backticks.

    Examples:
        >>> quote("a`b")
        '`a``b`'
    """
    return f"`{name.replace('`', '``')}`"


def quote_path(parts: Iterable[str]) -> str:
    """Joins the parts of a name with dots, each in backticks.

    Examples:
        >>> quote_path(["db", "my.table"])
        '`db`.`my.table`'
    """
    return ".".join(map(quote, parts))


def quote_where_needed(parts: Iterable[str]) -> str:
    """Joins the parts of a name with dots, and puts in backticks only those that need them.

    Examples:
        >>> quote_where_needed(["lake", "db", "my table"])
        'lake.db.`my table`'
    """
    return ".".join(part if _PLAIN.fullmatch(part) else quote(part) for part in parts)


def unquote(name: str) -> str:
    """Removes the backticks or double quotes around one part of a name; a name without quotes stays as it is.

    Examples:
        >>> unquote("`a``b`"), unquote("a")
        ('a`b', 'a')
    """
    mark = name[:1]
    if mark in {"`", '"'} and len(name) > 1:
        return name[1:-1].replace(mark * 2, mark)
    return name


def split_name(name: str) -> tuple[str, ...]:
    """Splits a dotted name into its parts, without backticks. A name that is not well formed is split at every dot.

    Examples:
        >>> split_name("a.b c"), split_name("a.`b.c`"), split_name("`a``b`"), split_name("`a.b")
        (('a', 'b c'), ('a', 'b.c'), ('a`b',), ('`a', 'b'))
    """
    if not _DOTTED.fullmatch(name):
        return tuple(name.split("."))
    return tuple(unquote(part) if part[0] == "`" else part for part in _PART.findall(name))


def append_to_name(name: str, suffix: str) -> str:
    """Appends letters to the last part of a dotted name, inside its backticks.

    Examples:
        >>> append_to_name("db.orders", "_copy"), append_to_name("db.`my orders`", "_copy")
        ('db.orders_copy', 'db.`my orders_copy`')
    """
    return f"{name[:-1]}{suffix}`" if name.endswith("`") else f"{name}{suffix}"


def quote_string(text: str) -> str:
    r"""Puts text in single quotes, with escapes.

    Examples:
        >>> quote_string("o'b"), quote_string("a\\b")
        ("'o\\'b'", "'a\\\\b'")
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
