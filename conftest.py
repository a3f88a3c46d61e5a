"""The one Spark of a test run, and the names that the examples in docstrings start from."""

from __future__ import annotations

import ast
import doctest
import os
from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from rowdelta.spark import RELEASE
from tests.support.examples import Examples
from tests.support.local_files import use_quick_local_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytest_plugins = ["tests.support.selection", "tests.support.spark_versions"]

# A query of the tests runs once or twice: optimizing its code would take longer than running it. There are many of
# them, though: their code would fill the 48 MB that this compiler gets by default, and slow down everything after.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC")


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the catalog `lake`."""
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="session")
def spark(warehouse: Path) -> Iterator[SparkSession]:
    """The one Spark of the whole run."""
    config: dict[str, str | int] = {
        "spark.sql.shuffle.partitions": 2,
        "spark.driver.memory": "3g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",  # the default of Spark 4, but not of Spark 3.5
        "spark.sql.warehouse.dir": str(warehouse / "spark"),
        "spark.databricks.delta.snapshotPartitions": 1,
        # Iceberg caches the keys of a delete file by its path alone. After a key column is widened, it may compare the
        # old type with the new one and return deleted rows. The oracle must not.
        "spark.sql.iceberg.executor-cache.enabled": "false",
    }
    iceberg = os.environ.get("ICEBERG")  # another version of Iceberg: make test ICEBERG=1.11.0
    if iceberg:
        config["spark.jars.packages"] = RELEASE.iceberg_package.replace(RELEASE.iceberg, iceberg)
    session = rd.session(warehouse, delta=True, config=config)
    use_quick_local_files(session)
    session.sql("CREATE NAMESPACE IF NOT EXISTS lake.db")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def examples(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Examples:
    """The table of docs/api.md, made once for the whole run."""
    return Examples(spark, tmp_path_factory.mktemp("examples"))


@pytest.fixture(autouse=True)
def example_names(request: pytest.FixtureRequest) -> Iterator[None]:
    """Gives the examples of a docstring the names of docs/api.md; Spark starts only where one is used."""
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    test: doctest.DocTest = request.node.dtest
    used = {
        node.id for step in test.examples for node in ast.walk(ast.parse(step.source)) if isinstance(node, ast.Name)
    }
    test.globs["rd"] = rd
    if used.isdisjoint({"spark", "t"}):
        yield
        return
    for step in test.examples:  # a table that is shown ends with an empty line, which the docs omit
        step.options |= {doctest.NORMALIZE_WHITESPACE: True, doctest.ELLIPSIS: True}
    with request.getfixturevalue("examples").ready() as names:
        test.globs.update(names)
        yield
