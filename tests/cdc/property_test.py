"""Random streams of changes against a dictionary: inserts, updates, deletes, copies, in any order inside a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.frames import assert_same_rows
from tests.support.tables import EDV, create

if TYPE_CHECKING:
    import random

    from pyspark.sql import SparkSession

COLUMNS = "id bigint, region string, v int"
KEYS = {"id": ("id",), "region, id": ("region", "id")}
REGIONS = ("EU", "US", None)


@dataclass(frozen=True)
class Change:
    """One change; its number says how new it is."""

    id: int
    region: str | None
    v: int
    deletes: bool


def changes(key: tuple[str, ...]) -> st.SearchStrategy[Change]:
    regions = st.sampled_from(REGIONS[:2] if "region" in key else REGIONS)
    numbers = st.one_of(st.integers(0, 5), st.sampled_from([63, 64, 65535, 65536, 2**40]))
    return st.builds(Change, numbers, regions, st.integers(-9, 9), st.booleans())


def batches(key: tuple[str, ...]) -> st.SearchStrategy[list[list[Change]]]:
    return st.lists(st.lists(changes(key), min_size=0, max_size=8), min_size=2, max_size=4)


def apply(model: dict[Any, Any], key: tuple[str, ...], batch: list[Change]) -> None:
    for change in batch:
        name = tuple(getattr(change, column) for column in key)
        model.pop(name, None)
        if not change.deletes:
            model[name] = (change.id, change.region, change.v)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("parts", ["", "region"])
@pytest.mark.parametrize("named", list(KEYS))
def test_a_table_follows_its_changes(
    spark: SparkSession, table_name: str, version: int, parts: str, named: str
) -> None:
    key = KEYS[named]

    @settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
    @given(batches(key), st.randoms(use_true_random=False))
    def follow(stream: list[list[Change]], shuffle: random.Random) -> None:
        spark.sql(f"DROP TABLE IF EXISTS {table_name} PURGE")
        table = create(spark, table_name, COLUMNS, parts, version=version, properties=EDV)
        model: dict[Any, Any] = {}
        order = 0
        for batch in stream:
            rows = []
            for change in batch:
                order += 1
                rows.append((change.id, change.region, change.v, change.deletes, order))
            rows += rows[:2]  # delivered twice
            shuffle.shuffle(rows)
            frame = spark.createDataFrame(rows, f"{COLUMNS}, gone boolean, at int")
            table.upsert(frame, key, order_by="at", delete_when="gone").execute()
            apply(model, key, batch)
        expected = sorted(model.values(), key=repr)
        assert_same_rows(table.read(), expected)
        if table.refresh().metadata.snapshots:
            table.resolve(verify=False).execute()
            assert_same_rows(spark.table(table_name), expected)

    follow()
