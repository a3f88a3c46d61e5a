"""Measure how costs grow: of upserts, reads and resolves with the table, of reads with the number of deleted keys."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

import rowdelta as rd
from bench.data import (
    ALWAYS_VECTORS,
    MERGE_ON_READ,
    SCALES,
    UPSERT,
    aggregate,
    make_branch,
    make_table,
    on_new_branches,
    random_keys,
    read_by_iceberg,
    rows,
)
from bench.measure import REPEATS, Measure, Timing, ratio, side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import DataFrame, SparkSession

    Action = Callable[[], Any]

TABLE = "lake.bench.growing"
ICEBERG = "Iceberg's reader"
# Fractions of the rows of a scale: the sizes of the growing table (the last two only on demand), and the changed keys.
SIZES = (0.1, 0.25, 0.5, 1, 2.5, 5)
UPSERTED = 1 / 1_000
DELETED = (0, 1 / 200, 1 / 20, 1 / 4)


@dataclass(frozen=True)
class Chart:
    """A chart that `pictures.py` draws."""

    chart: str
    title: str
    axis: str = "rows in the table"

    def point(self, at: int, what: str, above: tuple[str, Timing], below: tuple[str, Timing]) -> Measure:
        """Returns the ratio of two lines at one point of the axis."""
        measure = ratio(f"{what}: {above[0]} / {below[0]}", above[1], below[1])
        measure.detail |= {**vars(self), "at": at, "above": above[0], "below": below[0]}
        return measure


def run(spark: SparkSession, scale: str, rows_up_to: int | None = None) -> list[Measure]:
    top = SCALES[scale]
    sizes = [size for part in SIZES if (size := int(top * part)) <= max(rows_up_to or top, int(top * SIZES[0]))]
    keys = int(top * UPSERTED)
    changes = {size: _grow(spark, before, size, keys) for before, size in zip([0, *sizes], sizes, strict=False)}
    measures = [
        *_measure_upserts(spark, changes, keys),
        *_measure_reads(spark, changes, keys),
        *_measure_resolves(spark, sizes, keys),
    ]
    for some in changes.values():
        some.unpersist()
    return measures + _measure_deletes(spark, min(top, sizes[-1]))


def _grow(spark: SparkSession, before: int, size: int, keys: int) -> DataFrame:
    """Appends rows, creates a branch for the state, and returns changes to all of it. One key in eleven is new."""
    if not before:
        make_table(spark, TABLE, 0, properties=ALWAYS_VECTORS | MERGE_ON_READ)
    rows(spark, before, size).writeTo(TABLE).append()
    make_branch(spark, TABLE, _rows(size))
    end = size + size // 10
    changes = rows(spark, 7, end, end // keys).cache()
    assert changes.count() == keys
    changes.createOrReplaceTempView(_changes(size))
    return changes


def _rows(size: int) -> str:
    return f"rows_{size}"


def _changes(size: int) -> str:
    return f"bench_changes_{size}"


def _measure_upserts(spark: SparkSession, changes: dict[int, DataFrame], keys: int) -> list[Measure]:
    def merge(size: int, table: rd.Table) -> None:
        spark.sql(UPSERT.format(target=f"{TABLE}.branch_{table.branch}", source=_changes(size)))

    def upsert(size: int, table: rd.Table) -> None:
        table.upsert(changes[size], "id").execute()

    def again(act: Callable[[int, rd.Table], None], size: int) -> Action:
        return on_new_branches(spark, TABLE, _rows(size), partial(act, size))

    chart = Chart("upsert", f"Upsert of {keys:,} keys")
    return [
        chart.point(
            size,
            f"upsert of {keys:,} keys into {size:,} rows",
            ("Iceberg MERGE", merged),
            ("rowdelta upsert", upserted),
        )
        for size, (merged, upserted) in _time_at_each(changes, partial(again, merge), partial(again, upsert)).items()
    ]


def _measure_reads(spark: SparkSession, changes: dict[int, DataFrame], keys: int) -> list[Measure]:
    """Measures an aggregate after the upsert, by Iceberg's reader over key files and by rowdelta over a vector."""
    expected = {}
    encoding: rd.Encoding
    for size, some in changes.items():
        for kind, encoding in (("files", "full-row"), ("vectors", "deletion-vector")):
            table = make_branch(spark, TABLE, f"{kind}_{size}", _rows(size))
            table.upsert(some, "id", encoding=encoding).execute()
        expected[size] = _total(size) + some.where(F.col("id") >= size).agg(F.sum("id")).collect()[0][0]

    def theirs(size: int) -> Action:
        return _aggregate_action(lambda: read_by_iceberg(spark, TABLE, f"files_{size}"), expected[size])

    def ours(size: int) -> Action:
        return _aggregate_action(rd.table(spark, TABLE, branch=f"vectors_{size}").read, expected[size])

    def plain(size: int) -> Action:
        return _aggregate_action(lambda: read_by_iceberg(spark, TABLE, _rows(size)), _total(size))

    chart, measures = Chart("read", f"Aggregate, {keys:,} keys upserted"), []
    for size, (iceberg, rowdelta, without) in _time_at_each(changes, theirs, ours, plain).items():
        what = f"aggregate over {size:,} rows, {keys:,} keys upserted"
        measures += [
            chart.point(size, what, (ICEBERG, iceberg), ("rowdelta", rowdelta)),
            chart.point(size, what, ("rowdelta", rowdelta), ("no deletes", without)),
        ]
    return measures


def _measure_resolves(spark: SparkSession, sizes: list[int], keys: int) -> list[Measure]:
    """Measures the resolve after the upsert. No other system has it, so the baseline is a scan of the key column."""

    def resolve(size: int) -> Action:
        return on_new_branches(spark, TABLE, f"vectors_{size}", lambda table: table.resolve(verify=False).execute())

    def scan(size: int) -> Action:
        return lambda: read_by_iceberg(spark, TABLE, _rows(size)).agg(F.sum("id")).collect()

    chart = Chart("resolve", f"Resolve of {keys:,} keys")
    return [
        chart.point(
            size, f"{keys:,} keys in {size:,} rows", ("resolve", resolved), ("Iceberg's scan of the keys", scanned)
        )
        for size, (resolved, scanned) in _time_at_each(sizes, resolve, scan).items()
    ]


def _measure_deletes(spark: SparkSession, size: int) -> list[Measure]:
    """Measures reads with more and more deleted keys, by Iceberg's reader and by rowdelta over both encodings."""
    left = {}
    encoding: rd.Encoding
    for part in DELETED:
        deleted = random_keys(spark, int(size * part), size)
        number, lost = deleted.agg(F.count("id"), F.coalesce(F.sum("id"), F.lit(0))).collect()[0]
        for kind, encoding in (("full", "full-row"), ("edv", "deletion-vector")):
            table = make_branch(spark, TABLE, f"{kind}_{number}", _rows(size))
            if number:
                table.delete_keys(deleted, "id", encoding=encoding).execute()
        left[number] = _total(size) - lost

    def theirs(number: int) -> Action:
        return _aggregate_action(lambda: read_by_iceberg(spark, TABLE, f"full_{number}"), left[number])

    def ours(kind: str, number: int) -> Action:
        return _aggregate_action(rd.table(spark, TABLE, branch=f"{kind}_{number}").read, left[number])

    chart = Chart("deletes", f"Aggregate over {size:,} rows", "equality deletes in the table")
    timings = _time_at_each(left, theirs, partial(ours, "full"), partial(ours, "edv"), repeats=2)
    measures = []
    for number, (iceberg, files, vectors) in timings.items():
        what = f"aggregate over {size:,} rows, {number:,} equality deletes"
        measures += [
            chart.point(number, what, (ICEBERG, iceberg), ("rowdelta, the same files", files)),
            chart.point(number, what, (ICEBERG, iceberg), ("rowdelta, vectors", vectors)),
        ]
    return measures


def _time_at_each(
    places: Iterable[int], *kinds: Callable[[int], Action], repeats: int = REPEATS
) -> dict[int, tuple[Timing, ...]]:
    """Times the actions of all points in turn, so that no point benefits from a warmer JVM or a less busy machine."""
    some = list(places)
    timings = iter(side_by_side(*(kind(place) for place in some for kind in kinds), repeats=repeats))
    return {place: tuple(next(timings) for _ in kinds) for place in some}


def _total(size: int) -> int:
    """Returns the sum of the ids of the table."""
    return size * (size - 1) // 2


def _aggregate_action(frame: Callable[[], DataFrame], total: int) -> Action:
    """Returns an action that aggregates and checks the sum, because a fast but wrong reader is useless."""

    def read() -> None:
        id_sum = aggregate(frame())[0]
        assert id_sum == total, f"the ids add up to {id_sum}, not {total}"

    return read
