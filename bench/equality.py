"""Measure what equality deletes cost to write, store and read, against Iceberg's own reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

import rowdelta as rd
from bench.data import (
    ALWAYS_VECTORS,
    SCALES,
    VECTORS,
    aggregate,
    make_branch,
    make_table,
    random_keys,
    read_by_iceberg,
    rows,
)
from bench.measure import Measure, live_heap_mb, ratio, side_by_side

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLE = "lake.bench.orders"


def run(spark: SparkSession, scale: str) -> list[Measure]:
    count = SCALES[scale]
    make_table(spark, TABLE, count, properties=ALWAYS_VECTORS)
    one, five = count // 20, count // 4
    return [
        *_measure_reads(spark, one, five),
        *_measure_many_vectors(spark, count, one),
        *_measure_writes(spark, count),
        *_measure_bytes(spark, count),
    ]


def full_scan(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def compare_readers(spark: SparkSession, keys: int, goal: str) -> list[Measure]:
    """Measures an aggregate over a table with deleted keys, by Iceberg's reader and by rowdelta over both encodings."""
    total = spark.table(TABLE).count()
    full, edv = make_branch(spark, TABLE, f"full_{keys}"), make_branch(spark, TABLE, f"edv_{keys}")
    full.delete_keys(random_keys(spark, keys, total), key="id", encoding="full-row").execute()
    edv.delete_keys(random_keys(spark, keys, total), key="id", encoding="deletion-vector").execute()
    theirs, by_full, by_edv = side_by_side(
        lambda: aggregate(read_by_iceberg(spark, TABLE, full.branch)),
        lambda: aggregate(full.read()),
        lambda: aggregate(edv.read()),
        spark=spark,  # the hash sets of Iceberg's reader take gigabytes
    )
    name = f"aggregate, {keys:,} equality deletes: Iceberg / rowdelta"
    return [ratio(f"{name}, full-row files", theirs, by_full, goal), ratio(f"{name}, EDV", theirs, by_edv, goal)]


def _measure_reads(spark: SparkSession, one: int, five: int) -> list[Measure]:
    total = spark.table(TABLE).count()
    measures = [*compare_readers(spark, one, ">= 5"), *compare_readers(spark, five, ">= 12")]
    edv = make_branch(spark, TABLE, f"edv_{one}_again")
    edv.delete_keys(random_keys(spark, one, total), key="id").execute()
    main = rd.table(spark, TABLE)
    with_edv, without = side_by_side(lambda: aggregate(edv.read()), lambda: aggregate(main.read()), repeats=5)
    measures.append(ratio("aggregate of the key and two columns: EDV / no deletes", with_edv, without, "<= 1.3"))
    with_edv, without = side_by_side(lambda: full_scan(edv.read()), lambda: full_scan(main.read()), repeats=5)
    measures.append(ratio("full scan of all columns: EDV / no deletes", with_edv, without, "<= 1.15"))
    large = rd.table(spark, TABLE, branch=f"edv_{five}")
    plain = live_heap_mb(spark, lambda: aggregate(main.read()))
    above = round(live_heap_mb(spark, lambda: aggregate(large.read())) - plain, 1)
    iceberg_above = round(
        live_heap_mb(spark, lambda: aggregate(read_by_iceberg(spark, TABLE, f"full_{five}"))) - plain, 1
    )
    detail = {"iceberg_full_row_mb": iceberg_above, "no_deletes_mb": plain}
    measures.append(Measure(f"live heap above the scan without deletes, {five:,} keys", above, "<= 200", "MiB", detail))
    return measures


def _measure_many_vectors(spark: SparkSession, count: int, keys: int) -> list[Measure]:
    """Compares a hundred vectors from different commits, with new rows in between, with one vector of the same keys."""
    commits = 100
    many, single = make_branch(spark, TABLE, "many"), make_branch(spark, TABLE, "single")
    wanted = random_keys(spark, keys, count).withColumn("part", F.expr(f"pmod(xxhash64(id, 7), {commits})")).cache()
    wanted.count()
    for part in range(commits):
        many.delete_keys(wanted.where(F.col("part") == part), key="id", encoding="deletion-vector").execute()
        if part % 10 == 0:
            rows(spark, count + part, count + part + 1).coalesce(1).writeTo(f"{TABLE}.branch_many").append()
    single.delete_keys(wanted, key="id", encoding="deletion-vector").execute()
    wanted.unpersist()
    a, b = side_by_side(lambda: aggregate(many.read()), lambda: aggregate(single.read()), repeats=5)
    return [ratio(f"{commits} vectors of different ages / 1 vector, {keys:,} keys", a, b, "<= 1.3")]


def _measure_writes(spark: SparkSession, count: int) -> list[Measure]:
    """Measures `delete_keys` on two tables. It does not scan, so the size of the table should not matter."""
    small = "lake.bench.small"
    make_table(spark, small, count // 10, properties=VECTORS)
    keys = random_keys(spark, count // 20, count).cache()
    keys.count()
    big, little = make_branch(spark, TABLE, "writes"), rd.table(spark, small)
    above, below = side_by_side(
        lambda: big.delete_keys(keys, key="id").execute(), lambda: little.delete_keys(keys, key="id").execute()
    )
    keys.unpersist()
    return [
        ratio(f"delete_keys of {count // 20:,} keys: {count:,} rows / {count // 10:,} rows", above, below, "<= 1.2")
    ]


def _measure_bytes(spark: SparkSession, count: int) -> list[Measure]:
    """Measures the size of a million deletes as whole rows, as keys, and as a vector."""
    measures = []
    shapes = {
        "dense keys (1 in 10)": spark.range(0, count // 2, 10),
        "random keys": random_keys(spark, count // 20, count),
    }
    for name, keys in shapes.items():
        sizes = {}
        for encoding in ("deletion-vector", "full-row"):
            branch = make_branch(spark, TABLE, "sizes")
            sizes[encoding] = branch.delete_keys(keys, key="id", encoding=encoding).execute().bytes_added
        small = _delta_zstd_bytes(spark, keys)
        whole = _whole_row_bytes(spark, keys)
        detail = {"edv_bytes": sizes["deletion-vector"], "key_only_bytes": sizes["full-row"], "whole_row_bytes": whole}
        detail["edv_delta_zstd_bytes"] = small
        goal = ">= 40" if "dense" in name else ""
        measures.append(
            Measure(f"bytes, {name}: whole rows / EDV", round(whole / sizes["deletion-vector"], 1), goal, detail=detail)
        )
        measures.append(
            Measure(f"bytes, {name}: whole rows / EDV as delta-zstd", round(whole / small, 1), detail=detail)
        )
        measures.append(
            Measure(f"bytes, {name}: whole rows / key-only file", round(whole / sizes["full-row"], 1), detail=detail)
        )
    return measures


def _delta_zstd_bytes(spark: SparkSession, keys: DataFrame) -> int:
    """Measures a vector that stores its keys as compressed differences. Only vectors of version 2 can do this."""
    settings = {"write.deletion-vector.compression": "delta-zstd", "write.delete.equality-vector.codecs": "long-signed"}
    names = ", ".join(f"'{name}'" for name in settings)
    text = ", ".join(f"'{name}'='{value}'" for name, value in settings.items())
    spark.sql(f"ALTER TABLE {TABLE} SET TBLPROPERTIES ({text})")
    branch = make_branch(spark, TABLE, "sizes")
    size = branch.delete_keys(keys, key="id", encoding="deletion-vector").execute().bytes_added
    spark.sql(f"ALTER TABLE {TABLE} UNSET TBLPROPERTIES ({names})")
    return size


def _whole_row_bytes(spark: SparkSession, keys: DataFrame) -> int:
    """Measures one Parquet file that Iceberg writes with the whole rows of the given keys."""
    name = "lake.bench.whole_rows"
    make_table(spark, name, 0)
    spark.table(TABLE).join(keys, "id").coalesce(1).sortWithinPartitions("id").writeTo(name).append()
    size: int = spark.sql(f"SELECT sum(file_size_in_bytes) FROM {name}.files").collect()[0][0]
    return size
