"""How many requests each verb makes to the storage and to the catalog: a budget for each."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import pytest

import rowdelta as rd
from tests.lake.components import NAMESPACE
from tests.support.tables import EDV, create

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from tests.lake.lake import Lake
    from tests.lake.report import Report

FILES: Final = 4
ROWS: Final = 1_000
BATCH: Final = 100
MODES: Final = ("write.delete.mode", "write.merge.mode")


@dataclass
class Requests:
    """Counts the requests of one session to a REST catalog and its tables on S3."""

    lake: Lake
    report: Report

    def count(self, title: str, step: Callable[[], object]) -> tuple[Counter[str], Counter[str]]:
        """Counts the requests of a step: to S3, and to the catalog without those that report metrics."""
        components = self.lake.components
        assert components.storage_proxy is not None
        assert components.catalog_proxy is not None
        with components.storage_proxy.count() as storage, components.catalog_proxy.count() as catalog:
            step()
        catalog = Counter({name: n for name, n in catalog.items() if not name.endswith("/metrics")})
        self.report.requests[title] = (storage.total(), catalog.total())
        return storage, catalog


@pytest.fixture(scope="module")
def requests(lake: Lake, report: Report) -> Requests:
    lake.use("rest")
    return Requests(lake, report)


@pytest.fixture
def make_table(lake: Lake) -> Iterator[Callable[..., str]]:
    """Makes tables of four files, of one commit each or of one for all, and one delete."""
    spark = lake.spark
    names: list[str] = []

    def make(*, at_once: bool = False) -> str:
        name = f"rest.{NAMESPACE}.requests_{len(names)}"
        create(spark, name, "id bigint, v string", properties={**EDV, **dict.fromkeys(MODES, "merge-on-read")})
        names.append(name)
        if at_once:
            make_rows(spark, 0, FILES * ROWS, FILES).writeTo(name).append()
        else:
            for number in range(FILES):
                make_rows(spark, number * ROWS, ROWS).writeTo(name).append()
        rd.table(spark, name).delete("id = 7").execute()
        return name

    yield make
    for name in names:
        spark.sql(f"DROP TABLE {name}")


def make_rows(spark: SparkSession, start: int, count: int, files: int = 1) -> DataFrame:
    return spark.range(start, start + count, 1, files).selectExpr("id", "concat('v', id) AS v")


# The most requests to the storage and to the catalog, for a table that already has a vector.
BUDGETS: Final = {"upsert": (10, 4), "delete_keys": (8, 4)}
_MOST_OF_A_CHANGE: Final = 5  # to the catalog


@pytest.mark.parametrize("verb", BUDGETS)
def test_a_verb_keeps_to_its_budget(requests: Requests, make_table: Callable[..., str], verb: str) -> None:
    spark, name = requests.lake.spark, make_table()
    verbs: dict[str, Callable[[int], object]] = {
        "upsert": lambda start: rd.table(spark, name).upsert(make_rows(spark, start, BATCH), key="id").execute(),
        "delete_keys": lambda start: (
            rd.table(spark, name).delete_keys(make_rows(spark, start, BATCH).select("id"), key="id").execute()
        ),
    }
    verbs[verb](BATCH)
    storage, catalog = requests.count(verb, lambda: verbs[verb](3 * BATCH))
    most_storage, most_catalog = BUDGETS[verb]
    assert storage.total() <= most_storage, storage
    assert catalog.total() <= most_catalog, catalog
    assert not [request for request in storage if request.startswith("HEAD")], storage


@pytest.mark.parametrize("verb", ["delete", "merge"])
def test_a_change_makes_no_more_requests_to_storage_than_iceberg(
    requests: Requests, make_table: Callable[..., str], verb: str
) -> None:
    spark, ours, theirs = requests.lake.spark, make_table(), make_table()
    statements = {
        "delete": f"DELETE FROM {theirs} WHERE id = {{}}",
        "merge": f"MERGE INTO {theirs} t USING changes s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    }

    def change(key: int) -> None:
        table, changes = rd.table(spark, ours), make_rows(spark, key, BATCH)
        if verb == "delete":
            table.delete(f"id = {key}").execute()
        else:
            table.merge(changes, on="id").when_matched_update_all().when_not_matched_insert_all().execute()

    def change_by_iceberg(key: int) -> None:
        make_rows(spark, key, BATCH).createOrReplaceTempView("changes")
        spark.sql(statements[verb].format(key))

    change(ROWS + BATCH)
    change_by_iceberg(ROWS + BATCH)
    counted: dict[str, list[Counter[str]]] = {verb: [], f"{verb} by Iceberg": []}
    for key in (ROWS + 3 * BATCH, ROWS + 5 * BATCH, ROWS + 7 * BATCH):
        for (title, counts), step in zip(counted.items(), (change, change_by_iceberg), strict=True):
            storage, catalog = requests.count(title, partial(step, key))
            counts.append(storage)
            assert title != verb or catalog.total() <= _MOST_OF_A_CHANGE, catalog
    # Iceberg plans in parallel threads, which read a few manifests more or fewer before it knows enough.
    by_rowdelta, by_iceberg = (sorted(count.total() for count in counts)[1] for counts in counted.values())
    assert by_rowdelta <= by_iceberg, counted


@pytest.mark.parametrize("touched", [1, 2, FILES])
def test_resolve_makes_two_requests_for_each_file_and_a_few_more(
    requests: Requests, make_table: Callable[..., str], touched: int
) -> None:
    """The comparison of all rows reads every data file twice more, so it is left out here."""
    spark, name = requests.lake.spark, make_table(at_once=True)
    keys = spark.range(FILES - touched, FILES, 1, 1).selectExpr(f"id * {ROWS} + 11 AS id")
    rd.table(spark, name).delete_keys(keys, key="id").execute()
    result: list[int] = []
    storage, catalog = requests.count(
        f"resolve of {touched} files",
        lambda: result.append(rd.table(spark, name).resolve(verify=False).execute().files_scanned),
    )
    assert result == [touched]
    assert storage.total() <= 2 * touched + 12, storage
    assert catalog.total() <= 3, catalog


def test_expire_makes_no_more_requests_to_storage_than_iceberg(
    requests: Requests, make_table: Callable[..., str]
) -> None:
    spark, ours, theirs = requests.lake.spark, make_table(), make_table()
    call = f"CALL rest.system.expire_snapshots(table => '{theirs}', older_than => TIMESTAMP '2100-01-01')"
    by_rowdelta, _ = requests.count(
        "expire", lambda: rd.table(spark, ours).expire(older_than=dt.timedelta(0)).execute()
    )
    by_iceberg, _ = requests.count("expire by Iceberg", lambda: spark.sql(call).collect())
    assert by_rowdelta.total() <= by_iceberg.total(), (by_rowdelta, by_iceberg)
