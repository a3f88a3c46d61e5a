"""Raises errors with the names and positions of the statement that the user wrote."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException, PySparkException

from rowdelta.errors import InputError, RowDeltaError
from rowdelta.spark import (
    Gateway,
    find_analysis_error,
    get_condition,
    get_spark_error,
    list_sql_places,
    read_message,
    set_message,
    underline_in_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from rowdelta.sql.text_edits import EditedText

_PLACE: Final = re.compile(r"line (\d+)(,?) pos (\d+)")


@contextmanager
def locate_errors(spark: SparkSession, statement: EditedText, changed: EditedText) -> Iterator[None]:
    """Replaces errors of a text that ran in place of a statement by Spark's errors of the statement itself.

    That text contains names of views, or is only a part of the statement, so that its names and positions would mean
    nothing to the user.

    Args:
        spark: The session.
        statement: The statement, with values in place of its parameters.
        changed: The text that ran, with its edits and the parts of it that were taken.
    """
    try:
        yield
    except (RowDeltaError, PySparkException) as raised:
        error = raised if isinstance(raised, PySparkException) else get_spark_error(raised) or raised
        if isinstance(error, (AnalysisException, InputError)):
            original = find_analysis_error(spark, statement.apply())
            if original is not None and _is_same_error(original, error):
                _move_places(original, statement)
                raise original from None
        elif isinstance(error, PySparkException):
            _add_place(spark, error, statement, changed)
        if error is raised:
            raise
        raise error from None


def _is_same_error(original: AnalysisException, error: AnalysisException | InputError) -> bool:
    """Whether two errors have the same reason; an error of ours is about a column that is set and does not exist."""
    condition = get_condition(original) or ""
    if isinstance(error, InputError):
        return condition.startswith("UNRESOLVED_COLUMN")
    return condition == get_condition(error)


def _add_place(spark: SparkSession, error: PySparkException, statement: EditedText, changed: EditedText) -> None:
    """Moves the place of a condition or expression that fails on a value to the statement."""
    message = read_message(error)
    if message is None:
        return
    for shown in list_sql_places(error):
        place = changed.find(shown.statement, shown.start, shown.end)
        if place is not None:
            start, end = statement.find_origin(place[0]), statement.find_origin(place[1], is_end=True)
            excerpt = underline_in_text(Gateway(spark), statement.text, start, end)
            message = message.replace(shown.summary, excerpt or shown.summary)
    set_message(error, message)


def _move_places(error: AnalysisException, statement: EditedText) -> None:
    """Converts positions in the statement with values to positions in the statement with parameters."""
    message = read_message(error)
    if message is not None and statement.edits:
        set_message(error, _PLACE.sub(lambda place: _move_place(place, statement), message))


def _move_place(place: re.Match[str], statement: EditedText) -> str:
    lines = statement.apply().split("\n")
    line = int(place[1])
    before = statement.text[: statement.find_origin(sum(len(text) + 1 for text in lines[: line - 1]) + int(place[3]))]
    return f"line {before.count(chr(10)) + 1}{place[2]} pos {len(before) - before.rfind(chr(10)) - 1}"
