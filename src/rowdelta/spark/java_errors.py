"""Java's exceptions, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["JavaError", "Py4JError", "Py4JJavaError", "java_causes", "java_message", "java_name"]

JavaError = (Py4JJavaError, PySparkException)
_FEW: Final = 20  # causes can go round in a circle


def java_name(error: BaseException) -> str:
    """The simple class name of the Java exception behind an error, or of the error itself."""
    java: Any = getattr(error, "java_exception", None)
    return str(java.getClass().getSimpleName()) if java is not None else type(error).__name__


def java_causes(error: BaseException) -> Iterator[tuple[str, str]]:
    """The names and messages of the Java exception behind an error, and of all that caused it.

    They end where Java no longer answers. A PySpark exception keeps the one of Java in a place of its own.
    """
    java: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    for _ in range(_FEW):
        if java is None:
            return
        try:
            found = str(java.getClass().getSimpleName()), str(java.getMessage() or "")
            java = java.getCause()
        except (Py4JError, OSError):
            return
        yield found


def java_message(error: BaseException) -> str:
    """The message of the Java exception behind an error, its first line."""
    java: Any = getattr(error, "java_exception", None)
    text = str((java.getMessage() if java is not None else None) or error).strip()
    return text.splitlines()[0] if text else java_name(error)
