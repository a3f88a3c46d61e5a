"""Describe the environment of a run: the machine, and the versions of rowdelta and the compared systems."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rowdelta.spark import RELEASE

PACKAGES = ("rowdelta", "pyspark", "pyiceberg", "deltalake", "duckdb", "pyarrow", "pyroaring")


def environment() -> dict[str, str]:
    versions = {
        "machine": f"{os.cpu_count()} cores, {_memory_gib()} GiB, {platform.system()} {platform.machine()}",
        "spark": "local mode, a local disk",
        "java": _java(),
        "python": platform.python_version(),
        "iceberg": RELEASE.iceberg,
        "delta-spark": RELEASE.delta.rsplit(":", 1)[1],
    }
    return versions | {name: _version(name) for name in PACKAGES}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _java() -> str:
    """Returns the version of the JDK that `make` found."""
    program = Path(os.environ.get("JAVA_HOME", "/usr"), "bin", "java")
    try:
        answer = subprocess.run([program, "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return answer.split('"')[1]


def _memory_gib() -> int:
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30)
