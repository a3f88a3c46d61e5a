"""Random changes against a dictionary: inserts, updates, deletes, copies, ties and replays, in any order in a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rowdelta as rd
from tests.support.events import EventFolder, event
from tests.support.oracle import assert_same_rows
from tests.support.sampling import examples
from tests.support.tables import EDV, create, head

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from pyspark.sql import SparkSession

COLUMNS = "id bigint, region string, v int"
KEYS = {"id": ("id",), "region, id": ("region", "id")}
REGIONS = ("EU", "US", None)


@dataclass(frozen=True)
class Change:
    """One change, and how new it is."""

    id: int
    region: str | None
    v: int
    deletes: bool
    at: int

    def key(self, columns: tuple[str, ...]) -> tuple[Any, ...]:
        return tuple(getattr(self, column) for column in columns)


def batches(key: tuple[str, ...], *, ties: bool) -> st.SearchStrategy[list[list[Change]]]:
    """Batches of changes; without ties, no two changes of a batch are equally new."""
    regions = st.sampled_from(REGIONS[:2] if "region" in key else REGIONS)
    numbers = st.one_of(st.integers(0, 5), st.sampled_from([63, 64, 65535, 65536, 2**40]))
    change = st.builds(Change, numbers, regions, st.integers(-9, 9), st.booleans(), st.integers(0, 3 if ties else 99))
    distinct = None if ties else (lambda one: one.at)
    batch = st.lists(change, min_size=1, max_size=8, unique_by=distinct)
    return st.lists(batch, min_size=2, max_size=4)


def is_tied(batch: list[Change], key: tuple[str, ...]) -> bool:
    """Whether two different changes of one key are the newest of it."""
    for name in {change.key(key) for change in batch}:
        mine = [change for change in batch if change.key(key) == name]
        newest = max(change.at for change in mine)
        if len({change for change in mine if change.at == newest}) > 1:
            return True
    return False


def apply(model: dict[Any, Any], key: tuple[str, ...], batch: list[Change]) -> None:
    for change in sorted(batch, key=lambda change: change.at):
        model.pop(change.key(key), None)
        if not change.deletes:
            model[change.key(key)] = (change.id, change.region, change.v)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("parts", ["", "region"])
@pytest.mark.parametrize("named", list(KEYS))
def test_a_table_follows_its_changes(
    spark: SparkSession, table_name: str, *, version: int, parts: str, named: str
) -> None:
    key = KEYS[named]

    @settings(max_examples=examples(2, 15), deadline=None, suppress_health_check=list(HealthCheck))
    @given(batches(key, ties=True), st.randoms(use_true_random=False))
    def follow(stream: list[list[Change]], shuffle: random.Random) -> None:
        spark.sql(f"DROP TABLE IF EXISTS {table_name} PURGE")
        table = create(spark, table_name, COLUMNS, parts, version=version, properties=EDV)
        model: dict[Any, Any] = {}
        for batch in stream:
            rows = [(c.id, c.region, c.v, c.deletes, c.at) for c in [*batch, *batch[:2]]]  # some delivered twice
            shuffle.shuffle(rows)
            frame = spark.createDataFrame(rows, f"{COLUMNS}, gone boolean, at int")
            upsert = table.upsert(frame, key, order_by="at", delete_when="gone")
            if is_tied(batch, key):
                before = head(table)
                with pytest.raises(rd.InputError, match="equally new"):
                    upsert.execute()
                assert head(table) == before
            else:
                upsert.execute()
                apply(model, key, batch)
        expected = sorted(model.values(), key=repr)
        assert_same_rows(table.read(), expected)
        if table.refresh().metadata.snapshots:
            table.resolve(verify=False).execute()
            assert_same_rows(spark.table(table_name), expected)

    follow()


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("parts", ["", "region"])
def test_a_table_follows_a_stream_with_repeated_batches(
    spark: SparkSession, table_name: str, tmp_path_factory: pytest.TempPathFactory, version: int, parts: str
) -> None:
    @settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
    @given(batches(("id",), ties=False), st.lists(st.booleans(), min_size=4, max_size=4))
    def follow(stream: list[list[Change]], replays: list[bool]) -> None:
        spark.sql(f"DROP TABLE IF EXISTS {table_name} PURGE")
        table = create(spark, table_name, COLUMNS, parts, version=version, properties=EDV)
        events = EventFolder(tmp_path_factory.mktemp("events"))
        model: dict[Any, Any] = {}
        for number, (batch, again) in enumerate(zip(stream, replays, strict=False)):
            events.add(_event(change) for change in batch)
            events.run(spark, table)
            if again:
                _forget(events.folder, number)
                events.run(spark, table)
                assert events.progress[-1].replayed
            apply(model, ("id",), batch)
        assert_same_rows(table.refresh().read(), sorted(model.values(), key=repr))

    follow()


def _event(change: Change) -> str:
    row = {"id": change.id, "region": change.region, "v": change.v}
    return event("d", row, None, change.at) if change.deletes else event("u", None, row, change.at)


def _forget(folder: Path, batch: int) -> None:
    """Simulates a driver that is killed after the commit to the table, before Spark records the batch."""
    for name in (f"{batch}", f".{batch}.crc"):
        (folder / "checkpoint" / "commits" / name).unlink(missing_ok=True)
