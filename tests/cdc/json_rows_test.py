"""Plain rows as JSON: what is read, ordered, skipped and refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from rowdelta.cdc import Shape

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession


def read(spark: SparkSession, reader: rd.cdc.JsonRows, values: list[str | None]) -> list[Row]:
    frame = spark.createDataFrame([(n, value) for n, value in enumerate(values)], "offset bigint, value string")
    shape = Shape(spark.createDataFrame([], "id bigint NOT NULL, v string, d decimal(5,2)").schema, ("id",))
    return reader.read(frame, shape).orderBy("_rd_order").collect()


def test_rows_are_read_with_an_op_field(spark: SparkSession) -> None:
    expected = {
        '{"id": 1, "v": "a", "op": "I"}': None,
        '{"id": 2, "op": "delete"}': None,
        '{"id": 3, "op": "?"}': "unknown op ?",
        '{"v": "a", "op": "u"}': "column 'id' is null",
        '{"id": "x", "op": "u"}': "a value does not fit the type of its column",
        '{"id": 1, "d": 1.234, "op": "u"}': "column 'd' is decimal(5,2), but the value is 1.234",
        '{"id": 1, "op": "u"': "malformed JSON",
        '[{"id": 1, "op": "u"}, {"id": 2, "op": "u"}]': "malformed JSON",
        None: None,
        "": None,
    }
    found = read(spark, rd.cdc.JsonRows(op="op"), list(expected))
    assert [one._rd_bad for one in found] == list(expected.values())
    assert [one._rd_raw for one in found] == list(expected)
    assert [one._rd_deleted for one in found[:2]] == [False, True]
    assert [one._rd_skip for one in found] == [False] * 8 + [True] * 2
    assert (found[0].id, found[0].v, found[0].op) == (1, "a", "I")


def test_a_message_without_a_value_is_not_lost_where_no_op_identifies_deletes(spark: SparkSession) -> None:
    found = read(spark, rd.cdc.JsonRows(), ['{"id": 1, "v": "a"}', None, " "])
    assert [(one.id, one._rd_skip) for one in found] == [(1, False), (None, False), (None, True)]
    assert found[1]._rd_bad.startswith("the message has no value")


def test_fields_that_the_table_does_not_have_are_refused_or_ignored(spark: SparkSession) -> None:
    values: list[str | None] = ['{"id": 1, "V": "a", "more": 2}', '{"id": 1, "v": "a", "Op": "u"}', '{"id": 1}']
    bad = [one._rd_bad for one in read(spark, rd.cdc.JsonRows(), values)]
    assert bad == ["the table has no column V, more", "the table has no column Op", None]
    left_out = read(spark, rd.cdc.JsonRows(unknown_fields="ignore"), values)
    assert [(one._rd_bad, one.v) for one in left_out] == [(None, None), (None, "a"), (None, None)]
    (one,) = read(spark, rd.cdc.JsonRows("id bigint, V string", unknown_fields="bad"), values[:1])
    assert one._rd_bad == "the table has no column more"
    with pytest.raises(rd.InputError, match="unknown value of unknown_fields 'drop'"):
        rd.cdc.JsonRows(unknown_fields="drop")  # type: ignore[arg-type]


def test_only_the_fields_of_a_given_schema_are_read(spark: SparkSession) -> None:
    reader = rd.cdc.JsonRows("id bigint, v string, at timestamp", time_unit="micros")
    (one,) = read(spark, reader, ['{"id": 1, "at": 1000000, "more": true}'])
    assert (one._rd_bad, one.id, "d" in one, "more" in one) == (None, 1, False, False)
    assert one.at.timestamp() == 1
    with pytest.raises(rd.InputError, match="no column 'body' with JSON"):
        read(spark, rd.cdc.JsonRows(value="body"), [None])
