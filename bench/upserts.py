"""Measure upserts that look the old rows up, against Iceberg's MERGE and against upserts that only write keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import rowdelta as rd
from bench.data import MERGE_ON_READ, SCALES, VALUES, make_branch, make_table, random_keys, rows
from bench.measure import REPEATS, WARM_UPS, Measure, after_warm_up, ratio, seconds_of
from rowdelta.iceberg.vector_manifests import VectorManifests

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

TABLE = "lake.bench.upserts"
BRANCH = "fresh"


def run(spark: SparkSession, scale: str) -> list[Measure]:
    count = SCALES[scale]
    make_table(spark, TABLE, count, properties=MERGE_ON_READ)
    return [
        *_measure_lanes(spark, count, count // 100),
        *_measure_lanes(spark, count, count // 1000),
        _measure_composite_key(spark, count),
        _measure_keep_newer(spark, count),
        _measure_retry(spark, count),
    ]


def _new_branch(spark: SparkSession) -> rd.Table:
    return make_branch(spark, TABLE, BRANCH)


def _make_changes(spark: SparkSession, count: int, number: int) -> DataFrame:
    """Changes of keys from the whole table; one in eleven is new."""
    step = count // number
    changes = rows(spark, 7, count + count // 10, step + step // 10).cache()
    changes.count()
    changes.createOrReplaceTempView("bench_changes")
    return changes


def _take_turns(spark: SparkSession, *actions: Callable[[rd.Table], object]) -> list[Any]:
    """Times the actions in turn, each on a new branch."""
    turns = []
    for _ in range(WARM_UPS + REPEATS):
        turn = []
        for action in actions:
            table = _new_branch(spark)
            turn.append(seconds_of(lambda action=action, table=table: action(table)))  # type: ignore[misc]
        turns.append(turn)
    return after_warm_up(turns, WARM_UPS)


def _merge(spark: SparkSession, key: Sequence[str]) -> Callable[[rd.Table], object]:
    on = " AND ".join(f"t.{name} = s.{name}" for name in key)
    values = [name for name in ("id", *VALUES) if name not in key]
    text = (
        f"MERGE INTO {TABLE}.branch_{BRANCH} t USING bench_changes s ON {on} "
        f"WHEN MATCHED THEN UPDATE SET {', '.join(f'{name} = s.{name}' for name in values)} "
        "WHEN NOT MATCHED THEN INSERT *"
    )
    return lambda _: spark.sql(text)


def _measure_lanes(spark: SparkSession, count: int, number: int) -> list[Measure]:
    changes = _make_changes(spark, count, number)
    merged, resolved, keys = _take_turns(
        spark,
        _merge(spark, ["id"]),
        lambda table: table.upsert(changes, "id", resolve=True).execute(),
        lambda table: table.upsert(changes, "id", resolve=False).execute(),
    )
    changes.unpersist()
    name = f"upsert of {number:,} keys into {count:,} rows"
    goal = ">= 6" if number == count // 100 else ">= 5"
    return [
        ratio(f"{name}: Iceberg MERGE / rowdelta, resolve=True", merged, resolved, goal),
        ratio(f"{name}: Iceberg MERGE / rowdelta, resolve=False", merged, keys),
    ]


def _measure_composite_key(spark: SparkSession, count: int) -> Measure:
    changes = _make_changes(spark, count, count // 100)
    key = ["c", "e"]
    merged, resolved = _take_turns(
        spark, _merge(spark, key), lambda table: table.upsert(changes, key, resolve=True).execute()
    )
    changes.unpersist()
    name = f"upsert of {count // 100:,} keys of a text and a date into {count:,} rows: Iceberg MERGE / rowdelta"
    return ratio(f"{name}, resolve=True", merged, resolved, ">= 2.5")


def _measure_keep_newer(spark: SparkSession, count: int) -> Measure:
    changes = _make_changes(spark, count, count // 100)
    plain, newer = _take_turns(
        spark,
        lambda table: table.upsert(changes, "id", order_by="f", resolve=True).execute(),
        lambda table: table.upsert(changes, "id", order_by="f", keep_newer=True).execute(),
    )
    changes.unpersist()
    return ratio(f"upsert of {count // 100:,} keys: keep_newer=True / without it", newer, plain, "<= 1.3")


def _measure_retry(spark: SparkSession, count: int) -> Measure:
    """Measures what an upsert takes longer if another writer, who deletes a few rows, commits first."""
    changes = _make_changes(spark, count, count // 100)
    gone = random_keys(spark, 10, count).cache()
    gone.count()
    original = VectorManifests.complete
    other: list[float] = []

    def upsert(table: rd.Table) -> None:
        table.upsert(changes, "id", resolve=True).execute()

    def upsert_late(table: rd.Table) -> None:
        faster = [rd.table(spark, TABLE, branch=BRANCH)]

        def complete(manifests: VectorManifests, *arguments: Any) -> Any:
            done = original(manifests, *arguments)
            if faster:
                table = faster.pop()
                other.append(seconds_of(lambda: table.delete_keys(gone, "id", resolve=True).execute()))
            return done

        with patch.object(VectorManifests, "complete", complete):
            upsert(table)

    first, late = _take_turns(spark, upsert, upsert_late)
    again = [
        max(0.0, slow - writer - fast)
        for slow, writer, fast in zip(late.seconds, other[WARM_UPS:], first.seconds, strict=True)
    ]
    changes.unpersist()
    gone.unpersist()
    value = round(min(again) / first.best, 2)
    detail = {"again_seconds": [round(s, 3) for s in again], "first_seconds": [round(s, 3) for s in first.seconds]}
    return Measure("upsert that lost a race: the second attempt / the first", value, "<= 0.5", detail=detail)
