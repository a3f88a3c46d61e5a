"""Random histories against a model, and the layout of merged keys against plain dictionaries."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rowdelta.read import unpack_words
from rowdelta.read.delete_joins import SIDE, write_container_condition, write_container_probe
from rowdelta.read.merged_keys import (
    NULL_CONTAINER,
    Level,
    MergedKeys,
    make_container_table,
    make_value_table,
    merge_levels,
)
from rowdelta.spark import make_frame_from_arrow
from tests.support.oracle import assert_same_rows
from tests.support.tables import VECTORS, create, one_file

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    import rowdelta as rd

LOWEST, HIGHEST = -(2**63), 2**63 - 1
EDGES = [0, 1, 62, 63, 64, 65, 127, 128, 65534, 65535, 65536, 65537, 2**31, 2**32, 2**40]
KEYS = st.one_of(
    st.sampled_from([*EDGES, *(-edge for edge in EDGES), LOWEST, LOWEST + 1, HIGHEST - 1, HIGHEST]),
    st.integers(-200, 200),
    st.integers(-(2**20), 2**20),
    st.integers(LOWEST, HIGHEST),
)


@st.composite
def levels(draw: st.DrawFn) -> list[Level]:
    made = []
    for number in draw(st.lists(st.integers(1, 30), max_size=6)):
        keys = sorted(draw(st.sets(KEYS, max_size=25)))
        made.append(Level(number, np.array(keys, np.int64), draw(st.booleans())))
    return made


def newest(some: list[Level]) -> dict[int | None, int]:
    """Each key with the newest sequence number that deletes it."""
    found: dict[int | None, int] = {}
    for level in some:
        for key in [*level.keys.tolist(), *([None] if level.has_null else [])]:
            found[key] = max(found.get(key, 0), level.sequence_number)
    return found


@given(levels(), st.booleans())
@settings(max_examples=400)
def test_merged_keys_are_sorted_distinct_and_of_the_newest_age(some: list[Level], ages_matter: bool) -> None:  # noqa: FBT001
    merged, expected = merge_levels(some, ages_matter=ages_matter), newest(some)
    null = expected.pop(None, None)
    known = {key: age for key, age in expected.items() if key is not None}
    assert merged.keys.dtype == np.int64
    assert merged.keys.tolist() == sorted(known)
    assert merged.null_sequence_number == null
    if ages_matter:
        assert merged.sequence_numbers is not None
        assert dict(zip(merged.keys.tolist(), merged.sequence_numbers.tolist(), strict=True)) == known
    else:
        assert merged.sequence_numbers is None


def bit_lookup(table: pa.Table, key: int | None, age: int | None) -> bool:
    """Whether a row is deleted, by the rule of `write_container_condition`; with `age` None, a key is enough."""
    containers = table["container"].to_pylist()
    probe = NULL_CONTAINER if key is None else key >> 16
    assert containers.count(probe) <= 1
    if probe not in containers:
        return False
    row: dict[str, Any] = table.slice(containers.index(probe), 1).to_pylist()[0]
    if key is None:
        null_age = row["null_age"]
        return null_age is not None and (age is None or age < null_age)
    index, bit = (key >> 6) & 1023, key & 63
    word = row["words"][index] & (2**64 - 1)
    if not word >> bit & 1:
        return False
    if age is None:
        return True
    before = (word & ((1 << bit) - 1)).bit_count()
    return bool(age < row["ages"][row["ranks"][index] + before])


def around(keys: set[int | None]) -> set[int | None]:
    """Some keys, and their neighbours in the same word, the next word and the next container."""
    near = {key + step for key in keys if key is not None for step in (-65536, -64, -1, 1, 64, 65536)}
    return {None, 0, *keys, *(key for key in near if LOWEST <= key <= HIGHEST)}


@given(levels(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_bit_of_the_container_table_is_set_only_for_deleted_keys(some: list[Level], ages_matter: bool) -> None:  # noqa: FBT001
    expected = newest(some)
    table = make_container_table(merge_levels(some, ages_matter=ages_matter))
    for key in around(set(expected)):
        deleted_at = expected.get(key)
        if not ages_matter:
            assert bit_lookup(table, key, None) == (deleted_at is not None)
            continue
        assert not bit_lookup(table, key, 31)
        if deleted_at is not None:
            assert not bit_lookup(table, key, deleted_at)  # equality deletes are strict: same age is not older
            assert bit_lookup(table, key, deleted_at - 1)


@given(levels(), st.booleans())
@settings(max_examples=300)
def test_the_value_table_holds_every_key_and_its_age(some: list[Level], ages_matter: bool) -> None:  # noqa: FBT001
    table, expected = make_value_table(merge_levels(some, ages_matter=ages_matter)), newest(some)
    found = table["key"].to_pylist()
    assert len(found) == len(set(found))
    assert set(found) == set(expected)
    if ages_matter:
        assert dict(zip(found, table["age"].to_pylist(), strict=True)) == expected
    else:
        assert table.column_names == ["key"]


@given(st.sets(KEYS, max_size=200), st.randoms(use_true_random=False))
@example({LOWEST, HIGHEST, -1, 0, 63, 64}, None)
@settings(max_examples=500)
def test_keys_survive_as_words_in_any_order(keys: set[int], random: Any) -> None:
    words: dict[int, int] = {}
    for key in keys:
        words[key >> 6] = words.get(key >> 6, 0) | 1 << (key & 63)
    blocks = list(words)
    if random is not None:
        random.shuffle(blocks)
    signed = np.array([words[block] for block in blocks], np.uint64).view(np.int64)
    found = unpack_words(np.array(blocks, np.int64), signed)
    assert found.dtype == np.int64
    assert found.tolist() == sorted(keys)


def test_words_are_unpacked_in_more_than_one_portion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rowdelta.read.key_loader._WORDS_AT_ONCE", 3)
    keys = list(range(-1000, 1000, 7))
    blocks = sorted({key >> 6 for key in keys}, reverse=True)
    words = [sum(1 << (key & 63) for key in keys if key >> 6 == block) for block in blocks]
    found = unpack_words(np.array(blocks), np.array(words, np.uint64).view(np.int64))
    assert found.tolist() == keys


def test_sparse_keys_are_not_dense_and_few_keys_always_are() -> None:
    assert MergedKeys(np.arange(10) << 40, None, None).dense
    assert MergedKeys(np.arange(1_000_000), None, None).dense
    assert not MergedKeys(np.arange(2_000) << 40, None, None).dense
    assert MergedKeys(np.empty(0, np.int64), None, 7).dense


@pytest.mark.parametrize("nullable", [False, True])
def test_the_sql_of_bitmaps_finds_what_the_lookup_finds(spark: SparkSession, nullable: bool) -> None:  # noqa: FBT001
    """One query over every edge case: the SQL of the joins, compared with `bit_lookup`."""
    keys = np.array(sorted({*EDGES, *(-edge for edge in EDGES), LOWEST, HIGHEST}), np.int64)
    some = [Level(5, keys[::2]), Level(9, keys[::3], has_null=nullable)]
    table = make_container_table(merge_levels(some, ages_matter=True))
    probes = sorted(key for key in around(set(keys.tolist())) if key is not None)
    asked = [(key, age) for key in [*probes, *([None] if nullable else [])] for age in (4, 5, 8, 9)]
    frame = spark.createDataFrame(asked, "key bigint, __rd_age bigint")
    words = make_frame_from_arrow(spark, table)
    words = words.toDF(*(f"{SIDE}{name}" for name in words.columns))
    probe = write_container_probe("key", nullable=nullable, scoped=[])
    condition = write_container_condition("key", aged=True, nullable=nullable)
    on = f"{probe} = {SIDE}container AND {condition}"
    frame.createOrReplaceTempView("asked")
    words.createOrReplaceTempView("words")
    found = {tuple(row) for row in spark.sql(f"SELECT * FROM asked LEFT SEMI JOIN words ON {on}").collect()}
    assert found == {(key, age) for key, age in asked if bit_lookup(table, key, age)}


PARTITIONS = ["", "region", "bucket(3, region)", "truncate(1, region)", "region, bucket(2, k)"]
REGIONS = st.sampled_from(["a", "b", "ab", None])
LONGS = st.sampled_from([None, -70000, -1, 0, 1, 63, 64, 65536])
TEXTS = st.sampled_from([None, "", "x", "y"])
ROW = st.tuples(LONGS, TEXTS, REGIONS)


@dataclass(frozen=True)
class Step:
    """An append of rows, or a delete of the keys of rows: by `k`, by `s`, or by both."""

    rows: list[tuple[int | None, str | None, str | None]] = field(default_factory=list)
    key: tuple[str, ...] | None = None
    encoding: rd.Encoding | None = None


def steps(version: int) -> st.SearchStrategy[Step]:
    some = st.lists(ROW, min_size=1, max_size=8)
    append = st.builds(Step, some)
    allowed = {("k",): ["full-row", None], ("s",): ["full-row", None], ("k", "s"): ["full-row", None]}
    if version > 2:
        for key in allowed:
            allowed[key] += ["hash-map", *(["deletion-vector"] if key == ("k",) else [])]
    deletes = [st.builds(Step, some, st.just(key), st.sampled_from(names)) for key, names in allowed.items()]
    return st.one_of(append, *deletes)


HISTORIES = st.sampled_from([2, 3]).flatmap(
    lambda version: st.tuples(
        st.just(version), st.sampled_from(PARTITIONS), st.lists(steps(version), min_size=3, max_size=6)
    )
)


@given(HISTORIES)
@settings(
    max_examples=10,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_any_history_leaves_the_rows_that_the_model_has(
    spark: SparkSession, history: tuple[int, str, list[Step]]
) -> None:
    version, partitioned_by, told = history
    name = f"lake.db.h_{uuid.uuid4().hex[:12]}"
    table = create(
        spark, name, "k bigint, s string, region string", partitioned_by, version=version, properties=VECTORS
    )
    live: list[tuple[int | None, str | None, str | None]] = []
    schema = "k bigint, s string, region string"
    try:
        for step in told:
            frame = one_file(spark, step.rows, schema)
            if step.key is None:
                frame.writeTo(name).append()
                live += step.rows
                continue
            table.delete_keys(frame, step.key, encoding=step.encoding, scope="partition").execute()
            live = without(spark, live, step, partitioned_by)
        assert_same_rows(table.read(), live)
    finally:
        spark.sql(f"DROP TABLE {name} PURGE")


def without(
    spark: SparkSession, live: list[tuple[int | None, str | None, str | None]], step: Step, partitioned_by: str
) -> list[tuple[int | None, str | None, str | None]]:
    """All rows so far are older than the delete: those that it names in its partition are deleted."""
    places = partitions(spark, {*live, *step.rows}, partitioned_by)
    columns = [("k", "s").index(name) for name in step.key or ()]
    gone = {(places[row], *(row[column] for column in columns)) for row in step.rows}
    return [row for row in live if (places[row], *(row[column] for column in columns)) not in gone]


def partitions(spark: SparkSession, some: set[Any], partitioned_by: str) -> dict[Any, tuple[Any, ...]]:
    """The partition of each row, by Iceberg's own functions where a bucket is asked for."""
    buckets: dict[Any, Any] = {}
    if "bucket" in partitioned_by:
        number, column = (3, 2) if "bucket(3" in partitioned_by else (2, 0)
        for value in {row[column] for row in some} - {None}:
            literal = f"'{value}'" if isinstance(value, str) else f"cast({value} as bigint)"
            if value not in _buckets.setdefault(number, {}):
                _buckets[number][value] = spark.sql(f"SELECT lake.system.bucket({number}, {literal})").first()[0]  # type: ignore[index]
        buckets = {None: None, **_buckets[number]}
    by_field = {
        "region": lambda row: row[2],
        "bucket(3, region)": lambda row: buckets[row[2]],
        "truncate(1, region)": lambda row: row[2] and row[2][:1],
        "bucket(2, k)": lambda row: buckets[row[0]],
    }
    fields: list[Any] = [value for name, value in by_field.items() if name in _fields(partitioned_by)]
    return {row: tuple(value(row) for value in fields) for row in some}


def _fields(partitioned_by: str) -> list[str]:
    return ["region", "bucket(2, k)"] if partitioned_by == "region, bucket(2, k)" else [partitioned_by]


_buckets: dict[int, dict[Any, Any]] = {}
