"""Format version x delete encoding x key x layout: every table reads as Iceberg reads its equivalent.

The oracle of a case is Iceberg's reader on the same history with standard deletes. A model in plain Python, which has
its own sequence numbers and partitions, must agree with both. `IMPOSSIBLE` lists the combinations that are refused.
"""

# ruff: noqa: DTZ001 - PySpark takes and gives times without a zone
from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from rowdelta.encoding import DeleteEncoding
from tests.support.oracle import assert_same_rows, rows
from tests.support.tables import VECTORS, added_files, append_files, create, delete_positions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from rowdelta.iceberg import ContentFile

Row = dict[str, Any]
Rows = list[tuple[Any, ...]]

DAYS = (dt.datetime(2024, 1, 31, 23, 59), dt.datetime(2024, 2, 1))
PLACES = (("aa", DAYS[0]), ("aa", DAYS[1]), ("ab", DAYS[0]), ("b", DAYS[0]))
COLUMNS = (
    "uid int, id bigint, i int, d date, ts timestamp, tn timestamp_ntz, n bigint, z bigint, s string, "
    "region string, at timestamp_ntz, v string"
)
UTC = dt.timezone.utc
# Five values of each key column: rows with the values of one number belong together.
VALUES: dict[str, tuple[Any, ...]] = {
    "id": (1, 63, 64, 65535, 65536),
    "i": (0, -1, 2**31 - 1, -(2**31), 65536),
    "d": tuple(dt.date(1969, 12, 31) + dt.timedelta(days) for days in (0, 1, 2, 63, 20000)),
    "ts": tuple(dt.datetime(1969, 12, 31, 23, 59, 59, micro, UTC) for micro in (0, 1, 63, 64, 999999)),
    "tn": tuple(dt.datetime(1970, 1, 1, 0, 0, second) for second in (0, 1, 2, 3, 59)),
    "n": (-1, -65536, 0, 7, -65537),
    "z": (None, -3, 0, 64, 2**40),
    "s": ("", "a", "A", "ä", "a "),
}
KEYS: dict[str, tuple[str, ...]] = {name: (name,) for name in VALUES} | {"composite": ("z", "s")}
RENAMED = {name: f"{name} of old" for name in VALUES}


@dataclass(frozen=True)
class Layout:
    """How a table is partitioned, and the statements that change it before the second, third and fourth append."""

    partitioned_by: str = ""
    changes: tuple[tuple[str, ...], ...] = ((), (), ())
    renames: bool = False


LAYOUTS = {
    "unpartitioned": Layout(),
    "identity": Layout("region"),
    "bucket": Layout("bucket(2, region)"),
    "day": Layout("days(at)"),
    "truncate": Layout("truncate(1, region)"),
    "spec grows and shrinks": Layout(
        "region", (("ADD PARTITION FIELD days(at)",), ("DROP PARTITION FIELD region",), ())
    ),
    "partitions go and come": Layout(
        "region", (("DROP PARTITION FIELD region",), (), ("ADD PARTITION FIELD bucket(2, region)",))
    ),
    "evolved schema": Layout(
        "region",
        (
            tuple(f"RENAME COLUMN {name} TO `{new}`" for name, new in RENAMED.items()),
            ("DROP COLUMN v", "ADD COLUMN w string"),
            ("ALTER COLUMN `i of old` TYPE bigint",),
        ),
        renames=True,
    ),
}

# Every layout with one key of each way that deletes are applied: a bitmap, a bitmap with a null, exact keys. Other keys
# differ from these by how a value becomes an integer, which the layouts that change between writes put to the test.
EVERY_LAYOUT = ("id", "z", "composite")
CHANGING = ("unpartitioned", "spec grows and shrinks", "evolved schema")
ENCODINGS = {
    (2, "full-row"): tuple(KEYS),
    (3, "full-row"): ("id", "composite"),
    (3, "deletion-vector"): ("id", "i", "d", "ts", "tn", "n", "z"),
    (3, "hash-map"): ("composite", "s"),
}
IMPOSSIBLE = [
    *((2, "deletion-vector", key, "format version 2 has no Puffin delete files") for key in ("id", "i")),
    *((2, "hash-map", key, "format version 2 has no Puffin delete files") for key in ("composite", "s")),
    (3, "deletion-vector", "s", "key 's' is of type string, which a bitmap cannot hold"),
    (3, "deletion-vector", "composite", r"the key has 2 columns \('z', 's'\), and a bitmap holds one"),
]
CASES = [
    (version, encoding, key, layout)
    for (version, encoding), keys in ENCODINGS.items()
    for key in keys
    for layout in (LAYOUTS if key in EVERY_LAYOUT else CHANGING)
]


def appended(number: int) -> list[Row]:
    """The rows of one append: every key in every place."""
    return [
        {"uid": 100 * number + 10 * place + k, **{name: values[k] for name, values in VALUES.items()}}
        | {"region": region, "at": at, "last": f"{number}.{k}"}
        for place, (region, at) in enumerate(PLACES)
        for k in range(5)
    ]


def collected(value: Any) -> Any:
    """A value as PySpark gives it back: a time with a zone becomes local time without one."""
    return value.astimezone().replace(tzinfo=None) if isinstance(value, dt.datetime) and value.tzinfo else value


@dataclass(frozen=True)
class Donor:
    """A table without deletes whose data files all tables of its layout share."""

    files: list[list[ContentFile]]
    places: dict[int, tuple[str, int]]
    buckets: dict[str, int]


@dataclass
class Model:
    """The rows of a table with their sequence numbers and partitions, as the spec defines them."""

    layout: Layout
    buckets: dict[str, int]
    sequence: int = 0
    spec: list[str] = field(default_factory=list)
    rows: list[tuple[int, Any, Row]] = field(default_factory=list)
    deletes: list[tuple[int, Any, tuple[str, ...], tuple[Any, ...]]] = field(default_factory=list)
    positions: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.spec = [self.layout.partitioned_by] if self.layout.partitioned_by else []

    def change(self, statement: str) -> None:
        what, _, part = statement.partition(" PARTITION FIELD ")
        if what == "ADD":
            self.spec = [*self.spec, part]
        elif what == "DROP" and part:
            self.spec = [known for known in self.spec if known != part]

    def partition(self, row: Row) -> dict[str, Any]:
        values = {
            "region": row["region"],
            "bucket(2, region)": self.buckets[row["region"]],
            "days(at)": row["at"].date(),
            "truncate(1, region)": row["region"][:1],
        }
        return {part: values[part] for part in self.spec}

    def append(self, new: list[Row]) -> None:
        self.sequence += 1
        self.rows += [(self.sequence, self.partition(row), row) for row in new]

    @property
    def has_other_specs(self) -> bool:
        """Whether deletes of the present spec do not apply to some rows."""
        return any(list(place) != self.spec for _, place, _ in self.rows)

    def delete(self, names: tuple[str, ...], keys: list[Row], scope: str) -> None:
        self.sequence += 1
        for row in keys:
            place = {} if scope == "global" else self.partition(row)
            self.deletes.append((self.sequence, place, names, tuple(row[n] for n in names)))

    def delete_positions(self, uids: set[int]) -> None:
        self.sequence += 1
        self.positions |= uids

    def live(self, *, renamed: bool) -> Rows:
        kept = [row for age, place, row in self.rows if not self._is_deleted(age, place, row)]
        names = [name for name in kept[0] if name != "last"]
        first = 200 if renamed else 0  # `w` came with the third append, and `v` went
        return [(*(collected(row[n]) for n in names), row["last"] if row["uid"] >= first else None) for row in kept]

    def _is_deleted(self, age: int, place: dict[str, Any], row: Row) -> bool:
        return row["uid"] in self.positions or any(
            age < newer and where in ({}, place) and tuple(row[name] for name in names) == key
            for newer, where, names, key in self.deletes
        )


class Scenario:
    """One history, applied to a table and to the model."""

    def __init__(self, table: rd.Table, layout: Layout, key: str, encoding: rd.Encoding, donor: Donor) -> None:
        self.table, self.name, self.layout = table, table.name, layout
        self.spark = table._handle.spark
        self.key, self.encoding, self.donor = KEYS[key], encoding, donor
        self.model = Model(layout, donor.buckets)
        self.files: list[ContentFile] = []
        self.renamed = False

    def append(self, number: int) -> None:
        if number:
            for statement in self.layout.changes[number - 1]:
                self.spark.sql(f"ALTER TABLE {self.name} {statement}")
                self.model.change(statement)
            self.renamed = self.layout.renames
        # Deletes of the whole table may have added a spec, so that the specs of the donor have other numbers.
        spec_id = self.table.refresh().metadata.spec.id
        files = [replace(file, spec_id=spec_id) for file in self.donor.files[number]]
        append_files(self.table, files)
        self.files += files
        self.model.append(appended(number))

    def delete(self, *where: tuple[int, int], absent: bool = False) -> None:
        """Deletes keys, each given by its number and its place; with `absent`, also a key that no row has."""
        keys = [row for row in appended(9) if (row["uid"] % 10, row["uid"] % 100 // 10) in where]
        keys += [self._absent()] if absent else []
        scope: rd.Scope = "global" if self.model.has_other_specs else "auto"
        self.model.delete(self.key, keys, scope)
        names = [RENAMED[name] if self.renamed else name for name in self.key]
        types = [f"`{name}` {self._type(old)}" for name, old in zip(names, self.key, strict=True)]
        values = [(*(row[old] for old in self.key), row["region"], row["at"]) for row in keys]
        frame = self.spark.createDataFrame(values, ", ".join([*types, "region string", "at timestamp_ntz"]))
        scope = "partition" if scope == "auto" else scope
        self.table.delete_keys(frame, names, encoding=self.encoding, scope=scope).execute()

    def _absent(self) -> Row:
        """Of a composite key each half exists, but not together."""
        one, other = appended(9)[:2]
        (*_, last) = self.key
        return one | {last: other[last] if len(self.key) > 1 else ABSENT[last]}

    def _type(self, column: str) -> str:
        types = dict(part.strip().split(" ") for part in COLUMNS.split(","))
        return types[column]

    def delete_positions(self, *uids: int) -> None:
        positions: dict[str, list[int]] = {}
        for uid in uids:
            path, position = self.donor.places[uid]
            positions.setdefault(path, []).append(position)
        delete_positions(self.table, positions, self.files)
        self.model.delete_positions(set(uids))

    def expected(self) -> Rows:
        return sorted(self.model.live(renamed=self.renamed), key=repr)


ABSENT = {"id": 2, "i": 7, "d": dt.date(2024, 1, 1), "ts": DAYS[0], "tn": DAYS[0], "n": 1, "z": -1, "s": "b"}


def alone(scenario: Scenario) -> None:
    """Keys are deleted, inserted again, and deleted in other partitions."""
    scenario.append(0)
    scenario.delete((0, 0), (1, 0), (1, 3))
    scenario.append(1)
    scenario.delete((0, 3), (2, 1), (2, 2))
    scenario.append(2)


def mixed(scenario: Scenario) -> None:
    """Positions are deleted as well, some of them of rows that are already deleted by key; then keys again."""
    scenario.delete_positions(0, 3, 13, 20, 113, 134, 200, 204)
    scenario.append(3)
    scenario.delete((1, 0), (3, 2), (4, 3), absent=True)


@pytest.fixture
def name(spark: SparkSession) -> Iterator[str]:
    """A table that is dropped without PURGE: its data files belong to all tables of its layout."""
    name = f"lake.db.t_{uuid.uuid4().hex[:12]}"
    yield name
    spark.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.fixture(scope="module")
def donors(spark: SparkSession) -> Iterator[Callable[[str], Donor]]:
    made: list[str] = []

    @cache
    def donor(layout: str) -> Donor:
        name = f"lake.db.donor_{uuid.uuid4().hex[:12]}"
        made.append(name)
        return make_donor(spark, name, LAYOUTS[layout])

    yield donor
    for name in made:
        spark.sql(f"DROP TABLE {name} PURGE")


def make_donor(spark: SparkSession, name: str, layout: Layout) -> Donor:
    table = create(spark, name, COLUMNS, layout.partitioned_by, version=2)
    files = []
    for number in range(4):
        for statement in layout.changes[number - 1] if number else ():
            spark.sql(f"ALTER TABLE {name} {statement}")
        values = [tuple(row.values()) for row in appended(number)]
        frame = spark.createDataFrame(values, COLUMNS).coalesce(1)
        names = spark.table(name).columns
        kinds = spark.table(name).schema
        frame.toDF(*names).selectExpr(
            *(f"cast(`{column}` as {kinds[column].dataType.simpleString()}) as `{column}`" for column in names)
        ).writeTo(name).append()
        files.append(added_files(table))
    places = {row[0]: (row[1], row[2]) for row in spark.table(name).select("uid", "_file", "_pos").collect()}
    regions = sorted({region for region, _ in PLACES})
    (buckets,) = spark.sql(f"SELECT {', '.join(f'lake.system.bucket(2, {r!r})' for r in regions)}").collect()
    return Donor(files, places, dict(zip(regions, buckets, strict=True)))


@dataclass(frozen=True)
class Reading:
    """The rows of one table by Iceberg's reader, by rowdelta and by the model."""

    iceberg: Rows
    rowdelta: Rows
    model: Rows


def read(scenario: Scenario) -> Reading:
    """Collects the rows of both readers in one job."""
    iceberg, ours = scenario.spark.table(scenario.name), scenario.table.read()
    assert iceberg.dtypes == ours.dtypes
    found = rows(iceberg.selectExpr("true", "*").unionAll(ours.selectExpr("false", "*")))
    return Reading([row[1:] for row in found if row[0]], [row[1:] for row in found if not row[0]], scenario.expected())


@pytest.fixture(scope="module", autouse=True)
def _fresh_deletes(spark: SparkSession) -> Iterator[None]:
    """Iceberg 1.12 caches the keys that it has read. After a type change of their column, it finds none of them."""
    spark.conf.set("spark.sql.iceberg.executor-cache.delete-files.enabled", "false")
    yield
    spark.conf.unset("spark.sql.iceberg.executor-cache.delete-files.enabled")


@pytest.fixture(scope="module")
def oracle(spark: SparkSession, donors: Callable[[str], Donor]) -> Callable[[str, str], tuple[Reading, Reading]]:
    """The same history with standard deletes, before and after positions are deleted."""

    @cache
    def tell(key: str, layout: str) -> tuple[Reading, Reading]:
        name = f"lake.db.oracle_{uuid.uuid4().hex[:12]}"
        table = create(spark, name, COLUMNS, LAYOUTS[layout].partitioned_by, version=2)
        try:
            scenario = Scenario(table, LAYOUTS[layout], key, "full-row", donors(layout))
            alone(scenario)
            before = read(scenario)
            mixed(scenario)
            return before, read(scenario)
        finally:
            spark.sql(f"DROP TABLE {name}")

    return tell


@pytest.mark.parametrize(("version", "encoding", "key", "layout"), CASES)
def test_a_table_reads_as_the_iceberg_reader_reads_its_equivalent(
    spark: SparkSession,
    name: str,
    donors: Callable[[str], Donor],
    oracle: Callable[[str, str], tuple[Reading, Reading]],
    *,
    version: int,
    encoding: rd.Encoding,
    key: str,
    layout: str,
) -> None:
    for reading in oracle(key, layout):
        assert_same_rows(reading.iceberg, reading.model)
        assert_same_rows(reading.rowdelta, reading.iceberg)
    if (version, encoding) == (2, "full-row"):
        return  # that is the oracle itself
    table = create(spark, name, COLUMNS, LAYOUTS[layout].partitioned_by, version=version, properties=VECTORS)
    scenario = Scenario(table, LAYOUTS[layout], key, encoding, donors(layout))
    for told, expected in zip((alone, mixed), oracle(key, layout), strict=True):
        told(scenario)
        assert_same_rows(scenario.table.read(), expected.iceberg)


@pytest.mark.parametrize(("version", "encoding", "key", "reason"), IMPOSSIBLE)
def test_impossible_requests_are_refused_with_the_reason(
    spark: SparkSession, table_name: str, *, version: int, encoding: rd.Encoding, key: str, reason: str
) -> None:
    table = create(spark, table_name, COLUMNS, version=version, properties=VECTORS)
    frame = spark.createDataFrame([(1, 1, 1, "a")], "id bigint, i int, z bigint, s string")
    shown = DeleteEncoding(encoding).shown("equality")
    with pytest.raises(rd.EncodingError, match=f"cannot write the deletes as {shown}: {reason}"):
        table.delete_keys(frame, KEYS[key], encoding=encoding).execute()
