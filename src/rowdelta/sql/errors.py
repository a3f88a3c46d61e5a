"""Errors of a statement in the words and at the places of the statement as it was written."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException, PySparkException, QueryContextType

from rowdelta.errors import InputError, RowDeltaError
from rowdelta.spark import Gateway, analysis_error, place_in_text, spark_error_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from rowdelta.sql.text_edits import EditedText

_MESSAGE: Final = "_desc"  # where PySpark keeps the message of an error that came from Java
_PLACE: Final = re.compile(r"line (\d+)(,?) pos (\d+)")


@contextmanager
def as_written(spark: SparkSession, statement: EditedText, changed: EditedText) -> Iterator[None]:
    """What is wrong with a text that was run in place of a statement, Spark says of the statement itself.

    That text has the names of views in it, or is a part of the statement: neither its names nor its positions would
    mean anything to whoever wrote the statement.

    Args:
        spark: The session.
        statement: The statement, values in the place of its parameters.
        changed: That text with what was changed in it, and the parts of it that were run.
    """
    try:
        yield
    except (RowDeltaError, PySparkException) as raised:
        error = raised if isinstance(raised, PySparkException) else spark_error_of(raised) or raised
        if isinstance(error, (AnalysisException, InputError)):
            found = analysis_error(spark, statement.all())
            if found is not None and _is_said_by(found, error):
                _move_places(found, statement)
                raise found from None
        elif isinstance(error, PySparkException):
            _tell_place(spark, error, statement, changed)
        if error is raised:
            raise
        raise error from None


def _is_said_by(found: AnalysisException, error: AnalysisException | InputError) -> bool:
    """Whether Spark finds the same wrong with a statement; of our own errors, a column that is set and is not there."""
    condition = found.getCondition() or ""
    if isinstance(error, InputError):
        return condition.startswith("UNRESOLVED_COLUMN")
    return condition == error.getCondition()


def _tell_place(spark: SparkSession, error: PySparkException, statement: EditedText, changed: EditedText) -> None:
    """A value that a condition or an expression fails on: where that stands in the statement."""
    message = getattr(error, _MESSAGE, None)
    if message is None:
        return
    for context in error.getQueryContext() or ():
        if context.contextType() is not QueryContextType.SQL:
            continue
        start, end = context.startIndex(), context.stopIndex() + 1
        place = changed.find(text_of(context), start, end)
        if place is not None:
            start, end = statement.origin(place[0]), statement.origin(place[1], is_end=True)
            shown = place_in_text(Gateway(spark), statement.text, start, end)
            message = message.replace(context.summary(), shown or context.summary())
    setattr(error, _MESSAGE, message)


def _move_places(error: AnalysisException, statement: EditedText) -> None:
    """Positions in the statement with its values become those in the statement with its parameters."""
    message = getattr(error, _MESSAGE, None)
    if message is not None and statement.edits:
        setattr(error, _MESSAGE, _PLACE.sub(lambda place: _moved(place, statement), message))


def _moved(place: re.Match[str], statement: EditedText) -> str:
    lines = statement.all().split("\n")
    line = int(place[1])
    before = statement.text[: statement.origin(sum(len(text) + 1 for text in lines[: line - 1]) + int(place[3]))]
    return f"line {before.count(chr(10)) + 1}{place[2]} pos {len(before) - before.rfind(chr(10)) - 1}"
