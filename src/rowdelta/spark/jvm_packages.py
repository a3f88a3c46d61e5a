"""Looks up Java packages and classes once per process."""

from __future__ import annotations

from typing import Any, Final

from py4j.java_gateway import JavaPackage


def is_missing(java_class: Any) -> bool:
    """Whether the JVM lacks a class: py4j then returns a package of that name."""
    return isinstance(java_class, JavaPackage)


class Package:
    """A Java package whose members are looked up once.

    py4j asks the JVM for every part of `org.apache.iceberg`, each time, and the JVM searches all jars for a class of
    that name. This took 15% of the JVM's time in the tests of small changes.
    """

    def __init__(self, java_package: Any) -> None:
        self._java_package = java_package

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._java_package, name)
        if isinstance(member, JavaPackage):
            if not name.islower():  # a missing class, which may be loaded later
                return member
            member = Package(member)
        setattr(self, name, member)
        return member


# PySpark looks these up for nearly every frame and column.
_FREQUENT_NAMES: Final = (
    "PythonUtils",
    "PythonSQLUtils",
    "functions",
    "org.apache.spark.sql.classic.SparkSession",
    "org.apache.spark.sql.functions",
    "org.apache.spark.sql.catalyst.trees.PySparkCurrentOrigin",
    "org.apache.spark.storage.StorageLevel",
)
_packages: dict[Any, Package] = {}  # by JVM


def get_packages(view: Any) -> Package:
    """Returns the packages of a JVM, given PySpark's view of it.

    PySpark looks up the same few classes again and again, each time in all jars. The view caches them too.
    """
    if view not in _packages:
        for name in _FREQUENT_NAMES:
            member = getattr(view, name)
            if not isinstance(member, JavaPackage):  # a missing class may be loaded later
                setattr(view, name, member)
        _packages[view] = Package(view)
    return _packages[view]
