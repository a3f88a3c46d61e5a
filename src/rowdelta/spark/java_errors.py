"""Reads the class names, messages and causes of Java exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["JavaError", "Py4JError", "Py4JJavaError", "read_java_causes", "read_java_message", "read_java_name"]

JavaError = (Py4JJavaError, PySparkException)
_MAX_CAUSES: Final = 20  # causes can form a cycle


def read_java_name(error: BaseException) -> str:
    """Returns the simple class name of the Java exception behind an error, or of the error itself."""
    java: Any = getattr(error, "java_exception", None)
    return str(java.getClass().getSimpleName()) if java is not None else type(error).__name__


def read_java_causes(error: BaseException) -> Iterator[tuple[str, str]]:
    """Yields the class names and messages of the Java exception behind an error and of all its causes.

    It ends early if the JVM no longer answers. A PySpark exception keeps the Java exception in another attribute.
    """
    java: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    for _ in range(_MAX_CAUSES):
        if java is None:
            return
        try:
            name_and_message = str(java.getClass().getSimpleName()), str(java.getMessage() or "")
            java = java.getCause()
        except (Py4JError, OSError):
            return
        yield name_and_message


def read_java_message(error: BaseException) -> str:
    """Returns the first line of the message of the Java exception behind an error."""
    java: Any = getattr(error, "java_exception", None)
    text = str((java.getMessage() if java is not None else None) or error).strip()
    return text.splitlines()[0] if text else read_java_name(error)
