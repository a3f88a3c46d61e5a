"""`t.merge()`, compared whole-table with the same MERGE by Iceberg SQL on a copy."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.sql import functions as F  # noqa: N812

import rowdelta as rd
from tests.support.copies import COLUMNS, KINDS, Copies, Kind, copies, numbered, numbered_copies
from tests.support.oracle import assert_same_rows
from tests.support.tables import head, stored_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import Column, DataFrame, SparkSession

    from rowdelta.change import Result
    from rowdelta.verbs import Merge

PARTITIONS = ["region", "bucket(2, id)", "region", "", ""]
ALL = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"


def changes(spark: SparkSession, start: int = 15, stop: int = 26) -> DataFrame:
    """Rows of `COLUMNS` in another order and in other case, with columns that the table does not have."""
    return numbered(spark, start, stop).selectExpr(
        "ts",
        "if(id % 5 = 0, 'D', 'U') op",
        "-a AS A",
        "concat(region, 's') REGION",
        "p",
        "cast(id AS int) b",
        "id + 0L AS Id",
    )


def merge(
    pair: Copies, source: DataFrame, on: str, clauses: Callable[[Merge], Merge], iceberg: str, **numbers: int | None
) -> Result:
    """The same merge into both tables; `on` is SQL, and so are the clauses of the copy."""
    source.createOrReplaceTempView("dml_changes")
    result = clauses(pair.table.merge(source, on)).execute()
    pair.plain_spark(f"MERGE INTO {{t}} t USING dml_changes s ON {on} {iceberg}")
    pair.assert_same(result, **numbers)
    return result


def update_or_insert(operation: Merge) -> Merge:
    return operation.when_matched_update_all().when_not_matched_insert_all()


# --- every clause, in every kind of table


@pytest.mark.parametrize(("kind", "partitioned_by"), list(zip([*KINDS, KINDS[0]], PARTITIONS, strict=True)), ids=str)
def test_merge_gives_what_iceberg_sql_gives(spark: SparkSession, kind: Kind, partitioned_by: str) -> None:
    with numbered_copies(spark, partitioned_by, kind) as pair:
        pair.ids_compared = 20
        merge(
            pair,
            changes(spark),
            "t.id = s.id",
            lambda m: m.when_matched_delete("s.op = 'D'").when_matched_update_all().when_not_matched_insert_all(),
            f"WHEN MATCHED AND s.op = 'D' THEN DELETE {ALL}",
            rows_deleted=1,
            rows_updated=4,
            rows_inserted=6,
        )
        merge(
            pair,
            changes(spark, 0, 40),
            "t.id = s.id AND t.a < s.b",
            lambda m: (
                m.when_matched_update({"a": "t.a + s.b", "p.y": "'first'"}, "s.op = 'D'")
                .when_matched_delete("t.id > 21")
                .when_matched_update({"region": "'moved'"}, "t.id % 2 = 0")
                .when_not_matched_insert({"id": "s.id + 1000", "region": "'few'"}, "s.op = 'D' AND s.id > 30")
                .when_not_matched_insert({"ID": "s.id + 2000", "b": "s.b"}, "s.id > 37")
                .when_not_matched_by_source_delete("t.id < 5")
                .when_not_matched_by_source_update({"b": "t.b * 2"}, "t.id % 2 = 1")
            ),
            "WHEN MATCHED AND s.op = 'D' THEN UPDATE SET a = t.a + s.b, p = struct(t.p.x, 'first' AS y) "
            "WHEN MATCHED AND t.id > 21 THEN DELETE "
            "WHEN MATCHED AND t.id % 2 = 0 THEN UPDATE SET region = 'moved' "
            "WHEN NOT MATCHED AND s.op = 'D' AND s.id > 30 THEN INSERT (id, region) VALUES (s.id + 1000, 'few') "
            "WHEN NOT MATCHED AND s.id > 37 THEN INSERT (id, b) VALUES (s.id + 2000, s.b) "
            "WHEN NOT MATCHED BY SOURCE AND t.id < 5 THEN DELETE "
            "WHEN NOT MATCHED BY SOURCE AND t.id % 2 = 1 THEN UPDATE SET b = t.b * 2",
        )
        merge(
            pair,
            changes(spark, 10, 12),
            "t.id = s.id",
            lambda m: m.when_not_matched_by_source_delete(),
            "WHEN NOT MATCHED BY SOURCE THEN DELETE",
        )


# --- which rows match


@pytest.fixture(scope="module")
def pair(spark: SparkSession) -> Iterator[Copies]:
    """Tables that the tests below change one after the other: each compares the whole state."""
    with numbered_copies(spark) as made:
        made.ids_compared = 20
        yield made


def test_a_match_is_by_names_by_sql_or_by_a_column(pair: Copies) -> None:
    source = changes(pair.spark, 5, 8)
    source.createOrReplaceTempView("dml_changes")
    table = pair.table
    ways: list[str | list[str] | Column] = [
        "ID",
        ["id", "ts"],
        "t.id = s.id AND s.ts = t.ts",
        F.col("t.id") == F.col("s.id"),
    ]
    for on in ways:
        result = table.merge(source, on).when_matched_update({"a": "t.a + s.b"}).execute()
        pair.plain_spark(
            "MERGE INTO {t} t USING dml_changes s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = t.a + s.b"
        )
        assert result.rows_updated == 3
    pair.assert_same()
    named = table.merge(source, "target.id = source.id", target_alias="target", source_alias="source")
    named.when_matched_update({"b": F.col("source.b") + F.col("target.a")}, F.col("source.op") == "U").execute()
    pair.plain_spark(
        "MERGE INTO {t} t USING dml_changes s ON t.id = s.id WHEN MATCHED AND s.op = 'U' THEN UPDATE SET b = s.b + t.a"
    )
    pair.assert_same()


@pytest.mark.parametrize("names", [("the table", "a.source"), ("t`t", "s.s s"), ("select", "from")])
def test_aliases_may_have_any_name(pair: Copies, names: tuple[str, str]) -> None:
    source = changes(pair.spark, 18, 23)
    source.createOrReplaceTempView("dml_changes")
    target, origin = (f"`{name.replace('`', '``')}`" for name in names)
    merge = pair.table.merge(source, f"{target}.id = {origin}.id", target_alias=names[0], source_alias=names[1])
    merge.when_matched_update({"a": f"{target}.a + {origin}.b", "p": f"{origin}.p"}, f"{origin}.op = 'U'")
    assert not merge.plan().to_dict()["files"].endswith(" 0 pruned")
    merge.when_matched_update_all().when_not_matched_insert_all(f"{origin}.id = 22").execute()
    pair.plain_spark(
        f"MERGE INTO {{t}} {target} USING dml_changes {origin} ON {target}.id = {origin}.id "
        f"WHEN MATCHED AND {origin}.op = 'U' THEN UPDATE SET a = {target}.a + {origin}.b, p = {origin}.p "
        f"WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED AND {origin}.id = 22 THEN INSERT *"
    )
    by_name = pair.table.merge(source, "id", target_alias=names[0], source_alias=names[1]).when_matched_update(
        {"b": f"{target}.b + 1"}
    )
    by_name.execute()
    pair.plain_spark("MERGE INTO {t} t USING dml_changes s ON t.id = s.id WHEN MATCHED THEN UPDATE SET b = t.b + 1")
    pair.assert_same()


@pytest.mark.parametrize(
    "on",
    [
        "t.id = s.id OR t.id = s.id + 30",
        "t.id + 1 = s.id",
        "t.id <=> s.id AND t.region LIKE 'r%'",
        "t.p.x = s.p.x",
        "t.id = s.id AND t.a IN (5, 6)",
        "s.b = t.p.x AND NOT t.id = 7",
        "false",
    ],
)
def test_a_condition_may_be_anything(pair: Copies, on: str) -> None:
    merge(
        pair,
        changes(pair.spark, 4, 9),
        on,
        lambda m: m.when_matched_update({"a": "coalesce(t.a, 0) + 1"}),
        "WHEN MATCHED THEN UPDATE SET a = coalesce(t.a, 0) + 1",
    )


def test_a_null_key_matches_nothing(spark: SparkSession) -> None:
    with copies(spark, "k bigint, s string, v int") as pair:
        pair.both("INSERT INTO {t} VALUES (null, null, 0), (1, 'a', 1), (2, null, 2)")
        pair.ids_compared = 3
        source = spark.sql("SELECT * FROM VALUES (cast(null AS bigint), 'n', 10), (1L, 'a', 11)").toDF("k", "s", "v")
        merge(pair, source, "t.k = s.k", update_or_insert, ALL, rows_updated=1, rows_inserted=1)
        only_nulls = source.where("k IS NULL")
        merge(pair, only_nulls, "t.k = s.k", update_or_insert, ALL, rows_updated=0, rows_inserted=1)
        merge(pair, source.limit(0), "t.k = s.k", update_or_insert, ALL, rows_updated=0, rows_inserted=0)
        result = merge(
            pair,
            source.limit(0),
            "t.k = s.k",
            lambda m: m.when_not_matched_by_source_update({"v": "t.v + 100"}),
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = t.v + 100",
        )
        assert result.rows_updated == spark.table(pair.ours).count()


NEW_YORK = "America/New_York"
KEYS = {
    "string": ["'it''s'", r"'back\\slash\''", "''", "'ünï €'", "'line\\nbreak'", "'%_'", "repeat('long', 20)"],
    "date": ["DATE'0001-01-01'", "DATE'1969-12-31'", "DATE'2024-02-29'", "DATE'9999-12-31'"],
    # The last two are the same hour of the clock, before and after it is set back in New York.
    "timestamp": [
        "TIMESTAMP'0002-01-01 00:00:00Z'",
        "TIMESTAMP'1883-11-18 17:00:00.000001Z'",
        "TIMESTAMP'2024-11-03 05:30:00.5Z'",
        "TIMESTAMP'2024-11-03 06:30:00.5Z'",
    ],
    "timestamp_ntz": ["TIMESTAMP_NTZ'1900-01-01 00:00:00.000001'", "TIMESTAMP_NTZ'2024-03-10 02:30:00'"],
    "decimal(20, 4)": ["-1.0001BD", "12345678901234.5678BD", "0BD"],
    "int": ["-2147483648", "0", "2147483647"],
    "bigint": ["-9223372036854775808L", "0L", "9223372036854775807L"],
    "double": ["double('NaN')", "-0.0D", "double('-Infinity')", "1.5D"],
    "boolean": ["true", "false"],
    "binary": ["X''", "X'00FF'"],
}


@pytest.mark.parametrize("kind", KEYS)
def test_no_row_is_lost_to_the_range_of_the_keys(spark: SparkSession, kind: str) -> None:
    """Each key is in a file of its own, so that a range which is too narrow skips a file that matters."""
    values = KEYS[kind]
    with copies(spark, f"k {kind}, v int, file int", "file") as pair:
        listed = ", ".join(f"({value}, {index})" for index, value in enumerate(["null", *values]))
        pair.append(spark.sql(f"SELECT cast(k AS {kind}) k, 0 v, file FROM VALUES {listed} x(k, file)"))
        pair.ids_compared = 0
        try:
            spark.conf.set("spark.sql.session.timeZone", NEW_YORK)
            for index in (1, len(values)):
                source = spark.sql(f"SELECT cast({values[index - 1]} AS {kind}) k, {index} v, {index} file")
                merge(pair, source, "t.k = s.k", update_or_insert, ALL, rows_updated=1, rows_inserted=0)
            listed = ", ".join(f"({value}, {index + 1})" for index, value in enumerate(values[:-1]))
            source = spark.sql(f"SELECT cast(k AS {kind}) k, 100 v, file FROM VALUES {listed} x(k, file)")
            merge(pair, source, "t.k = s.k", update_or_insert, ALL, rows_updated=len(values) - 1, rows_inserted=0)
        finally:
            spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_keys_of_other_types_are_compared_as_spark_does(pair: Copies) -> None:
    for key in ("cast(id AS int)", "cast(id AS string)", "cast(id AS decimal(10, 1))", "cast(id AS double)"):
        source = pair.spark.range(3, 6).selectExpr(f"{key} AS k")
        merge(
            pair,
            source,
            "t.id = s.k",
            lambda m: m.when_matched_update({"a": "t.a + 1"}),
            "WHEN MATCHED THEN UPDATE SET a = t.a + 1",
            rows_updated=3,
        )


# --- a row that is matched twice


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_a_row_matched_twice_is_an_error_and_changes_nothing(pair: Copies, mode: rd.Mode) -> None:
    source = changes(pair.spark, 3, 8)
    twice = source.unionAll(source.limit(1))
    before, files = head(pair.table), stored_files(pair.table)
    for operation in (
        update_or_insert(pair.table.merge(twice, "id", mode=mode)),
        pair.table.merge(twice, "id", mode=mode).when_matched_update({"a": "1"}, "s.id > 100"),
        pair.table.merge(twice, "id", mode=mode).when_matched_delete("s.id = 3"),
        pair.table.merge(twice, "id", mode=mode).when_matched_delete("s.id = 7").when_matched_update({"a": "1"}),
    ):
        with pytest.raises(rd.InputError, match="matched by more than one row of the source"):
            operation.execute()
    assert (head(pair.table), stored_files(pair.table)) == (before, files)


@pytest.mark.parametrize("kind", KINDS[1:3], ids=str)
def test_a_lone_delete_without_a_condition_may_match_twice(spark: SparkSession, kind: Kind) -> None:
    with numbered_copies(spark, "", kind) as pair:
        source = changes(spark, 3, 6).unionAll(changes(spark, 3, 5))
        pair.ids_compared = 20
        merge(
            pair,
            source.unionAll(changes(spark, 30, 31)),
            "t.id = s.id",
            lambda m: m.when_matched_delete().when_not_matched_insert_all(),
            "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *",
            rows_deleted=3,
            rows_inserted=1,
        )
        insert_only = "WHEN NOT MATCHED THEN INSERT *"
        merge(pair, source, "t.id = s.id", lambda m: m.when_not_matched_insert_all(), insert_only, rows_inserted=5)


# --- sources


@pytest.mark.parametrize("kind", KINDS[:2], ids=str)
def test_a_table_may_be_merged_into_itself(spark: SparkSession, kind: Kind) -> None:
    with numbered_copies(spark, "region", kind) as pair:
        pair.ids_compared = 20
        for through in ("Iceberg's reader", "rowdelta"):
            live = spark.table(pair.ours) if through == "Iceberg's reader" else pair.table.read()
            source = live.where("id < 12").withColumn("id", F.col("id") + 5)
            update_or_insert(pair.table.merge(source, "id")).execute()
            query = "SELECT id + 5 AS id, region, a, b, p, ts FROM {t} WHERE id < 12"
            pair.plain_spark(f"MERGE INTO {{t}} t USING ({query}) s ON t.id = s.id {ALL}")
            pair.assert_same()
        source = spark.sql(f"SELECT *, _row_id, _file, _pos FROM {pair.ours}")
        result = pair.table.merge(source, "id").when_matched_update({"a": "s.a + 1"}).execute()
        pair.plain_spark("UPDATE {t} SET a = a + 1")
        pair.assert_same(result, rows_updated=spark.table(pair.ours).count())


def test_a_source_that_changes_whenever_it_is_computed_is_computed_once(spark: SparkSession) -> None:
    @F.udf("bigint")
    def anything() -> int:
        return random.randrange(40)

    with numbered_copies(spark) as pair:
        drawn = spark.range(0, 60, 1, 3).select(anything.asNondeterministic()().alias("id")).distinct()
        source = drawn.withColumn("v", (F.rand() * 1000).cast("int"))
        operation = pair.table.merge(source, "id").when_matched_update({"a": "s.v"})
        result = operation.when_not_matched_insert({"id": "s.id", "b": "s.v"}).execute()
        ids = [row.id for row in spark.table(pair.ours).collect()]
        assert len(ids) == len(set(ids)) == 20 + (result.rows_inserted or 0)
        assert set(range(20)) <= set(ids)
        summary = spark.table(pair.ours).where("id >= 20 AND b IS NULL").count()
        assert (summary, bool(result.rows_updated)) == (0, True)


@pytest.mark.parametrize("kind", KINDS[1:3], ids=str)
def test_an_empty_table_gets_only_the_inserts(spark: SparkSession, kind: Kind) -> None:
    with copies(spark, COLUMNS, "region", kind) as pair:
        pair.ids_compared = 0
        by_source = pair.table.merge(changes(spark), "id").when_not_matched_by_source_delete()
        assert by_source.when_matched_update_all().execute().snapshot_id is None
        assert "none: the table is empty" in str(by_source.plan())
        assert update_or_insert(pair.table.merge(changes(spark).limit(0), "id")).execute().snapshot_id is None
        merge(pair, changes(spark), "t.id = s.id", update_or_insert, ALL, rows_inserted=11)
        merge(pair, changes(spark), "t.id = s.id", update_or_insert, ALL, rows_updated=11, rows_inserted=0)


# --- values


def test_structs_are_stored_by_the_names_of_their_fields(spark: SparkSession) -> None:
    with copies(spark, "id bigint, p struct<x: int, y: int>, l array<struct<x: int, y: int>>") as pair:
        pair.both("INSERT INTO {t} SELECT id, named_struct('x', 1, 'y', 2), array() FROM range(2)")
        pair.ids_compared = 2
        other = "named_struct('y', 10, 'X', 20)"
        source = spark.sql(f"SELECT id + 1 AS id, {other} p, array({other}, null) l FROM range(2)")
        merge(pair, source, "t.id = s.id", update_or_insert, ALL, rows_updated=1, rows_inserted=1)
        assert_same_rows(spark.table(pair.ours).where("id = 2").select("p.x", "p.y"), [(20, 10)])


def test_special_names_merge_too(spark: SparkSession) -> None:
    with copies(spark, "`i d` bigint, `a.b` int, `t` struct<`x.y`: int>, `s` int") as pair:
        pair.both("INSERT INTO {t} SELECT id, 1, named_struct('x.y', 1), 1 FROM range(2)")
        pair.ids_compared = 2
        source = spark.sql("SELECT id + 1 AS `I D`, 5 `a.b`, named_struct('x.y', 7) `t`, 8 s FROM range(2)")
        merge(pair, source, "t.`i d` = s.`i d`", update_or_insert, ALL, rows_updated=1, rows_inserted=1)
        again = pair.table.merge(source, "i d").when_matched_update({"a.b": "s.`a.b` + t.`a.b`", "t.x.y": "9"})
        again.execute()
        pair.plain_spark(
            "MERGE INTO {t} t USING dml_changes s ON t.`i d` = s.`i d` "
            "WHEN MATCHED THEN UPDATE SET `a.b` = s.`a.b` + t.`a.b`, t.`t`.`x.y` = 9"
        )
        pair.assert_same()


REFUSED: list[tuple[str, Callable[[Merge], Merge]]] = [
    ("column 'id' is required", lambda m: m.when_not_matched_insert({"a": "1"})),
    ("column 'id' is required", lambda m: m.when_matched_update({"id": "if(s.id > 0, null, s.id)"})),
    ("cannot be stored in column 'a'", lambda m: m.when_matched_update({"a": "s.op"})),
    ("no column 'zz'", lambda m: m.when_matched_update({"zz": "1"})),
    ("an insert cannot set the field", lambda m: m.when_not_matched_insert({"id": "s.id", "p.x": "1"})),
    ("the merge has no clause", lambda m: m),
    ("are never reached", lambda m: m.when_matched_delete().when_matched_update_all()),
]


@pytest.mark.parametrize(("message", "clauses"), REFUSED)
def test_wrong_clauses_are_refused_and_change_nothing(
    pair: Copies, message: str, clauses: Callable[[Merge], Merge]
) -> None:
    before, files = head(pair.table), stored_files(pair.table)
    with pytest.raises(rd.InputError, match=message):
        clauses(pair.table.merge(changes(pair.spark, 3, 30), "id")).execute()
    assert (head(pair.table), stored_files(pair.table)) == (before, files)


def test_a_source_without_the_required_columns_is_refused(pair: Copies) -> None:
    source = changes(pair.spark).drop("ts")
    with pytest.raises(rd.InputError, match="the source has no column ts"):
        update_or_insert(pair.table.merge(source, "id")).execute()
    with pytest.raises(rd.InputError, match="the source has no column 'ts'"):
        pair.table.merge(source, ["id", "ts"])
    with pytest.raises(rd.InputError, match="the source must be a DataFrame of Spark, not list"):
        pair.table.merge(cast("Any", []), "id")
    with pytest.raises(rd.InputError, match="a merge needs a condition"):
        pair.table.merge(source, [])
    with pytest.raises(rd.InputError, match="nowhere"):
        pair.table.merge(source, "t.id = s.nowhere").when_matched_delete().execute()
    with pytest.raises(rd.InputError, match="nowhere"):
        pair.table.merge(source, "id").when_matched_delete("s.nowhere = 1").execute()


# --- tables with a history


@pytest.mark.parametrize("kind", KINDS[:3], ids=str)
def test_a_table_whose_specs_and_schema_changed_is_merged_into(spark: SparkSession, kind: Kind) -> None:
    with numbered_copies(spark, "region", kind) as pair:
        pair.ids_compared = 20
        for change in (
            "REPLACE PARTITION FIELD region WITH bucket(3, id)",
            "RENAME COLUMN region TO place",
            "DROP COLUMN a",
            "ADD COLUMN a string FIRST",
            "ALTER COLUMN b TYPE bigint",
        ):
            pair.both(f"ALTER TABLE {{t}} {change}")
        source = numbered(spark, 15, 30).withColumnRenamed("region", "place").withColumn("a", F.lit("text"))
        merge(pair, source, "t.id = s.id", update_or_insert, ALL, rows_updated=5, rows_inserted=10)
        merge(
            pair,
            source.where("id % 2 = 0"),
            "t.id = s.id AND t.place = s.place",
            lambda m: (
                m.when_matched_delete("s.id > 25")
                .when_matched_update({"a": "'again'", "b": "s.b + 3000000000"})
                .when_not_matched_by_source_update({"place": "'else'"}, "t.id < 4")
            ),
            "WHEN MATCHED AND s.id > 25 THEN DELETE WHEN MATCHED THEN UPDATE SET a = 'again', b = s.b + 3000000000 "
            "WHEN NOT MATCHED BY SOURCE AND t.id < 4 THEN UPDATE SET place = 'else'",
        )


def test_merge_after_an_upgrade_keeps_old_deletes_and_gives_every_row_an_id(spark: SparkSession) -> None:
    with numbered_copies(spark, "", Kind(2, "merge-on-read")) as pair:
        pair.both("DELETE FROM {t} WHERE id IN (3, 16)")
        pair.both("ALTER TABLE {t} SET TBLPROPERTIES ('format-version' = '3')")
        pair.ids_compared = 0
        merge(pair, changes(spark), "t.id = s.id", update_or_insert, ALL, rows_updated=4, rows_inserted=7)
        ids = [row[0] for row in spark.sql(f"SELECT _row_id FROM {pair.ours}").collect()]
        assert len(ids) == len(set(ids)) == 25
        assert None not in ids


# --- plans


def test_a_plan_names_mode_clauses_and_the_files_in_the_range_of_the_keys(spark: SparkSession) -> None:
    with numbered_copies(spark) as pair:
        before, files = head(pair.table), stored_files(pair.table)
        source = changes(spark, 15, 30)
        plan = update_or_insert(pair.table.merge(source, "id", isolation="snapshot")).plan()
        steps = plan.to_dict()
        assert steps["files"] == "1 to scan, 1 pruned"
        assert steps["mode"] == "merge-on-read (table property write.merge.mode)"
        assert steps["isolation"] == "snapshot"
        assert "15" in steps["filter"]
        assert steps["when"] == "matched: update all; not matched: insert all"
        every = pair.table.merge(source, "id").when_not_matched_by_source_delete().plan().to_dict()
        assert every["files"] == "2 to scan, 0 pruned"
        by_time = pair.table.merge(source, "ts").when_matched_delete().plan().to_dict()
        assert by_time["files"] == "1 to scan, 1 pruned"
        nothing = pair.table.merge(source.limit(0), "id").when_matched_delete().plan().to_dict()
        assert nothing["files"] == "0 to scan, 2 pruned"
        assert (head(pair.table), stored_files(pair.table)) == (before, files)
