"""How many requests each verb makes to the storage and to the catalog: a budget for each."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pytest

import rowdelta as rd
from tests.lake.components import NAMESPACE
from tests.support.tables import EDV, create

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from tests.lake.lake import Lake

FILES: Final = 4
ROWS: Final = 1_000
BATCH: Final = 100


@dataclass
class Requests:
    """Counts the requests of one session to a REST catalog and its tables on S3."""

    lake: Lake

    def count(self, step: Callable[[], object]) -> tuple[Counter[str], Counter[str]]:
        """Counts the requests of a step: to S3, and to the catalog without those that report metrics."""
        components = self.lake.components
        assert components.storage_proxy is not None
        assert components.catalog_proxy is not None
        with components.storage_proxy.count() as storage, components.catalog_proxy.count() as catalog:
            step()
        return storage, Counter({name: n for name, n in catalog.items() if not name.endswith("/metrics")})


@pytest.fixture(scope="module")
def requests(lake: Lake) -> Requests:
    lake.use("rest")
    return Requests(lake)


@pytest.fixture
def make_table(lake: Lake) -> Iterator[Callable[[], str]]:
    """Makes tables of four files and one delete."""
    spark = lake.spark
    names: list[str] = []

    def make() -> str:
        name = f"rest.{NAMESPACE}.requests_{len(names)}"
        create(spark, name, "id bigint, v string", properties={**EDV, "write.delete.mode": "merge-on-read"})
        names.append(name)
        for number in range(FILES):
            make_rows(spark, number * ROWS, ROWS).writeTo(name).append()
        rd.table(spark, name).delete("id = 7").execute()
        return name

    yield make
    for name in names:
        spark.sql(f"DROP TABLE {name}")


def make_rows(spark: SparkSession, start: int, count: int) -> DataFrame:
    return spark.range(start, start + count, 1, 1).selectExpr("id", "concat('v', id) AS v")


# The most requests to the storage and to the catalog, for a table that already has a vector.
BUDGETS: Final = {"upsert": (10, 4), "delete_keys": (8, 4)}


@pytest.mark.parametrize("verb", BUDGETS)
def test_a_verb_keeps_to_its_budget(requests: Requests, make_table: Callable[[], str], verb: str) -> None:
    spark, name = requests.lake.spark, make_table()
    verbs: dict[str, Callable[[int], object]] = {
        "upsert": lambda start: rd.table(spark, name).upsert(make_rows(spark, start, BATCH), key="id").execute(),
        "delete_keys": lambda start: (
            rd.table(spark, name).delete_keys(make_rows(spark, start, BATCH).select("id"), key="id").execute()
        ),
    }
    verbs[verb](BATCH)
    storage, catalog = requests.count(lambda: verbs[verb](3 * BATCH))
    most_storage, most_catalog = BUDGETS[verb]
    assert storage.total() <= most_storage, storage
    assert catalog.total() <= most_catalog, catalog
    assert not [request for request in storage if request.startswith("HEAD")], storage


def test_expire_makes_no_more_requests_to_storage_than_iceberg(
    requests: Requests, make_table: Callable[[], str]
) -> None:
    spark, ours, theirs = requests.lake.spark, make_table(), make_table()
    call = f"CALL rest.system.expire_snapshots(table => '{theirs}', older_than => TIMESTAMP '2100-01-01')"
    by_rowdelta, _ = requests.count(lambda: rd.table(spark, ours).expire(older_than=dt.timedelta(0)).execute())
    by_iceberg, _ = requests.count(lambda: spark.sql(call).collect())
    assert by_rowdelta.total() <= by_iceberg.total(), (by_rowdelta, by_iceberg)
