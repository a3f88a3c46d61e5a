"""Random histories with maintenance in between: Iceberg's reader finds the rows of the model."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.read.property_test import HISTORIES, Step, without
from tests.support.oracle import assert_same_rows
from tests.support.tables import VECTORS, create, one_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "k bigint, s string, region string"
ACTIONS = st.lists(st.sampled_from(["resolve", "rewrite", "nothing"]), min_size=6, max_size=6)


@given(HISTORIES, ACTIONS)
@settings(
    max_examples=6,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_maintenance_at_any_time_changes_no_row(
    spark: SparkSession, history: tuple[int, str, list[Step]], actions: list[str]
) -> None:
    version, partitioned_by, told = history
    name = f"lake.db.m_{uuid.uuid4().hex[:12]}"
    table = create(spark, name, SCHEMA, partitioned_by, version=version, properties=VECTORS)
    live: list[tuple[int | None, str | None, str | None]] = []
    try:
        for step, action in zip(told, actions, strict=False):
            frame = one_file(spark, step.rows, SCHEMA)
            if step.key is None:
                frame.writeTo(name).append()
                live += step.rows
                continue
            table.delete_keys(frame, step.key, encoding=step.encoding, scope="partition").execute()
            live = without(spark, live, step, partitioned_by)
            if action == "resolve":
                table.resolve(verify=False).execute()
            elif action == "rewrite":
                table.rewrite_deletes("full-row", verify=False).execute()
        table.resolve(verify=False).execute()
        assert_same_rows(spark.table(name), live)
    finally:
        spark.sql(f"DROP TABLE {name} PURGE")
