"""SQL that rowdelta generates means the same in every session."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

import rowdelta as rd
from rowdelta.cdc import Shape
from rowdelta.spark import make_frame_from_arrow, parse_column, quote, quote_string, run_sql, select_sql, where_sql
from rowdelta.spark.versions import SPARK
from tests.support.oracle import assert_same_rows
from tests.support.settings import settings
from tests.support.tables import VECTORS, create, one_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

SOURCES = Path(__file__).parents[2] / "src" / "rowdelta"
# Where the text of a user is parsed, as the settings of the user's session say.
OF_USERS = {
    "cdc/records.py",
    "cli/run_operation.py",
    "cli/demo_run.py",
    "cli/pipeline_run.py",
    "change/assignments.py",
    "merge/condition.py",
    "verbs/update.py",
    "sql/change_tables.py",
    "sql/live_views.py",
    "sql/to_operation.py",
    "sql/run.py",
    "sql/live_tables.py",
    "delta/log.py",
    "spark/generated_sql.py",
    "iceberg/table_handle.py",
}
# Strings are read without escapes, names in backticks as patterns, many words are reserved, "a" is a name.
STRANGE = {
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.parser.quotedRegexColumnNames": "true",
    "spark.sql.ansi.enforceReservedKeywords": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.legacy.setopsPrecedence.enabled": "true",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "true",
    "x": "replaced",
}
NOT_ANSI = {**STRANGE, "spark.sql.ansi.enabled": "false", "spark.sql.storeAssignmentPolicy": "LEGACY"}
TEXTS = ["o'b", "a\\b", "\\", "''", "\\'", "${x}", '"q"', "%\\_", "line\nend\t\\n", "", "ü€😀", "\\u0041", "`t`"]
TEXT_COLUMNS = {"k", "from"}
ODD_COLUMNS = ["k", "a.b", "from", "${x}", "c+", "we`ird", "table", "k.*"]


@pytest.fixture(params=[STRANGE, NOT_ANSI, {"spark.sql.ansi.enabled": "false"}], ids=["strange", "not ansi", "old"])
def dialect(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[None]:
    with settings(spark, request.param):
        yield


@pytest.mark.usefixtures("dialect")
def test_texts_and_names_keep_every_character(spark: SparkSession) -> None:
    rows = spark.createDataFrame([tuple(range(len(ODD_COLUMNS)))], ODD_COLUMNS)
    literals = [f"{quote_string(text)} AS x" for text in TEXTS]
    found = select_sql(rows, *map(quote, ODD_COLUMNS), *literals)
    assert found.columns == [*ODD_COLUMNS, *["x"] * len(TEXTS)]
    assert found.first() == (*range(len(ODD_COLUMNS)), *TEXTS)
    condition = " AND ".join(f"{quote(name)} = {number}" for number, name in enumerate(ODD_COLUMNS))
    assert where_sql(rows, condition).count() == 1
    assert rows.select(parse_column("cast(null AS timestamp)").alias("t")).dtypes == [("t", "timestamp")]
    assert run_sql(spark, f"SELECT {quote_string(TEXTS[0])} AS table").first() == (TEXTS[0],)


def test_the_session_stays_the_active_one(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    sessions = SPARK.get_session_class(jvm)
    other = spark.newSession()
    for session in (other, spark):
        sessions.setActiveSession(session._jsparkSession)
        with pytest.raises(Exception, match="PARSE_SYNTAX_ERROR"):
            parse_column("1 +")
        assert sessions.getActiveSession().get() == session._jsparkSession


def _columns() -> str:
    return ", ".join(f"{quote(name)} {'string' if name in TEXT_COLUMNS else 'int'}" for name in ODD_COLUMNS)


def _frame(spark: SparkSession, rows: dict[str, list[object]]) -> DataFrame:
    columns = zip(*([k, *more] for k, more in rows.items()), strict=True)
    kinds = [pa.string() if name in TEXT_COLUMNS else pa.int32() for name in ODD_COLUMNS]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
    return make_frame_from_arrow(spark, pa.table(arrays, names=ODD_COLUMNS)).coalesce(1)


@pytest.mark.parametrize(
    ("partitioned_by", "dialect"),
    [("", STRANGE), ("k, `from`", NOT_ANSI)],
)
def test_every_verb_does_the_same_under_other_settings(
    spark: SparkSession, table_name: str, partitioned_by: str, dialect: dict[str, str]
) -> None:
    """A merge by a text key once inserted what it should have updated."""
    keys = TEXTS[:6] if partitioned_by else TEXTS
    encoding: rd.Encoding = "hash-map" if partitioned_by else "full-row"
    mode: rd.Mode | None = "copy-on-write" if partitioned_by else None
    rows: dict[str, list[object]] = {text: [number, text, 0, 0, 0, 0, 0] for number, text in enumerate(keys)}
    with settings(spark, {"spark.sql.variable.substitute": "false"}):
        table = create(spark, table_name, _columns(), partitioned_by, properties=VECTORS)
    _frame(spark, rows).writeTo(table_name).append()
    table.refresh()
    column = {name: F.col(quote(name)) for name in ODD_COLUMNS}
    with settings(spark, dialect):
        changes = {text: [10, text, 1, 2, 3, 4, 5] for text in keys[:3]} | {"'new\\": [9, "f", 1, 2, 3, 4, 5]}
        merge = table.merge(_frame(spark, changes), ["k", "from"] if partitioned_by else "k")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()
        one = {keys[3]: [11, keys[3], 7, 7, 7, 7, 7]}
        table.upsert(_frame(spark, one), "k", encoding=encoding).execute()
        rows |= changes | one
        part = _frame(spark, {keys[5]: [12, keys[5], 1, 1, 1, 1, 1]}).select("k", F.col("`we``ird`"), F.col("`k.*`"))
        part_key = ["k", "from"] if partitioned_by else "k"
        part = part.withColumn("from", F.lit(keys[5])) if partitioned_by else part
        table.upsert(part, part_key, columns=["we`ird", "k.*"]).execute()
        rows[keys[5]][4] = rows[keys[5]][6] = 1
        table.delete_keys(_frame(spark, {keys[4]: [0, "", 0, 0, 0, 0, 0]}).select("k"), "k").execute()
        del rows[keys[4]]
        update = table.update(mode=mode).where(column["k"] == keys[0])
        update.set("`table`", F.lit(8)).set("`c+`", column["${x}"] + 1).set("`we``ird`", "0 + 1").execute()
        rows[keys[0]][3:6] = [2, 1, 8]
        found = table.read(column["k.*"] == 5, columns=["from", "`a.b`", "`k.*`"])
        assert_same_rows(found, [(more[1], more[0], 5) for more in rows.values() if more[6] == 5])
        table.rewrite_deletes("full-row" if encoding == "hash-map" else "hash-map").execute()
        table.compact(options={"rewrite-all": "true"}).execute()
        table.delete(column["k"] == "'new\\").execute()
        del rows["'new\\"]
        assert table.remove_orphans().execute().orphan_files == ()
        table.debt()
        assert_same_rows(table.read(), [(k, *more) for k, more in rows.items()])
    assert_same_rows(spark.table(table_name), [(k, *more) for k, more in rows.items()])


def test_a_merge_and_a_compaction_follow_the_dialect_that_the_user_writes(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "k string, v string", "k")
    one_file(spark, [(k, "old") for k in ("o'b", "a\\b", "b")], "k string, v string").writeTo(table_name).append()
    with settings(spark, STRANGE):
        one_file(spark, [("o'b", "new"), ("a\\b", "new")], "k string, v string").createOrReplaceTempView("changes")
        rd.sql(
            spark,
            f"MERGE INTO {table_name} t USING changes s ON t.k = s.k "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        )
        assert_same_rows(table.read(), [("o'b", "new"), ("a\\b", "new"), ("b", "old")])
        for where, files in (("k = 'b'", 1), (r"k = 'a\b'", 2), (r"k = 'a\\b'", 0)):
            done = table.compact(data_files=where, options={"rewrite-all": "true"}).execute()
            assert done.data_files_rewritten == files, where
    assert table.compact(data_files=r"k = 'a\\b'", options={"rewrite-all": "true"}).execute().data_files_rewritten == 1


def test_events_are_read_alike_whatever_the_settings(spark: SparkSession) -> None:
    """The fields of an event have names such as `table`, `row` and `before`."""
    event = {
        "op": "u",
        "before": {"id": 1, "v": "a"},
        "after": {"id": 1, "v": "b"},
        "ts_ms": 5,
        "source": {"file": "x", "row": 1, "table": "t"},
    }
    frame = make_frame_from_arrow(spark, pa.table({"value": [json.dumps(event)]}))
    types = T.StructType().add("id", T.LongType()).add("v", T.StringType())
    readers: list[rd.cdc.Records] = [rd.cdc.Debezium(), rd.cdc.JsonRows(unknown_fields="ignore")]
    plain: list[Any] = []
    strange: list[Any] = []
    for found, dialect in ((plain, {}), (strange, STRANGE)):
        with settings(spark, dialect):
            found += [reader.read(frame, Shape(types, ("id",))).collect() for reader in readers]
    assert plain == strange
    assert plain[0][0]["v"] == "b"


@pytest.mark.parametrize(("partitioned_by", "dialect"), [("days(at)", STRANGE), ("at", NOT_ANSI)])
def test_times_are_times_with_a_zone_whatever_timestamp_stands_for(
    spark: SparkSession, table_name: str, partitioned_by: str, dialect: dict[str, str]
) -> None:
    with settings(spark, {**dialect, "spark.sql.session.timeZone": "America/New_York"}):
        schema = "id int, at timestamp_ltz, n timestamp_ntz"
        table = create(spark, table_name, schema, partitioned_by, properties=VECTORS)
        rows = spark.range(4).select(
            F.col("id").cast("int"),
            F.timestamp_micros(F.col("id") * 7_200_000_000).alias("at"),
            F.to_timestamp_ntz(F.concat(F.lit("2024-01-0"), F.col("id") + 1)).alias("n"),
        )
        rows.coalesce(1).writeTo(table_name).append()
        table.refresh()
        first = rows.where("id = 0")
        assert table.delete_keys(first, ["at"]).execute().keys == 1
        table.upsert(rows.where("id = 1"), "at", encoding="full-row").execute()
        table.merge(rows.where("id = 2"), ["at", "n"]).when_matched_delete().execute()
        assert_same_rows(table.read(columns=["id"]), [(1,), (3,)])
        table.resolve().execute()
        assert_same_rows(spark.table(table_name).select("id"), [(1,), (3,)])


def test_references_may_have_any_name(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id int")
    one_file(spark, [(1,)], "id int").writeTo(table_name).append()
    names = [*filter(None, TEXTS), "2024"]
    java = table.refresh()._handle.java_table
    manage = java.manageSnapshots()
    for name in names:
        manage = manage.createBranch(name, java.currentSnapshot().snapshotId())
        manage = manage.createTag(f"tag of {name}", java.currentSnapshot().snapshotId())
    manage.commit()
    table.refresh()
    for dialect in ({}, STRANGE):
        with settings(spark, dialect):
            for name in names:
                assert rd.table(spark, table_name, branch=name).read().count() == 1, name
                assert table.read(tag=f"tag of {name}").count() == 1, name
    branch = rd.table(spark, table_name, branch="a\\b")
    branch.delete("id = 1").execute()
    assert (branch.read().count(), table.read().count()) == (0, 1)


def test_no_module_parses_generated_text_with_the_settings_of_the_session() -> None:
    parses = re.compile(r"\bF\.expr\(|\.selectExpr\(|\.sql\(\s*f\"|\.(where|filter|when_\w+)\([^()]*\bf[\"']")
    found = set()
    for path in SOURCES.rglob("*.py"):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if ">>>" not in line]
        if parses.search("\n".join(lines)):
            found.add(str(path.relative_to(SOURCES)))
    assert found <= OF_USERS, "text that rowdelta generates goes through rowdelta.spark.generated_sql"
