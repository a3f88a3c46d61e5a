"""Conversions between Arrow and Spark: every type, in every session time zone, compared as Spark's internal values."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from rowdelta.errors import FormatError
from rowdelta.iceberg import Field
from rowdelta.read import write_integer_sql
from rowdelta.spark import (
    collect_arrow,
    convert_to_json_values,
    convert_to_plain_values,
    format_value,
    make_frame_from_arrow,
)
from tests.support.oracle import assert_same_rows
from tests.support.zones import DAYS, MICROS, ZONES

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

VALUES: dict[str, pa.Array] = {
    "ntz": pa.array([*MICROS, None], pa.timestamp("us")),
    "ts": pa.array([*MICROS, None], pa.timestamp("us", "UTC")),
    "day": pa.array([None, *(DAYS[i % len(DAYS)] for i in range(len(MICROS)))], pa.date32()),
    "dec": pa.array([Decimal(i).scaleb(-2) for i in range(len(MICROS))] + [None], pa.decimal128(38, 2)),
    "bin": pa.array([*(bytes([i, 0]) for i in range(len(MICROS))), None], pa.binary()),
    "fix": pa.array([*(bytes([i, 255]) for i in range(len(MICROS))), None], pa.binary(2)),
    "text": pa.array([*(f"é{i}" for i in range(len(MICROS))), None], pa.large_string()),
    "yes": pa.array([*(i % 2 == 0 for i in range(len(MICROS))), None], pa.bool_()),
    "inner": pa.array([{"n": m} for m in MICROS] + [None], pa.struct([("n", pa.timestamp("us"))])),
    "list": pa.array([[m, None] for m in MICROS] + [None], pa.list_(pa.timestamp("us"))),
}
NTZ = "timestamp"
INSIDE = {
    "ntz": write_integer_sql(Field(1, "ntz", NTZ, required=False), "ntz"),
    "ts": "unix_micros(ts)",
    "day": "unix_date(day)",
    "inner": write_integer_sql(Field(1, "n", NTZ, required=False), "inner.n"),
    "list": write_integer_sql(Field(1, "n", NTZ, required=False), "list[0]"),
}


def test_rows_after_an_empty_chunk_are_not_lost(spark: SparkSession) -> None:
    chunks = [pa.array(values, pa.int64()) for values in ([1], [], [2])]
    table = pa.table({"a": pa.chunked_array(chunks)})
    assert_same_rows(make_frame_from_arrow(spark, table), [(1,), (2,)])


@pytest.mark.parametrize("zone", ZONES)
def test_every_value_arrives_as_it_is_and_comes_back_as_it_was(
    spark: SparkSession, session_zone: Callable[[str], None], zone: str
) -> None:
    session_zone(zone)
    table = pa.table(VALUES)
    frame = make_frame_from_arrow(spark, table)
    back = collect_arrow(frame.selectExpr("*", *(f"{sql} AS inside_{name}" for name, sql in INSIDE.items())))
    for name, values in VALUES.items():
        if name in INSIDE:
            inside = [*MICROS, None] if name in {"inner", "list"} else convert_to_plain_values(values)
            assert back[f"inside_{name}"].to_pylist() == inside, name
        if name != "list":  # no partition is one
            assert convert_to_plain_values(back[name]) == convert_to_plain_values(values), name


def test_times_finer_than_a_microsecond_are_refused_and_others_are_exact(spark: SparkSession) -> None:
    whole = pa.table({"t": pa.array([1_000, -2_000, None], pa.timestamp("ns"))})
    assert convert_to_plain_values(collect_arrow(make_frame_from_arrow(spark, whole))["t"]) == [1, -2, None]
    fine = pa.table({"t": pa.array([1_001], pa.timestamp("ns", "UTC"))})
    with pytest.raises(FormatError, match="column 't' has a time that is not a whole number of microseconds"):
        make_frame_from_arrow(spark, fine)
    with pytest.raises(FormatError, match="Spark has no type"):
        make_frame_from_arrow(spark, pa.table({"n": pa.array([1], pa.uint64())}))


@pytest.mark.parametrize(
    ("kind", "value", "json", "text"),
    [
        ("date", 3789391, "+12345-01-01", "+12345-01-01"),
        ("date", -719528, "0000-01-01", "0000-01-01"),
        ("date", -719529, "-0001-12-31", "-0001-12-31"),
        ("date", 2**31 - 1, "+5881580-07-11", "+5881580-07-11"),
        ("date", -(2**31), "-5877641-06-23", "-5877641-06-23"),
        ("timestamp", 2**63 - 1, "+294247-01-10T04:00:54.775807", "+294247-01-10 04:00:54.775807"),
        ("timestamp_ns", -1, "1969-12-31T23:59:59.999999999", "1969-12-31 23:59:59.999999999"),
        ("timestamptz", 0, "1970-01-01T00:00:00.000000+00:00", "1970-01-01 00:00:00"),
        ("time", 3_600_000_001, "01:00:00.000001", "01:00:00.000001"),
        ("uuid", uuid.UUID(int=7).bytes, str(uuid.UUID(int=7)), str(uuid.UUID(int=7))),
        ("uuid", uuid.UUID(int=7), str(uuid.UUID(int=7)), str(uuid.UUID(int=7))),
        ("boolean", True, True, "true"),
        ("int", 7, 7, "7"),
        ("string", "2024", "2024", "2024"),
        ("decimal(9, 2)", Decimal("1.50"), "1.50", "1.50"),
        ("fixed[2]", b"\x00\xff", "00FF", "00ff"),
        ("date", None, None, "null"),
    ],
)
def test_partition_values_have_a_text_in_every_year(kind: str, value: Any, json: Any, text: str) -> None:
    assert convert_to_json_values([kind], [value]) == [json]
    assert format_value(kind, value) == text
