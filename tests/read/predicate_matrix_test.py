"""Every operator against nulls, NaN, infinities, both zeros and plain values, in every kind of partition.

Python computes the expected rows, with SQL's three-valued logic and Spark's order of floating-point numbers. Iceberg's
own filters give other answers: docs/faq.md lists them.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

import rowdelta as rd
from rowdelta.iceberg import build_row_filter
from rowdelta.iceberg.content_files import to_java
from tests.support.oracle import assert_same_ids, assert_same_rows
from tests.support.tables import EDV, added_files, append_files, create, head, plan_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from rowdelta.iceberg import ContentFile

NAN, INF = math.nan, math.inf
Row = dict[str, Any]
Logic = bool | None
COLUMNS: Final = "id int, p int, k double, f float, s string, ts timestamp"
LAYOUTS: Final = {
    "no partitions": "",
    "no statistics": "",
    "identity": "p, s",
    "floats": "k, f",
    "bucket": "bucket(4, p), bucket(4, s)",
    "truncate": "truncate(3, p), truncate(1, s)",
    "day": "days(ts), p",
    "evolved": "p, days(ts)",
}


def _day(number: int) -> dt.datetime:
    return dt.datetime(2024, 1, number, 12)  # noqa: DTZ001 - the session's zone is UTC


def _midnight(number: int) -> dt.datetime:
    return dt.datetime(2024, 1, number)  # noqa: DTZ001


ROWS: Final[list[Row]] = [
    {"id": number, "p": p, "k": k, "f": k, "s": s, "ts": ts}
    for number, (p, k, s, ts) in enumerate(
        [
            (1, 1.0, "a", _day(1)),
            (2, NAN, "ab", _day(2)),
            (None, INF, None, None),
            (1, -INF, "b", _day(2)),
            (5, -0.0, "", _day(3)),
            (7, 0.0, "ba", _day(1)),
            (None, None, "a", _day(3)),
            (2, 5.0, None, _day(1)),
            (5, NAN, "b", None),
            (None, -0.0, "ab", _day(2)),
            (7, None, "\U0010ffff", _day(1)),
        ]
    )
]


@dataclass(frozen=True)
class Predicate:
    """A predicate as SQL, and what it says of a row."""

    sql: str
    of: Callable[[Row], Logic]

    def __and__(self, other: Predicate) -> Predicate:
        def both(row: Row) -> Logic:
            sides = (self.of(row), other.of(row))
            return False if False in sides else None if None in sides else True

        return Predicate(f"({self.sql}) AND ({other.sql})", both)

    def __or__(self, other: Predicate) -> Predicate:
        def either(row: Row) -> Logic:
            sides = (self.of(row), other.of(row))
            return True if True in sides else None if None in sides else False

        return Predicate(f"({self.sql}) OR ({other.sql})", either)

    def __invert__(self) -> Predicate:
        return Predicate(f"NOT ({self.sql})", lambda row: None if (found := self.of(row)) is None else not found)

    @property
    def ids(self) -> list[int]:
        return [row["id"] for row in ROWS if self.of(row) is True]


def _value(row: Row, column: str) -> Any:
    if column == "o.k":
        return None if row["id"] == 2 else row["k"]
    return row[column]


def _place(value: Any) -> tuple[bool, Any]:
    """Spark's order: NaN comes last and equals itself, and there is one zero."""
    if isinstance(value, float):
        return (True, 0) if math.isnan(value) else (False, value + 0.0)
    return False, value


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"double('{value}')"
    if isinstance(value, dt.datetime):
        return f"timestamp'{value}'"
    return f"'{value}'" if isinstance(value, str) else str(value)


COMPARED: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def is_(column: str, operator: str, value: Any) -> Predicate:
    """A comparison of a column."""

    def of(row: Row) -> Logic:
        found = _value(row, column)
        if operator == "<=>":
            return _place(found) == _place(value)
        return None if None in (found, value) else COMPARED[operator](_place(found), _place(value))

    return Predicate(f"{column} {operator} {_literal(value)}", of)


def in_(column: str, *values: Any) -> Predicate:
    """IN a list, which is unknown where no value is the same and one is null."""
    parts = [is_(column, "=", value).of for value in values]

    def of(row: Row) -> Logic:
        found = [part(row) for part in parts]
        return True if True in found else None if None in found else False

    return Predicate(f"{column} IN ({', '.join(map(_literal, values))})", of)


def not_in(column: str, *values: Any) -> Predicate:
    return Predicate(in_(column, *values).sql.replace(" IN ", " NOT IN "), (~in_(column, *values)).of)


def between(column: str, low: Any, high: Any) -> Predicate:
    both = is_(column, ">=", low) & is_(column, "<=", high)
    return Predicate(f"{column} BETWEEN {_literal(low)} AND {_literal(high)}", both.of)


def is_null(column: str) -> Predicate:
    return Predicate(f"{column} IS NULL", lambda row: _value(row, column) is None)


def like(column: str, prefix: str) -> Predicate:
    def of(row: Row) -> Logic:
        found = _value(row, column)
        return None if found is None else found.startswith(prefix)

    return Predicate(f"{column} LIKE '{prefix}%'", of)


def _all_of(column: str, *values: Any) -> list[Predicate]:
    return [is_(column, operator, value) for value in values for operator in (*COMPARED, "<=>")]


# Where Iceberg's own filters are wrong, in some kind of table.
FEW: Final = [
    is_("p", "<>", 1) | is_("p", ">", 5),
    is_("p", "<", 2) | is_("p", "=", 2),
    ~is_("p", "<=>", 5),
    ~like("s", "a") | is_("s", ">", "x"),
    ~is_("ts", ">", _day(1)) | is_("ts", "=", _day(3)),
    is_("k", ">", INF),
    is_("k", "=", 0.0),
    ~is_("k", "<", 5.0),
    is_("k", "<", 0.0),
]
WHOLE: Final = [
    *_all_of("p", 2),
    *(is_("p", operator, None) for operator in ("=", "<>", "<=>")),
    *(is_null("p") | is_("p", "=", 7), ~is_null("p"), in_("p", 1, 5), not_in("p", 1, 5)),
    *(
        in_("p", 1, None),
        not_in("p", 1, None),
        between("p", 2, 5),
        ~between("p", 2, 5),
        ~in_("p", 1, 2) | is_("p", "=", 77),
    ),
]
TEXTS: Final = [
    *_all_of("s", "ab"),
    *(like("s", "a"), ~like("s", "a"), like("s", "b") | is_null("s"), in_("s", "a", "b"), not_in("s", "a", "b")),
    *(~like("s", "\U0010ffff"), like("s", "\U0010ffff"), like("s", "b") | is_("s", "<", "ab")),
    *(~(is_("p", "<", 5) | is_("s", ">=", "b")), is_("p", "<>", 1) & ~is_("s", "=", "ab")),
]
FLOATS: Final = [
    *_all_of("k", NAN, -0.0, 0.0),
    *_all_of("f", 0.0),
    *(is_("f", ">=", INF), is_("k", "<", INF), is_("k", "<>", -INF), is_("f", ">", 1.0), is_("k", "<>", NAN)),
    *(in_("k", 0.0, 1.0), not_in("k", 0.0, 1.0), in_("k", -0.0, NAN), not_in("k", -0.0, NAN), not_in("f", 0.0, 5.0)),
    *(between("k", 0.0, 1.0), between("f", -0.0, INF), ~between("k", 0.0, 1.0), ~is_("k", "<=>", -0.0), is_null("k")),
    *(
        ~(is_("p", "=", 1) & is_("k", ">", 0.0)),
        is_("k", ">", 1.0) | is_("p", "<>", 5),
        ~in_("k", 0.0) | is_("k", ">", 9.0),
    ),
]
TIMES: Final = [
    *(is_("ts", operator, _midnight(2)) for operator in ("<", ">=", "<>", "<=")),
    *(
        is_null("ts") | is_("p", "=", 7),
        is_("ts", ">=", _midnight(2)) | is_("p", "<", 2),
        between("ts", _midnight(1), _midnight(2)),
    ),
]
NESTED: Final = [
    is_("o.k", ">", 1.0),
    is_("o.k", "=", 0.0),
    ~is_("o.k", "<", 1.0),
    is_("o.k", "<>", 0.0) | is_("p", ">", 9),
]
ASKED: Final = {
    "no partitions": [*FEW, *FLOATS],
    "no statistics": FEW,
    "identity": [*FEW, *WHOLE, *TEXTS],
    "floats": [*FEW, *FLOATS[::2]],
    "bucket": [*FEW, *WHOLE, *TEXTS],
    "truncate": [*FEW, *WHOLE, *TEXTS],
    "day": [*FEW, *TIMES],
    "evolved": [*FEW, *WHOLE, *TIMES],
}


def make(spark: SparkSession, name: str, layout: str, version: int, *, columns: str = COLUMNS) -> rd.Table:
    """The rows, each in a file of its own."""
    properties = {
        "write.distribution-mode": "none",
        "write.spark.fanout.enabled": "true",
        "write.delete.hash-map.enabled": "true",
    }
    if layout == "no statistics":
        properties["write.metadata.metrics.default"] = "none"
    create(spark, name, columns, LAYOUTS[layout], version=version, properties=properties)
    rows = all_rows(spark).select(*(part.split()[0] for part in columns.split(", ")))
    half = len(ROWS) // 2 if layout == "evolved" else len(ROWS)
    rows.where(F.col("id") < half).writeTo(name).append()
    if half < len(ROWS):
        spark.sql(f"ALTER TABLE {name} DROP PARTITION FIELD p")
        spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD bucket(3, s)")
        rows.where(F.col("id") >= half).writeTo(name).append()
    return rd.table(spark, name)


def all_rows(spark: SparkSession) -> DataFrame:
    """The rows, each in a partition of its own."""
    values = [(*row.values(), None if row["id"] == 2 else (row["k"],)) for row in ROWS]
    return spark.createDataFrame(spark.sparkContext.parallelize(values, len(values)), f"{COLUMNS}, o struct<k: double>")


def found(predicates: list[Predicate], read: Callable[[str], DataFrame]) -> list[list[int]]:
    """The ids that each predicate finds, from one job."""
    frames = [read(some.sql).select(F.lit(number).alias("n"), "id") for number, some in enumerate(predicates)]
    ids: list[list[int]] = [[] for _ in predicates]
    for row in reduce(DataFrame.union, frames).collect():
        ids[row.n].append(row.id)
    return [sorted(some) for some in ids]


def check(predicates: list[Predicate], ids: list[list[int]]) -> None:
    answers = zip(predicates, ids, strict=True)
    wrong = [f"{some.sql}: {got} instead of {some.ids}" for some, got in answers if got != some.ids]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("layout", "version"), [(name, 3 if i % 2 else 2) for i, name in enumerate(LAYOUTS)])
def test_a_read_finds_what_sql_finds(spark: SparkSession, table_name: str, layout: str, version: int) -> None:
    table = make(spark, table_name, layout, version)
    check(ASKED[layout], found(ASKED[layout], table.read))
    later = [some for some in FEW if "LIKE" not in some.sql]  # Iceberg fails: see docs/faq.md
    check(later, found(later, table.read().where))


def roll_back(table: rd.Table, snapshot_id: int) -> None:
    java = table._handle.java_table
    java.manageSnapshots().setCurrentSnapshot(snapshot_id).commit()
    table.refresh()


@pytest.mark.parametrize(
    ("layout", "version", "encoding"),
    [
        ("no partitions", 3, "hash-map"),
        ("identity", 3, None),
        ("floats", 2, None),
        ("day", 2, "full-row"),
        ("evolved", 3, None),
    ],
)
def test_delete_update_and_merge_change_what_sql_finds(
    spark: SparkSession, table_name: str, layout: str, version: int, encoding: rd.Encoding | None
) -> None:
    """Where an encoding is given, with equality deletes of other rows."""
    table = make(spark, table_name, layout, version)
    if encoding is not None:
        gone = spark.createDataFrame([(77, "x")], "id int, s string")
        table.delete_keys(gone, key=["id", "s"], encoding=encoding, scope="global").execute()
    start = head(table)
    assert start is not None
    source = spark.createDataFrame([(row["id"],) for row in ROWS], "other int")
    merge = partial(table.merge, source)
    deleted = FEW[5:] if layout == "no partitions" else FEW
    verbs: list[tuple[str, Predicate, Callable[[str], Any]]] = [
        *(("delete", some, table.delete) for some in deleted),
        *(("update", some, lambda sql: table.update().set("id", "id + 100").where(sql)) for some in FEW[::3]),
        *(("merge", some, lambda sql: merge("t.id = s.other").when_matched_delete(sql)) for some in FEW[1::3]),
        *(("on", some, lambda sql: merge(f"t.id = s.other AND ({sql})").when_matched_delete()) for some in FEW[5:8]),
    ]
    frames = []
    for number, (_, some, verb) in enumerate(verbs):
        verb(some.sql).execute()
        after = head(table.refresh())
        frames.append(table.read(snapshot_id=after).select(F.lit(number).alias("n"), "id"))
        roll_back(table, start)
    left: list[list[int]] = [[] for _ in verbs]
    for row in reduce(DataFrame.union, frames).collect():
        left[row.n].append(row.id)
    wrong = []
    for (name, some, _), ids in zip(verbs, left, strict=True):
        changed = [number + 100 for number in some.ids] if name == "update" else []
        expected = [row["id"] for row in ROWS if row["id"] not in some.ids] + changed
        if sorted(ids) != sorted(expected):
            wrong.append(f"{name} {some.sql}: {sorted(ids)} instead of {sorted(expected)}")
    assert not wrong, "\n".join(wrong)


def test_structs_and_whole_partitions(spark: SparkSession, table_name: str) -> None:
    """Filters on a field of a struct, and a metadata-only delete that remains possible with a null partition."""
    table = make(spark, table_name, "identity", 3, columns=f"{COLUMNS}, o struct<k: double>")
    check(NESTED, found(NESTED, table.read))
    upper = [Predicate(some.sql.upper(), some.of) for some in NESTED]
    check(upper, found(upper, table.read))
    assert table.delete("P = 5 OR P > 6").execute().delete_files_added == 0
    assert_same_ids(table.read(), [0, 1, 2, 3, 6, 7, 9])
    assert table.delete("s LIKE 'a%' OR s > 'x'").execute().delete_files_added == 0
    assert_same_ids(table.read(), [2, 3, 7])


def test_filters_on_floats_skip_files_all_the_same(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name, "no partitions", 3)
    for predicate, pushed in ((is_("k", ">", 1.0), "k > 1.0"), (is_("f", "=", 0.0), "f >= -0.0")):
        frame = table.read(predicate.sql)
        assert pushed in re.findall(r"filters=(.*?), groupedBy", plan_of(frame))[0]
        assert_same_ids(frame, predicate.ids)
    assert "k > 1.0" not in plan_of(table.read().where("k > 1.0")).split("filters=")[1].split("groupedBy")[0]


def test_sql_queries_follow_sql_and_still_know_the_files_of_rows(spark: SparkSession, table_name: str) -> None:
    make(spark, table_name, "identity", 3)
    later = [some for some in FEW if "LIKE" not in some.sql]
    check(later, found(later, lambda where: rd.sql(spark, f"SELECT id FROM {table_name} WHERE {where}")))
    row = rd.sql(spark, f"SELECT count(DISTINCT _file) AS files FROM {table_name}").first()
    assert row is not None
    assert row.files == len(ROWS)


def test_maintenance_of_some_partitions_leaves_that_of_null_alone(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, p int", "p", properties=EDV)
    rows = spark.createDataFrame([(1, 1), (2, 2), (3, None), (4, 1), (5, 2), (6, None)], "id bigint, p int")
    rows.writeTo(table_name).append()
    table.delete_keys(rows.where("id > 3"), key="id", scope="partition").execute()
    table.resolve(partitions="p < 2 OR p = 2").execute()
    left = table.delete_files().where("content = 'equality'").collect()
    assert [row.partition for row in left] == ["p=null"]
    # Iceberg takes the null partition for a match of this one, and cannot read its vector.
    done = table.compact(data_files="p < 2 OR p > 5", options={"rewrite-all": "true"}).execute()
    assert done.equality_deletes == 1
    assert_same_ids(table.read(), [1, 2, 3])


@pytest.mark.parametrize("version", [2, 3])
def test_an_alias_names_rows_with_columns_that_filters_must_not_show_the_scan(
    spark: SparkSession, table_name: str, version: int
) -> None:
    columns = "id bigint, k double, o struct<x: double>, s string"
    table = create(spark, table_name, columns, "s", version=version)
    rows = [(1, 1.0, (1.0,), "a"), (2, math.nan, (math.nan,), "b"), (3, None, None, None), (4, 4.0, (4.0,), "ab")]
    spark.createDataFrame(rows, columns).writeTo(table_name).append()
    update = table.update(alias="t").set("k", "t.k + 1").where("t.k = 1.0 OR t.o.x = 9.0")
    assert update.execute().rows_updated == 1
    assert table.delete("t.s LIKE 'b%' OR t.s > 'x'", alias="t").execute().data_files_removed == 1
    assert table.delete("t.o.x = 4.0 AND t.s IS NOT NULL", alias="t").execute().rows_deleted == 1
    assert_same_rows([(row.id, row.k) for row in table.read().collect()], [(1, 2.0), (3, None)])


GREATEST: Final = 3.4028234663852886e38  # of the type float
ENDS: Final[list[list[Any]]] = [
    *([1.0, NAN], [INF, NAN], [-INF, 2.0], [GREATEST], [-GREATEST], [INF], [-INF], [-0.0, 0.0], [NAN], [None, 3.0])
]


def _ends(column: str) -> list[tuple[str, Callable[[Any], bool]]]:
    """Predicates on the ends of a floating-point type, and what they say of a value that is not null."""
    kind = "float" if column == "f" else "double"
    found: list[tuple[str, Callable[[Any], bool]]] = []
    for value in (INF, -INF, GREATEST, -GREATEST, 5.0, 0.0):
        for operator, compared in COMPARED.items():
            of = partial(lambda compared, value, got: compared(_place(got), _place(value)), compared, value)
            found.append((f"{column} {operator} {kind}('{value}')", of))
    told = f"{kind}('inf'), {kind}('0.0'), {kind}('{GREATEST}')"
    found.append((f"{column} IN ({told})", lambda got: got in {INF, 0.0, GREATEST}))
    found.append((f"{column} NOT IN ({told})", lambda got: got not in {INF, 0.0, GREATEST}))
    return found


def _end_files(spark: SparkSession, table: rd.Table) -> list[tuple[ContentFile, list[Any]]]:
    """Writes a file for each list of `ENDS`; each with its values."""
    rows = [[(value, value) for value in some] for some in ENDS]
    spread = spark.sparkContext.parallelize(rows, len(rows)).flatMap(lambda some: some)
    frame = spark.createDataFrame(spread, "f float, k double")
    frame.writeTo(table.name).append()
    kept: dict[str, list[Any]] = {}
    for row in spark.sql(f"SELECT k, _file FROM {table.name}").collect():
        kept.setdefault(row._file, []).append(row.k)
    return [(file, kept[file.path]) for file in added_files(table)]


def _misjudged(table: rd.Table, files: list[tuple[ContentFile, list[Any]]]) -> list[str]:
    """What predicates would drop or skip that they should not."""
    handle, wrong = table._handle, []
    expressions, schema = handle.gateway.iceberg.expressions, handle.java_table.schema()
    known = [(to_java(handle, file), values) for file, values in files]
    for sql, of in (*_ends("f"), *_ends("k")):
        condition = build_row_filter(handle, sql)
        assert condition.certain is not None, sql
        strict = expressions.StrictMetricsEvaluator(schema, condition.certain)
        wide = expressions.InclusiveMetricsEvaluator(schema, condition.expression)
        for number, (file, values) in enumerate(known):
            answers = [value is not None and of(value) for value in values]
            if strict.eval(file) and not all(answers):
                wrong.append(f"{sql} drops {values} of {number}")
            if any(answers) and not wide.eval(file):
                wrong.append(f"{sql} skips {values} of {number}")
    return wrong


def test_deletes_at_the_ends_of_floating_point_types_drop_only_files_that_match_whole(
    spark: SparkSession, table_name: str
) -> None:
    """Infinity, NaN and the greatest float, in files that count NaN, and in those of other writers, which do not."""
    properties = {"write.distribution-mode": "none"}
    table = create(spark, table_name, "f float, k double", properties=properties)
    files = _end_files(spark, table)
    assert len(files) == len(ENDS)
    uncounted = [(replace(file, nan_value_counts=None), values) for file, values in files]
    assert not _misjudged(table, [*files, *uncounted])
    start = head(table.refresh())
    assert start is not None
    for sql, left in (("f <> float('inf')", [INF, INF]), ("f < float('inf')", [INF, INF, NAN, NAN, NAN])):
        table.delete(f"{sql} OR f IS NULL").execute()
        assert_same_rows([(row.f,) for row in table.read().collect()], [(value,) for value in left])
        roll_back(table, start)
    assert table.delete("f = float('inf')").execute().rows_deleted == 2
    other = create(spark, f"{table_name}_uncounted", "f float, k double", properties=properties)
    append_files(other, [file for file, values in uncounted if 1.0 in values])
    assert other.delete("k < 5").execute().rows_deleted == 1
    assert_same_rows([(row.k,) for row in other.read().collect()], [(NAN,)])
    spark.sql(f"DROP TABLE {other.name}")


def test_a_merge_follows_sql_where_its_condition_names_more_than_keys(spark: SparkSession, table_name: str) -> None:
    """A field of a struct that is NaN, and a prefix of a partition that is null."""
    table = make(spark, table_name, "identity", 3, columns=f"{COLUMNS}, o struct<k: double>")
    start = head(table)
    assert start is not None
    source = spark.createDataFrame([(row["id"],) for row in ROWS], "id int")
    field = is_("o.k", ">", 1.0)
    for some in (field, ~like("s", "a") | is_("s", ">", "x")):
        on = re.sub(r"\b([so])\b(?=[ .])", r"t.\1", some.sql)
        merge = table.merge(source, f"t.id = s.id AND ({on})").when_matched_update({"p": 77})
        merge.when_not_matched_insert({"id": "s.id + 100"}).execute()
        rows = table.read().collect()
        assert sorted(row.id for row in rows if row.p == 77) == some.ids
        others = [row["id"] + 100 for row in ROWS if row["id"] not in some.ids]
        assert sorted(row.id for row in rows if row.id >= 100) == others
        roll_back(table, start)
    ids = "SELECT cast(id AS int) AS id FROM range(11)"
    rd.sql(spark, f"MERGE INTO {table_name} t USING ({ids}) x ON t.id = x.id AND t.O.K > 1.0D WHEN MATCHED THEN DELETE")
    assert_same_ids(table.read(), [n for n in range(len(ROWS)) if n not in field.ids])


def test_a_read_of_an_older_schema_finds_what_sql_finds(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name, "identity", 3, columns=f"{COLUMNS}, o struct<k: double>")
    start = head(table)
    spark.sql(f"ALTER TABLE {table_name} ADD COLUMN later int")
    table.refresh()
    asked = [*NESTED, ~like("s", "a") | is_("s", ">", "x"), is_("k", ">", 1.0), is_("p", "<>", 1) | is_("p", ">", 5)]
    check(asked, found(asked, partial(table.read, snapshot_id=start)))


def test_hidden_columns_keep_their_comments_and_prefixes_work_in_partitions_by_a_field(
    spark: SparkSession, table_name: str
) -> None:
    columns = "id int, k double COMMENT 'how much', o struct<s: string, x: double> COMMENT 'both'"
    table = create(spark, table_name, columns, "o.s")
    rows = [(1, NAN, ("a", 1.0)), (2, 2.0, (None, 2.0)), (3, 3.0, None), (4, None, ("y", NAN))]
    spark.createDataFrame(rows, "id int, k double, o struct<s: string, x: double>").writeTo(table_name).append()
    frame = table.read("NOT (o.s LIKE 'a%') OR o.s > 'x' OR k > 2.5")
    assert_same_ids(frame, [1, 3, 4])
    for read in (frame, table.read()):
        assert [field.metadata.get("comment") for field in read.schema] == [None, "how much", "both"]
    assert table.delete("NOT (o.s LIKE 'a%') AND o.x > 2.0").execute().rows_deleted == 1
