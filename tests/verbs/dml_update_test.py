"""`t.update()`, compared whole-table with the same UPDATE by Iceberg SQL on a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812

import rowdelta as rd
from tests.support.copies import KINDS, Copies, Kind, copies, evolve, numbered, numbered_copies
from tests.support.oracle import assert_same_rows
from tests.support.settings import settings
from tests.support.tables import create, head, stored_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

PARTITIONS = ["region", "bucket(2, id), truncate(1, region)", "years(ts)", "region", "", "years(ts)"]


def update(pair: Copies, values: Mapping[str, str], where: str | None = None, *, rows: int) -> None:
    """Runs the same update on both tables; `rows` is the number of rows that it must change."""
    operation = pair.table.update()
    for column, value in values.items():
        operation.set(column, value)
    if where is not None:
        operation.where(where)
    result = operation.execute()
    listed = ", ".join(f"{column} = {value}" for column, value in values.items())
    pair.plain_spark(f"UPDATE {{t}} SET {listed}" + ("" if where is None else f" WHERE {where}"))
    pair.assert_same(result, rows_updated=rows, rows_deleted=0, rows_inserted=0)
    assert (result.snapshot_id is None) == (rows == 0)


# --- every kind of update, in every kind of table, before and after its partitions and columns change


def everything(pair: Copies) -> None:
    """The updates of the list; 20 rows, whose columns may have been renamed since."""
    update(pair, {"a": "b", "b": "a", "p.y": "concat(p.y, '!')"}, "id % 4 = 0", rows=5)  # swap, nested, many files
    update(pair, {"region": "'zz'", "ts": "ts + INTERVAL 3 YEARS"}, "id < 3 OR id = 15", rows=4)  # moves
    update(
        pair, {"a": "a * 2 + length(region)"}, "region IN ('zz', 'r1') AND id % 2 = 1", rows=4
    )  # computed from itself
    update(pair, {"b": "0"}, "id = 12345", rows=0)
    update(pair, {"b": "coalesce(b, -1) + 1", "p": "named_struct('x', id, 'y', region)"}, rows=20)  # full table
    assert pair.table.read("b > 0").count() == pair.spark.table(pair.theirs).where("b > 0").count()


@pytest.mark.parametrize(("kind", "partitioned_by"), list(zip([*KINDS, *KINDS[:2]], PARTITIONS, strict=True)), ids=str)
def test_update_gives_what_iceberg_sql_gives(spark: SparkSession, kind: Kind, partitioned_by: str) -> None:
    with numbered_copies(spark, partitioned_by, kind) as pair:
        everything(pair)
        evolve(pair, partitioned_by.split(", truncate", maxsplit=1)[0])
        everything(pair)


@pytest.mark.parametrize("kind", KINDS[1:3], ids=str)
def test_update_of_an_empty_table_makes_no_snapshot(spark: SparkSession, kind: Kind) -> None:
    with copies(spark, "id bigint, a int", "id", kind) as pair:
        update(pair, {"a": "1"}, rows=0)
        assert head(pair.table) is None
        pair.append(spark.range(3).selectExpr("id", "1 a"))
        pair.both("DELETE FROM {t}")  # empty, but with a snapshot
        update(pair, {"a": "1"}, "id < 3", rows=0)
        assert str(pair.table.update().set("a", "1").plan()).startswith(f"update {pair.ours}")


def test_an_updated_row_moves_to_the_partition_of_its_new_value(spark: SparkSession) -> None:
    with numbered_copies(spark, "region") as pair:
        result = pair.table.update().set("region", "'new'").where("region IN ('r0', 'r1')").execute()
        files = spark.table(f"{pair.ours}.files").where("content = 0 AND partition.region = 'new'")
        assert (files.selectExpr("sum(record_count)").collect()[0][0], result.rows_updated) == (12, 12)
        assert result.data_files_added == files.count()
        deletes = spark.table(f"{pair.ours}.delete_files").select("partition.region").distinct()
        assert_same_rows(deletes, [("r0",), ("r1",)])


# --- values and conditions


@pytest.fixture(scope="module")
def pair(spark: SparkSession) -> Iterator[Copies]:
    """Tables that the tests below change one after the other: each compares the whole state."""
    with numbered_copies(spark, "region") as made:
        yield made


def test_values_and_conditions_may_be_columns(pair: Copies) -> None:
    operation = pair.table.update().set("a", F.col("a") + F.lit(1)).set("p.y", F.upper(F.col("p.y")))
    operation.where(F.col("id") > 3).filter("id < 9").where(F.col("id") != 5).execute()
    pair.plain_spark("UPDATE {t} SET a = a + 1, p.y = upper(p.y) WHERE id > 3 AND id < 9 AND id != 5")
    pair.assert_same()


@pytest.mark.parametrize(
    "condition",
    [
        "id IN (SELECT k FROM picked)",
        "id NOT IN (SELECT k FROM picked)",
        "EXISTS (SELECT 1 FROM picked WHERE k = id + 1)",
        "id > (SELECT avg(k) FROM picked)",
        "o.id < 12 AND NOT EXISTS (SELECT 1 FROM picked o2 WHERE o2.k = o.id)",
        "o.id = (SELECT max(k) FROM picked WHERE k <= o.id)",
    ],
)
def test_a_condition_may_have_a_subquery(pair: Copies, condition: str) -> None:
    pair.spark.sql("SELECT * FROM VALUES (3L), (8L), (15L)").toDF("k").createOrReplaceTempView("picked")
    result = pair.table.update(alias="o").set("a", "o.a + 1").where(condition).execute()
    pair.plain_spark(f"UPDATE {{t}} AS o SET a = o.a + 1 WHERE {condition}")
    pair.assert_same()
    assert result.rows_updated


def test_a_value_may_be_a_scalar_subquery(pair: Copies) -> None:
    pair.spark.sql("SELECT 41 v").createOrReplaceTempView("answer")
    pair.table.update().set("a", "(SELECT max(v) + 1 FROM answer)").where("id < 2").execute()
    pair.plain_spark("UPDATE {t} SET a = (SELECT max(v) + 1 FROM answer) WHERE id < 2")
    pair.assert_same()
    correlated = "(SELECT max(v) FROM answer WHERE v > `a row`.id) + `a row`.a"
    pair.table.update(alias="a row").set("a", correlated).set("p.x", "`a row`.p.x + 1").where(
        "`a row`.id < 4"
    ).execute()
    # Merge-on-read of Iceberg SQL cannot have such a subquery (Spark 4.1), so the copy gets its value.
    pair.plain_spark("UPDATE {t} SET a = 41 + a, p.x = p.x + 1 WHERE id < 4")
    pair.assert_same()


@pytest.mark.parametrize(
    "where",
    [
        "b IS NULL",
        "NOT (b = 100)",
        "b <=> null",
        "b > 500 OR region IS NULL",
        "p.x BETWEEN 3 AND 5",
        "ts < '2003-01-01'",
    ],
)
def test_nulls_in_a_condition_are_those_of_sql(pair: Copies, where: str) -> None:
    result = pair.table.update().set("a", "a + 1").where(where).execute()
    pair.plain_spark(f"UPDATE {{t}} SET a = a + 1 WHERE {where}")
    pair.assert_same()
    assert result.rows_updated


def test_a_condition_that_is_random_is_decided_once_for_each_row(spark: SparkSession, table_name: str) -> None:
    for mode in ("merge-on-read", "copy-on-write"):
        table = create(spark, f"{table_name}_{mode[:4]}", "id bigint, a int")
        spark.range(0, 200, 1, 1).selectExpr("id", "0 a").writeTo(table.name).append()
        result = table.update(mode=mode).set("a", "1").where("rand() < 0.5").execute()
        assert result.rows_updated in range(1, 200)
        assert_same_rows(table.read(columns=["id"]), [(i,) for i in range(200)])
        assert table.read("a = 1").count() == result.rows_updated
        spark.sql(f"DROP TABLE {table.name} PURGE")


def test_a_null_struct_gets_its_field_as_in_iceberg_sql(spark: SparkSession) -> None:
    with copies(spark, "id bigint, p struct<x: int, q: struct<y: int, z: string>>") as pair:
        text = "SELECT 1L, named_struct('x', 1, 'q', named_struct('y', 1, 'z', 'z')) UNION ALL SELECT 2L, null"
        pair.both(f"INSERT INTO {{t}} {text} UNION ALL SELECT 3L, named_struct('x', 1, 'q', null)")
        update(pair, {"p.q.z": "'new'"}, "id = 1", rows=1)
        update(pair, {"p.x": "id", "p.q.y": "7"}, rows=3)
        update(pair, {"p.q": "null"}, "id = 1", rows=1)
        update(pair, {"p": "null"}, "id = 3", rows=1)


def test_a_struct_is_stored_by_the_names_of_its_fields(spark: SparkSession) -> None:
    with copies(spark, "id bigint, p struct<x: int, y: int>, l array<struct<x: int, y: int>>") as pair:
        pair.both("INSERT INTO {t} SELECT 1L, named_struct('x', 1, 'y', 2), array(named_struct('x', 1, 'y', 2))")
        update(pair, {"p": "named_struct('y', 10, 'x', 20)"}, rows=1)
        update(pair, {"l": "array(named_struct('y', 10, 'x', 20))"}, rows=1)
        for wrong in ("named_struct('x', 1)", "named_struct('x', 1, 'y', 2, 'z', 3)", "named_struct('q', 1, 'r', 2)"):
            with pytest.raises((rd.InputError, PySparkException)):
                pair.table.update().set("p", wrong).execute()
        pair.assert_same()


TYPES = {
    "day": ("date", "DATE'2024-02-29'", "date_add(day, 1)"),
    "ts": ("timestamp", "TIMESTAMP'2024-11-03 05:30:00.123456Z'", "ts + INTERVAL 1 HOUR"),
    "ntz": ("timestamp_ntz", "TIMESTAMP_NTZ'1900-01-01 00:00:00.000001'", "ntz - INTERVAL 1 DAY"),
    "price": ("decimal(20, 4)", "12345678901234.5678BD", "price * 2"),
    "small": ("decimal(5, 2)", "1.25BD", "small + 1.005BD"),
    "tags": ("array<string>", "array('a', null, '')", "array_append(tags, 'x')"),
    "props": ("map<string, int>", "map('k', 1, 'n', null)", "map_concat(props, map('new', 2))"),
    "raw": ("binary", "X'00FF10'", "concat(raw, X'01')"),
    "f": ("float", "float('NaN')", "f + 1"),
    "d": ("double", "-0.0D", "d / 3"),
    "flag": ("boolean", "true", "NOT flag"),
    "nested": (
        "array<struct<a: int, m: map<string, array<int>>>>",
        "array(struct(1, map('k', array(1, 2))))",
        "nested",
    ),
}


@pytest.mark.parametrize("kind", KINDS[:2], ids=str)
def test_every_type_can_be_kept_and_set(spark: SparkSession, kind: Kind) -> None:
    columns = ", ".join(f"{name} {sql}" for name, (sql, _, _) in TYPES.items())
    with copies(spark, f"id bigint, {columns}", "day, price, ntz", kind) as pair:
        values = ", ".join(value for _, value, _ in TYPES.values())
        nulls = ", ".join("null" for _ in TYPES)
        pair.both(f"INSERT INTO {{t}} SELECT id, {values} FROM range(2) UNION ALL SELECT 2L, {nulls}")
        update(pair, {"id": "id + 10"}, "id > 0", rows=2)
        try:
            spark.conf.set("spark.sql.session.timeZone", "America/New_York")
            update(pair, {name: value for name, (_, _, value) in TYPES.items()}, rows=3)
            clock = "TIMESTAMP'2024-11-03 01:30:00.123456'"  # twice on that day; Spark means the first
            update(pair, {"ts": f"{clock} - INTERVAL 1 YEAR"}, f"ts > {clock}", rows=2)
        finally:
            spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_update_of_columns_with_unusual_names(spark: SparkSession) -> None:
    columns = "`i d` bigint, `a.b` int, `sel``ect` string, `ü` int, `T` struct<`x.y`: int, y: int>, `1` int"
    with copies(spark, columns, "`sel``ect`") as pair:
        pair.both("INSERT INTO {t} SELECT id, 1, 'x', 2, named_struct('x.y', 3, 'y', 4), 5 FROM range(3)")
        update(pair, {"`a.b`": "`a.b` + 1", "`sel``ect`": "upper(`sel``ect`)"}, "`i d` = 1", rows=1)
        update(pair, {"T.`x.y`": "`1` + T.y", "`1`": "`ü`", "T.y": "`a.b`"}, "`a.b` = 2", rows=1)
        bare = pair.table.update().set("a.b", "7").set("sel`ect", "'y'").set("I D", F.col("`i d`") + 1)
        bare.set("T.x.y", "8").execute()  # where nothing else can be meant, a name may stand as it is
        pair.plain_spark("UPDATE {t} SET `a.b` = 7, `sel``ect` = 'y', `i d` = `i d` + 1, T.`x.y` = 8")
        pair.assert_same()


def test_backticks_say_which_part_of_a_name_has_the_dot(spark: SparkSession) -> None:
    columns = "id bigint, `a.c` int, a struct<b: int, `c d`: int, `e.f`: int, e: struct<g: int, `h.i`: int>>"
    with copies(spark, columns) as pair:
        struct = "named_struct('b', 2, 'c d', 3, 'e.f', 4, 'e', named_struct('g', 5, 'h.i', 6))"
        pair.both(f"INSERT INTO {{t}} SELECT id, 1, {struct} FROM range(3)")
        update(pair, {"`a.c`": "id + `a.c`", "a.b": "a.b * 10"}, "id > 0", rows=2)
        update(pair, {"`a`.`c d`": "-a.`c d`", "a.`e.f`": "40", "a.e.`h.i`": "50"}, "`a.c` < 3", rows=2)
        update(pair, {"A.E.G": "a.`e.f`", "`ID`": "id + 10"}, rows=3)
        pair.table.update().set("a.c d", "7").set("a.e.h.i", "8").execute()
        pair.plain_spark("UPDATE {t} SET a.`c d` = 7, a.e.`h.i` = 8")
        pair.assert_same()
        for name in ("`a.c", "a.`e.g`", "`a.e.f`", "a..b", "`a`.`c`"):
            with pytest.raises(rd.InputError, match="no column"):
                pair.table.update().set(name, "1").execute()
        with pytest.raises(rd.InputError, match="set twice"):
            pair.table.update().set("a.b", "1").set("`a`.b", "2").execute()


# --- refusals


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("id", "cast(null AS bigint)", "column 'id' is required, but a row would get null"),
        ("id", "if(id = 3, null, id)", "column 'id' is required, but a row would get null"),
        ("a", "'x'", "string cannot be stored in column 'a' of type int"),
        ("a", "DATE'2020-01-01'", "date cannot be stored in column 'a' of type int"),
        ("p", "1", "int cannot be stored in column 'p'"),
        ("aa", "1", "no column 'aa'"),
        ("p.z", "1", "no column 'p.z'"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_and_changes_nothing(
    pair: Copies, column: str, value: str, message: str
) -> None:
    before, files = head(pair.table), stored_files(pair.table)
    with pytest.raises(rd.InputError) as error:
        pair.table.update().set(column, value).execute()
    assert message in error.value.message
    with pytest.raises(Exception, match=r"."):
        pair.plain_spark(f"UPDATE {{t}} SET {column} = {value}")
    assert (head(pair.table), stored_files(pair.table)) == (before, files)


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_overflow_is_an_error_whether_or_not_the_session_is_ansi(pair: Copies, mode: rd.Mode) -> None:
    before, files = head(pair.table), stored_files(pair.table)
    for ansi in ("true", "false"):
        with (
            settings(pair.spark, {"spark.sql.ansi.enabled": ansi}),
            pytest.raises(Exception, match=r"CAST_OVERFLOW|overflow|out of range"),
        ):
            pair.table.update(mode=mode).set("a", "3000000000L + id").execute()
    assert (head(pair.table), stored_files(pair.table)) == (before, files)


def test_a_required_field_of_a_struct_is_guarded(spark: SparkSession) -> None:
    with copies(spark, "id bigint, p struct<x: int NOT NULL, y: int>") as pair:
        pair.both("INSERT INTO {t} SELECT 1L, named_struct('x', 1, 'y', 2)")
        with pytest.raises(rd.InputError, match=r"column 'p\.x' is required, but a row would get null"):
            pair.table.update().set("p.x", "cast(null AS int)").execute()
        with pytest.raises((rd.InputError, PySparkException)):
            pair.table.update().set("p", "named_struct('x', cast(null AS int), 'y', 3)").execute()
        pair.assert_same()
        update(pair, {"p": "named_struct('x', 5, 'y', null)"}, rows=1)


def test_invalid_arguments_are_refused_before_anything_is_read(pair: Copies) -> None:
    table = pair.table
    with pytest.raises(rd.InputError, match="nothing is set"):
        table.update().where("id = 1").execute()
    with pytest.raises(rd.InputError, match="column 'a' is set twice"):
        table.update().set("a", "1").set("a", "2")
    with pytest.raises(rd.InputError, match="set twice"):
        table.update().set("a", "1").set("A", "2").execute()
    with pytest.raises(rd.InputError, match="column 'p' and a field of it are both set"):
        table.update().set("p", "null").set("p.x", "2").execute()
    with pytest.raises(rd.InputError, match="unknown mode 'merge'"):
        table.update(mode="merge")  # type: ignore[arg-type]
    with pytest.raises(rd.InputError, match="unknown isolation level 'none'"):
        table.update(isolation="none")  # type: ignore[arg-type]
    with pytest.raises(rd.InputError, match="nowhere"):
        table.update().set("a", "1").where("nowhere = 1").execute()
    with pytest.raises(rd.InputError, match="nowhere"):
        table.update().set("a", "nowhere + 1").execute()


def test_version_1_is_refused_with_the_way_out(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id bigint) USING iceberg TBLPROPERTIES ('format-version'='1')")
    with pytest.raises(rd.InputError, match="format version 1"):
        rd.table(spark, table_name).update().set("id", "1").execute()


# --- tables with a history


@pytest.mark.parametrize("kind", KINDS[:3], ids=str)
def test_files_of_several_partition_specs_are_updated_together(spark: SparkSession, kind: Kind) -> None:
    with numbered_copies(spark, "region", kind) as pair:
        pair.both("ALTER TABLE {t} REPLACE PARTITION FIELD region WITH bucket(3, id)")
        pair.append(numbered(spark, 20, 30))
        pair.both("ALTER TABLE {t} DROP PARTITION FIELD bucket(3, id)")
        pair.append(numbered(spark, 30, 35))
        pair.both("ALTER TABLE {t} ADD PARTITION FIELD years(ts)")
        update(pair, {"a": "-a"}, "id % 3 = 0", rows=12)
        update(pair, {"region": "'moved'", "b": "b + 1"}, "id % 2 = 0 AND region = 'r0'", rows=5)
        specs = spark.table(f"{pair.ours}.delete_files").select("spec_id").distinct().count()
        assert specs == (4 if kind.mode == "merge-on-read" else 0)


@pytest.mark.parametrize("kind", KINDS[:3], ids=str)
def test_a_schema_that_changed_is_read_and_written_as_it_is_now(spark: SparkSession, kind: Kind) -> None:
    with numbered_copies(spark, "region", kind) as pair:
        for change in (
            "ADD COLUMN c string AFTER id",
            "DROP COLUMN a",
            "RENAME COLUMN b TO a",
            "ALTER COLUMN a TYPE bigint",
            "RENAME COLUMN p.y TO z",
            "ADD COLUMN p.w double",
            "RENAME COLUMN region TO place",
        ):
            pair.both(f"ALTER TABLE {{t}} {change}")
        update(pair, {"c": "concat(place, p.z)", "a": "a + 3000000000"}, "id % 3 = 1", rows=7)
        pair.append(
            numbered(spark, 20, 23).selectExpr("id", "'new' c", "region place", "a", "struct(p.x, p.y z, 1D w) p", "ts")
        )
        update(pair, {"p.w": "coalesce(p.w, 0) + 1", "place": "c"}, "c IS NOT NULL", rows=9)


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_rows_keep_their_ids_after_an_upgrade_to_version_3(spark: SparkSession, mode: str) -> None:
    with numbered_copies(spark, "", Kind(2, mode)) as pair:
        pair.both("DELETE FROM {t} WHERE id IN (3, 4)")
        pair.both("ALTER TABLE {t} SET TBLPROPERTIES ('format-version' = '3')")
        pair.ids_compared = 0  # the first commit gives the ids
        update(pair, {"a": "a + 1"}, "id % 5 = 0", rows=4)
        ids = {row.id: row._row_id for row in spark.sql(f"SELECT id, _row_id FROM {pair.ours}").collect()}
        assert len(set(ids.values())) == 18
        assert None not in ids.values()
        update(pair, {"a": "a + 1"}, "id % 2 = 0", rows=9)
        assert {row.id: row._row_id for row in spark.sql(f"SELECT id, _row_id FROM {pair.ours}").collect()} == ids


def test_new_files_keep_to_the_target_size(spark: SparkSession, table_name: str) -> None:
    small = {"write.target-file-size-bytes": "20000", "write.parquet.row-group-size-bytes": "10000"}
    table = create(spark, table_name, "id bigint, v string", properties=small)
    spark.range(0, 30_000, 1, 1).selectExpr("id", "cast(xxhash64(id) AS string) v").writeTo(table_name).append()
    result = table.update().set("v", "concat(v, 'x')").where("id % 3 = 0").execute()
    assert (result.rows_updated, result.data_files_added > 3) == (10_000, True)


# --- plans


@pytest.mark.parametrize(
    ("where", "text", "scanned", "pruned"),
    [("id < 5", "id", 1, 1), ("length(region) = 2", "in part", 2, 0), ("rand() < 0.5", "cannot be used to skip", 2, 0)],
)
def test_a_plan_names_mode_filter_and_files_and_changes_nothing(
    spark: SparkSession, where: str, text: str, scanned: int, pruned: int
) -> None:
    with numbered_copies(spark) as pair:
        before, files = head(pair.table), stored_files(pair.table)
        steps = pair.table.update(mode="copy-on-write").set("a", "1").where(where).plan().to_dict()
        assert steps["mode"] == "copy-on-write (as asked)"
        assert pair.table.update().set("a", "1").plan().to_dict()["mode"].endswith("(table property write.update.mode)")
        assert steps["isolation"] == "serializable"
        assert text in steps["filter"]
        assert steps["files"] == f"{scanned} to scan, {pruned} pruned"
        assert steps["rows"] == f"{10 * scanned} in these files"
        by_column = pair.table.update().set("a", F.lit(1)).where(F.col("id") >= 10).plan().to_dict()
        assert by_column["files"] == "1 to scan, 1 pruned"
        assert (head(pair.table), stored_files(pair.table)) == (before, files)
