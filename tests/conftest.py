from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.support.golden import GOLDEN, MISSING
from tests.support.strays import Tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


# A build server runs the same examples each time; a developer's machine tries new ones.
hypothesis.settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    hypothesis.settings.load_profile("ci")


@pytest.fixture
def table_name(spark: SparkSession) -> Iterator[str]:
    """A name for the table of one test, which is dropped afterwards; files that it shares with other tables stay."""
    name = f"lake.db.t_{uuid.uuid4().hex[:12]}"
    yield name
    spark.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.fixture(autouse=True)
def no_strays(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that leaves a file which the metadata of its table does not name."""
    if "spark" not in request.fixturenames or request.node.get_closest_marker("strays"):
        yield
        return
    if "table_name" in request.fixturenames:
        request.getfixturevalue("table_name")  # so that its table is dropped after this check
    warehouse: Path = request.getfixturevalue("warehouse")
    tables = Tables(warehouse / "db")
    yield
    assert tables.strays() == {}


@pytest.fixture
def session_zone(spark: SparkSession) -> Iterator[Callable[[str], None]]:
    """Sets the session's time zone until the test ends."""
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    yield lambda name: spark.conf.set("spark.sql.session.timeZone", name)
    spark.conf.set("spark.sql.session.timeZone", before)


def pytest_report_header() -> str | None:
    return None if GOLDEN.exists() else f"{MISSING}: the tests that read it are skipped"
