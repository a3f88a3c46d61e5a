"""Finds Java, and the jars of PySpark."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

import pyspark

from tests.lake.servers.server import MissingError

SPARK_HOME: Final = Path(pyspark.__file__).parent
# Small and quick to start: a server of the tests runs for minutes.
JVM_OPTIONS: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def find_java() -> str:
    """Finds the program `java`: that of JAVA_HOME, or the one on the path."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        raise MissingError("there is no Java", "scripts/jdk")
    return java


def pyspark_jars(*prefixes: str) -> list[Path]:
    """Lists PySpark's own jars whose names begin with one of the prefixes; all of them by default."""
    return sorted(jar for prefix in prefixes or ("",) for jar in (SPARK_HOME / "jars").glob(f"{prefix}*.jar"))


def join_class_path(jars: list[Path]) -> str:
    """Makes the text of a class path."""
    return os.pathsep.join(map(str, jars))
