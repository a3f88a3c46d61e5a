"""Measure time and memory while the same hot keys change again and again, as in apache/iceberg#17241 and #17209.

There, a stream of MERGE statements with deletion vectors grew until its executors died: 2 million accounts,
`bucket(64)`, and batches in which a fifth of the keys gets four fifths of the changes. This is scaled down to 16
buckets and 50,000 changes for each batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from matplotlib.figure import Figure
from pyspark.sql import functions as F  # noqa: N812

import rowdelta as rd
from bench.data import MERGE_ON_READ, SCALES, UPSERT, rows
from bench.measure import Measure, heap_left, seconds_of
from bench.pictures import OURS, THEIRS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

BATCHES: Final = {"small": 10, "medium": 40, "large": 100}
EARLY: Final = 10
MERGE, RESOLVE, KEYS = "Iceberg MERGE", "rowdelta, resolve=True", "rowdelta, keys as vectors"
COLORS: Final = {MERGE: THEIRS, RESOLVE: OURS, KEYS: "#8ba6d3"}
TABLES: Final = {MERGE: "lake.bench.churn_merge", RESOLVE: "lake.bench.churn_resolve", KEYS: "lake.bench.churn_keys"}
# A batch beside its neighbours: one slow moment of the machine must not decide.
WINDOW: Final = 5


def run(spark: SparkSession, scale: str) -> list[Measure]:
    accounts = SCALES[scale] // 10
    actions: dict[str, Callable[[DataFrame], object]] = {}
    for name, table in TABLES.items():
        _make_accounts(spark, table, accounts, vectors=name == KEYS)
        actions[name] = _write(spark, name, table)
    seconds: dict[str, list[float]] = {name: [] for name in TABLES}
    heap: dict[str, list[float]] = {name: [] for name in TABLES}
    for name, action in actions.items():
        for number in range(BATCHES[scale]):
            batch = _make_batch(spark, accounts, number)
            seconds[name].append(round(seconds_of(lambda action=action, batch=batch: action(batch)), 3))  # type: ignore[misc]
            batch.unpersist(blocking=True)
            heap[name].append(round(heap_left(spark) / 2**20, 1))
    kinds = {"seconds": seconds, "live heap": heap}
    return [_compare(name, kind, values[name]) for kind, values in kinds.items() for name in TABLES]


def _make_accounts(spark: SparkSession, name: str, accounts: int, *, vectors: bool) -> None:
    settings = {"format-version": "3", **MERGE_ON_READ, "write.delete.equality-vector.enabled": str(vectors).lower()}
    text = ", ".join(f"'{key}'='{value}'" for key, value in settings.items())
    spark.sql(f"DROP TABLE IF EXISTS {name} PURGE")
    frame = rows(spark, 0, accounts)
    frame.limit(0).createOrReplaceTempView("bench_accounts")
    spark.sql(
        f"CREATE TABLE {name} USING iceberg PARTITIONED BY (bucket(16, id)) TBLPROPERTIES ({text}) "
        "AS SELECT * FROM bench_accounts"
    )
    frame.writeTo(name).append()


def _make_batch(spark: SparkSession, accounts: int, number: int) -> DataFrame:
    """Changes of distinct keys: a fifth of the keys gets four fifths of the changes."""
    size = accounts // 40
    hot = F.expr(f"pmod(xxhash64(id, {number}, 1), 10) < 8")
    anywhere = F.expr(f"pmod(xxhash64(id, {number}, 2), {accounts})")
    of_hot = F.expr(f"pmod(xxhash64(id, {number}, 2), {accounts // 5}) * 5")
    keys = spark.range(size).select(F.when(hot, of_hot).otherwise(anywhere).alias("id")).distinct()
    values = [column for column in rows(spark, 0, 1).columns if column != "id"]
    changed = rows(spark, 0, accounts).join(F.broadcast(keys), "id").select("id", *values)
    changes = changed.withColumn("a", F.lit(number).cast("bigint")).coalesce(2).cache()
    changes.count()
    return changes


def _write(spark: SparkSession, name: str, table: str) -> Callable[[DataFrame], object]:
    if name == MERGE:
        text = UPSERT.format(target=table, source="bench_changes")

        def merge(batch: DataFrame) -> None:
            batch.createOrReplaceTempView("bench_changes")
            spark.sql(text)

        return merge
    ours = rd.table(spark, table)
    return lambda batch: ours.upsert(batch, "id", resolve=name == RESOLVE).execute()


def _compare(name: str, kind: str, values: list[float]) -> Measure:
    early, late = sorted(values[EARLY - WINDOW : EARLY])[WINDOW // 2], sorted(values[-WINDOW:])[WINDOW // 2]
    goal = "" if name == MERGE else "<= 1.3"
    detail: dict[str, Any] = {"name": name, "kind": kind, "by_batch": values}
    text = f"{len(values)} batches of hot keys, {name}: {kind} of the last batches / of batches 6 to {EARLY}"
    return Measure(text, round(late / early, 2), goal, detail=detail)


def draw(section: dict[str, Any], folder: Path) -> list[Path]:
    """Draws `churn.png`: seconds and live heap by batch."""
    figure = Figure(figsize=(10.4, 4.0), layout="constrained")
    panels = {"seconds": "seconds of a batch", "live heap": "live heap after it, MiB"}
    for place, (kind, label) in enumerate(panels.items(), 1):
        axes = figure.add_subplot(1, 2, place)
        for measure in section["measures"]:
            detail = measure["detail"]
            if detail["kind"] == kind:
                values, name = detail["by_batch"], detail["name"]
                axes.plot(range(1, len(values) + 1), values, label=name, color=COLORS[name], linewidth=1.2)
        axes.set_title(label, fontsize=11)
        axes.set_xlabel("batch")
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=9)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "churn.png"
    figure.savefig(path, dpi=130)
    return [path]
