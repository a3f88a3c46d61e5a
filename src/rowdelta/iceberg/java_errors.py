"""Java's exceptions, by name."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

JavaError = (Py4JJavaError, PySparkException)


def java_name(error: BaseException) -> str:
    """The simple class name of the Java exception behind an error, or of the error itself."""
    java: Any = getattr(error, "java_exception", None)
    return str(java.getClass().getSimpleName()) if java is not None else type(error).__name__


def java_message(error: BaseException) -> str:
    """The message of the Java exception behind an error, its first line."""
    java: Any = getattr(error, "java_exception", None)
    text = str((java.getMessage() if java is not None else None) or error).strip()
    return text.splitlines()[0] if text else java_name(error)
