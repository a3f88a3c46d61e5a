"""Replaces `changes('lake.db.t', start, end)` by a view of the change feed, in the text of a statement."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.errors import InputError
from rowdelta.feed import ChangeRequest, read_changes
from rowdelta.iceberg import TableHandle
from rowdelta.spark import find_table, split_name, unquote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rowdelta.spark import Node
    from rowdelta.sql.live_views import LiveViews
    from rowdelta.sql.text_edits import EditedText

FUNCTION: Final = "changes"
_PLACES: Final = ("table", "start", "end")
_NAMED: Final = (*_PLACES, "columns", "where", "key", "images", "net")


def substitute_changes(spark: SparkSession, root: Node, edited: EditedText, views: LiveViews) -> None:
    """Replaces every call of the function by a view; it gets the function's name as its alias if it has none."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        name = node.child("functionName") or node.child("identifierReference")
        if node.rule == "functionTable" and name is not None and _read_text(edited, name).lower() == FUNCTION:
            view = views.make_frame_view(_read_feed(spark, node, edited))
            end = next(child.end for child in node.children if child.word == ")")
            alias = node.child("tableAlias")
            bare = alias is None or not alias.children
            edited.replace(node.start, end, f"{view} AS {FUNCTION}" if bare else view)
        else:
            waiting.extend(node.children)


def _read_feed(spark: SparkSession, call: Node, edited: EditedText) -> Any:
    arguments: dict[str, Any] = {}
    for place, node in enumerate(call.children_of("functionTableArgument")):
        name, value = _read_argument(node, edited)
        if name is None and place >= len(_PLACES):
            raise InputError(
                f"{FUNCTION}() has an argument without a name after the third: {_read_text(edited, node)}",
                hint="name it: key => 'id'",
            )
        name = _PLACES[place] if name is None else name.lower()
        if name not in _NAMED or name in arguments:
            problem = "twice" if name in arguments else f"but its arguments are {', '.join(_NAMED)}"
            raise InputError(f"{FUNCTION}() has the argument {name!r} {problem}")
        arguments[name] = _evaluate(spark, value)
    handle = _open_table(spark, arguments.pop("table", None))
    start, end = arguments.pop("start", None), arguments.pop("end", None)
    return read_changes(handle, start, end, ChangeRequest(**arguments))


def _read_argument(node: Node, edited: EditedText) -> tuple[str | None, str]:
    """Reads the name of an argument, if it has one, and the text of its value."""
    while len(node.children) == 1 and node.rule != "expression":
        node = node.children[0]
    key = node.child("identifier") if node.rule == "namedArgumentExpression" else None
    value = node.child("expression") if key is not None else node
    assert value is not None
    return None if key is None else unquote(_read_text(edited, key)), _read_text(edited, value)


def _read_text(edited: EditedText, node: Node) -> str:
    return edited.text[node.start : node.end]


def _evaluate(spark: SparkSession, text: str) -> Any:
    """Evaluates a constant; a time becomes one with a zone, as the session understands it."""
    frame = spark.range(1).select(F.expr(text).alias("value"))
    if isinstance(frame.schema[0].dataType, T.TimestampType):
        micros = frame.select(F.unix_micros("value")).collect()[0][0]
        epoch = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
        return None if micros is None else epoch + dt.timedelta(microseconds=micros)
    return frame.collect()[0][0]


def _open_table(spark: SparkSession, name: object) -> TableHandle:
    if not isinstance(name, str):
        raise InputError(f"the first argument of {FUNCTION}() is the name of a table, as text", hint="'lake.db.orders'")
    named = find_table(spark, split_name(name))
    if named is None:
        return TableHandle(spark, name)  # fails, and says why
    if named.snapshot_id is not None:
        raise InputError(f"{name} names one snapshot", hint="name the table, and the snapshots as start and end")
    return TableHandle(spark, named.sql, named.branch)
