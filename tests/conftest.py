from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING

import hypothesis
import pytest

import rowdelta as rd
from tests.support.golden import GOLDEN, MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


# A build server tries the same examples each time; a developer's machine looks for new ones.
hypothesis.settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    hypothesis.settings.load_profile("ci")


# Every query of the tests runs once or twice: compiling it well would take longer than running it does.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="session")
def spark(warehouse: Path) -> Iterator[SparkSession]:
    """The one Spark of the whole run."""
    config: dict[str, str | int] = {
        "spark.sql.shuffle.partitions": 2,
        "spark.driver.memory": "3g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(warehouse / "spark"),
        "spark.databricks.delta.snapshotPartitions": 1,
        # Iceberg keeps the keys of a delete file by its path alone: once a key column has been widened, it may compare
        # the old type with the new one and give deleted rows back. The oracle must not.
        "spark.sql.iceberg.executor-cache.enabled": "false",
    }
    session = rd.session(warehouse, delta=True, config=config)
    session.sql("CREATE NAMESPACE IF NOT EXISTS lake.db")
    yield session
    session.stop()


@pytest.fixture
def table_name(spark: SparkSession) -> Iterator[str]:
    """A name for a table of one test, dropped afterwards; files that it shares with others stay."""
    name = f"lake.db.t_{uuid.uuid4().hex[:12]}"
    yield name
    spark.sql(f"DROP TABLE IF EXISTS {name}")


def pytest_report_header() -> str | None:
    return None if GOLDEN.exists() else f"{MISSING}: the tests that read it are skipped"
