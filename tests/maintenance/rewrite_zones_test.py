"""Keys of every type keep their values, whatever the zones of the sessions that write, rewrite and read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import rowdelta as rd
from rowdelta.change import key_batches
from rowdelta.errors import FormatError, VerificationError
from rowdelta.spark import make_frame_from_arrow
from tests.support.oracle import assert_same_ids
from tests.support.shared_files import share
from tests.support.tables import VECTORS, create, head, stored_files
from tests.support.zones import DAYS, MICROS, ZONES

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "id bigint, n timestamp_ntz, t timestamp, d date, c decimal(20, 4), s string, b binary, i int, o boolean"
KEY = ["n", "t", "d", "c", "s", "b", "i", "o"]


def values(spark: SparkSession) -> DataFrame:
    """A row for each time that some zone skips or repeats, and for times far away; the session is in UTC."""
    some = [(i, m, DAYS[i % len(DAYS)]) for i, m in enumerate(MICROS)]
    return (
        spark.createDataFrame(some, "id bigint, m bigint, day int")
        .coalesce(1)
        .selectExpr(
            "id",
            "cast(timestamp_micros(m) as timestamp_ntz) n",
            "timestamp_micros(m) t",
            "date_from_unix_date(day) d",
            "cast(id as decimal(20, 4)) / 4 c",
            "if(id = 3, null, concat('é', id)) s",
            "unhex(hex(id)) b",
            "cast(id as int) i",
            "id % 2 = 0 o",
        )
        .selectExpr("id", "n", "t", "d", "cast(c as decimal(20, 4)) c", "s", "b", "i", "o")
    )


def test_keys_of_every_type_are_rewritten_exactly_in_every_zone(
    spark: SparkSession, table_name: str, session_zone: Callable[[str], None]
) -> None:
    table = create(spark, table_name, COLUMNS, properties=VECTORS)
    values(spark).writeTo(table_name).append()
    every, half, one = list(range(len(MICROS))), list(range(0, len(MICROS), 2)), [1]
    gone = spark.table(table_name).where("id % 2 = 0").select(KEY).localCheckpoint()
    session_zone(ZONES[1])
    table.delete_keys(gone, KEY, encoding="hash-map").execute()
    left = [i for i in every if i not in half]
    session_zone(ZONES[2])
    assert_same_ids(table.read().select("id"), left)
    assert table.rewrite_deletes("full-row").execute().verified
    session_zone(ZONES[3])
    assert_same_ids(table.read().select("id"), left)
    assert_same_ids(spark.table(table_name).select("id"), left)  # Iceberg's reader takes the file
    assert table.rewrite_deletes("hash-map").execute().verified
    session_zone(ZONES[4])
    assert_same_ids(table.read().select("id"), left)
    more = spark.table(f"{table_name}.files").limit(0)  # the session of this zone has seen the table
    assert more.isEmpty()
    assert table.rewrite_deletes("hash-map", min_input_files=1).execute().equality_deletes == 1
    session_zone(ZONES[5])
    assert_same_ids(table.read().select("id"), left)
    last = rd.table(spark, table_name).read("id = 1").select(KEY).localCheckpoint()
    table.delete_keys(last, KEY, encoding="full-row").execute()
    assert table.rewrite_deletes("hash-map", min_input_files=1).execute().equality_deletes == 2
    session_zone(ZONES[0])
    left = [i for i in left if i not in one]
    assert_same_ids(table.read().select("id"), left)
    table.resolve().execute()
    assert_same_ids(spark.table(table_name).select("id"), left)


@pytest.mark.parametrize("zone", ZONES[1:])
def test_partitions_by_times_that_a_zone_skips_or_repeats(
    spark: SparkSession, table_name: str, session_zone: Callable[[str], None], zone: str
) -> None:
    table = create(spark, table_name, "id bigint, n timestamp_ntz, t timestamp", "n", version=2)
    both = values(spark).select("id", "n", "t").unionAll(values(spark).selectExpr("id + 100", "n", "t"))
    share(table, "twice", lambda: both)
    gone = spark.table(table_name).where("id < 100").select("id", "n").localCheckpoint()
    session_zone(zone)
    table.delete_keys(gone, ["id", "n"]).execute()
    left = [i + 100 for i in range(len(MICROS))]
    assert_same_ids(table.read().select("id"), left)
    table.resolve().execute()
    assert_same_ids(spark.table(table_name).select("id"), left)


def test_keys_that_would_change_are_found_before_the_commit(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rows are live before and after, so only the keys themselves reveal the change."""
    table = create(spark, table_name, "id bigint, n timestamp_ntz, s string", properties=VECTORS)
    values(spark).select("id", "n", "s").writeTo(table_name).append()
    gone = values(spark).where("id = 1").selectExpr("n + INTERVAL '1' SECOND n", "s")  # keys of no row
    table.delete_keys(gone, ["n", "s"], encoding="hash-map").execute()
    before, files = head(table), stored_files(table)
    right = make_frame_from_arrow

    def wrong(session: SparkSession, keys: pa.Table) -> DataFrame:
        first, second = keys.column_names
        frame = right(session, keys)
        return frame.selectExpr(f"`{first}` + INTERVAL '8' HOUR AS `{first}`", f"`{second}`")

    monkeypatch.setattr("rowdelta.maintenance.rewrite_equality.make_frame_from_arrow", wrong)
    for encoding in ("hash-map", "full-row"):
        with pytest.raises(VerificationError, match="would delete other values of n, s"):
            table.rewrite_deletes(encoding, min_input_files=1, verify=False).execute()
        assert head(table) == before
        assert stored_files(table) == files


def test_keys_with_a_zone_for_a_column_without_one_are_refused(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(spark, table_name, "id bigint, n timestamp_ntz, s string", properties=VECTORS)
    values(spark).select("id", "n", "s").writeTo(table_name).append()
    right = key_batches._split_by_partition

    def wrong(keys: pa.Table, parts: list[str]) -> object:
        index = keys.column_names.index("k0")
        zoned = keys["k0"].cast(pa.timestamp("us", "UTC"))
        return right(keys.set_column(index, "k0", zoned), parts)

    gone = values(spark).where("id = 1").select("n", "s")
    before = stored_files(table)
    monkeypatch.setattr(key_batches, "_split_by_partition", wrong)
    with pytest.raises(FormatError, match="for column 'n', which is timestamp"):
        table.delete_keys(gone, ["n", "s"], encoding="hash-map").execute()
    assert stored_files(table) == before
    monkeypatch.setattr("rowdelta.change.read_back.check_type", lambda *_: None)
    table.delete_keys(gone, ["n", "s"], encoding="hash-map").execute()
    with pytest.raises(FormatError, match=r"keys of type timestamp\[us, tz=UTC\] for column 'n', which is timestamp"):
        table.read()
