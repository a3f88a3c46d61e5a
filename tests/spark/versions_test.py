"""The lists of internals are true for the running Spark, so that a check of a newer one can rely on them."""

from __future__ import annotations

import importlib
import operator
from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from rowdelta.delta import log
from rowdelta.spark import RELEASE, Gateway, read_delta_version
from rowdelta.spark.versions import SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("name", SPARK.python_names)
def test_a_listed_name_of_pyspark_exists(name: str) -> None:
    module, _, path = name.partition(":")
    assert operator.attrgetter(path)(importlib.import_module(module)) is not None


def test_listed_java_classes_and_methods_exist(spark: SparkSession) -> None:
    gateway = Gateway(spark)
    for name, methods in SPARK.java_names.items():
        java_class = gateway.java_class(name)
        found = {"<init>": {int(each.getParameterCount()) for each in java_class.getConstructors()}}
        for each in java_class.getMethods():
            found.setdefault(str(each.getName()), set()).add(int(each.getParameterCount()))
        for method in methods:
            short, _, count = method.partition("/")
            assert short in found, f"{name}.{method}"
            assert not count or int(count) in found[short], f"{name}.{method}"


def test_the_version_of_delta_is_read_from_the_session(spark: SparkSession) -> None:
    assert read_delta_version(Gateway(spark)) == RELEASE.delta.rpartition(":")[2]


def test_a_delta_that_is_too_old_is_refused_before_the_log_is_read(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "read_delta_version", lambda _: "2.4.0")
    with pytest.raises(rd.SessionError, match=r"Delta Lake 2\.4\.0 is too old: rowdelta needs \d"):
        rd.from_delta(spark, "/nowhere/orders", "lake.db.copy").execute()


def test_the_packages_are_those_of_the_running_spark(spark: SparkSession) -> None:
    assert spark.version.startswith(RELEASE.name)
    assert f"runtime-{RELEASE.name}_{RELEASE.scala}" in str(spark.conf.get("spark.jars.packages"))
