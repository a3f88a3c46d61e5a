"""Views of live rows belong to their session, and to no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

import rowdelta as rd
from rowdelta.read import views
from tests.support.tables import EDV, append_ids, create, keys

if TYPE_CHECKING:
    import pytest


def test_a_view_is_known_by_its_session_and_not_by_an_address(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python may give the address of a freed object to another one."""
    monkeypatch.setattr(views, "id", lambda _: 1, raising=False)
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(3))
    other = spark.newSession()
    table.refresh().view("live")
    again = rd.table(other, table_name)
    again.delete_keys(keys(other, 1), "id").execute()
    assert not other.catalog.tableExists("live")
    assert spark.table("live").count() == 3  # made by another session, which does not tell this one
    table.delete_keys(keys(spark, 2), "id").execute()
    assert spark.table("live").count() == 1
    spark.catalog.dropTempView("live")


def test_another_python_object_of_the_session_keeps_its_views_current(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(3))
    table.refresh().view("live")
    twin = SparkSession(spark.sparkContext, spark._jsparkSession)
    rd.table(twin, table_name).delete_keys(keys(twin, 1), "id").execute()
    assert spark.table("live").count() == 2
    assert [key[1:] for key in views._views].count((table._handle.full_name, "main")) == 1
    spark.catalog.dropTempView("live")
