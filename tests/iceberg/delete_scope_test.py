"""`applies_to` counts the deletes that Iceberg's planner applies, over evolved specs and schemas and all metrics."""

from __future__ import annotations

import struct
import uuid
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rowdelta as rd
from rowdelta.encoding import FileContent
from rowdelta.iceberg import ContentFile
from rowdelta.iceberg.content_files import to_java
from rowdelta.spark import collect_arrow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

Key = int | str | None


def create(spark: SparkSession, name: str, columns: str, *, partitioned_by: str = "", version: int = 2) -> rd.Table:
    spark.sql(
        f"CREATE TABLE {name} ({columns}) USING iceberg {partitioned_by} TBLPROPERTIES "
        f"('format-version'='{version}', 'write.delete.mode'='merge-on-read', 'write.delete.granularity'='partition')"
    )
    return rd.table(spark, name)


def delete_keys(
    table: rd.Table,
    keys: dict[str, Sequence[Key]],
    partition: Sequence[Any] = (),
    *,
    spec_id: int | None = None,
    metrics: bool = True,
) -> None:
    """Commits an equality delete file with Iceberg itself."""
    metadata = table.refresh().metadata
    columns = {metadata.schema.find(name): values for name, values in keys.items()}
    path = Path(metadata.location) / "data" / f"{uuid.uuid4()}.parquet"
    schema = pa.schema(
        pa.field(column.name, arrow_type(column.type_name), metadata={"PARQUET:field_id": str(column.id)})
        for column in columns
    )
    pq.write_table(pa.table(list(columns.values()), schema), path)
    known = {column.id: [single_value(v) for v in values if v is not None] for column, values in columns.items()}
    file = ContentFile(
        path=str(path),
        file_format="PARQUET",
        record_count=len(next(iter(keys.values()))),
        file_size_in_bytes=path.stat().st_size,
        content=FileContent.EQUALITY,
        spec_id=metadata.default_spec_id if spec_id is None else spec_id,
        partition=partition,
        equality_ids=[column.id for column in columns],
        value_counts={column.id: len(values) for column, values in columns.items()} if metrics else None,
        null_value_counts={c.id: list(values).count(None) for c, values in columns.items()} if metrics else None,
        lower_bounds={i: values[0] for i, values in known.items() if values} if metrics else None,
        upper_bounds={i: values[-1] for i, values in known.items() if values} if metrics else None,
    )
    table._handle.java_table.newRowDelta().addDeletes(to_java(table._handle, file)).commit()


def arrow_type(name: str) -> pa.DataType:
    return {"long": pa.int64(), "string": pa.string()}[name]


def single_value(value: int | str) -> bytes:
    return struct.pack("<q", value) if isinstance(value, int) else value.encode()


def planned(table: rd.Table) -> Counter[tuple[str, int | None]]:
    """The number of data files to which Iceberg's planner applies each delete file."""
    counted: Counter[tuple[str, int | None]] = Counter()
    tasks = table._handle.java_table.newScan().planFiles().iterator()
    while tasks.hasNext():
        for delete in tasks.next().deletes():
            counted[delete.location(), delete.contentOffset()] += 1
    return counted


def assert_as_planned(table: rd.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = collect_arrow(table.delete_files()).to_pylist()
    expected = planned(table)
    assert found
    for row in found:
        assert row["applies_to"] == expected[row["path"], row["content_offset"]], row
    return found


def test_each_spec_of_an_evolved_table_has_its_own_scope(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, a string, b string", partitioned_by="PARTITIONED BY (a, b)")
    insert = f"INSERT INTO {table_name} SELECT id, concat('a', id % 2), concat('b', id % 3)"
    spark.sql(f"{insert} FROM range(60)")
    delete_keys(table, {"id": [0, 6, 12]}, ("a0", "b0"))
    delete_keys(table, {"id": [1000]}, ("a0", "b0"))
    spark.sql(f"DELETE FROM {table_name} WHERE id % 20 = 0")
    spark.sql(f"ALTER TABLE {table_name} DROP PARTITION FIELD b")
    spark.sql(f"{insert} FROM range(60, 120)")
    delete_keys(table, {"id": [3, 60, 65]}, ("a0",))
    table._handle.java_table.updateSpec().renameField("a", "zone").commit()
    spark.sql(f"ALTER TABLE {table_name} RENAME COLUMN a TO area")
    spark.sql(f"{insert} FROM range(120, 180)")
    delete_keys(table, {"id": [120, 130]}, ("a0",))
    assert {row["partition"] for row in assert_as_planned(table)} == {
        *("a=a0/b=b0", "a=a0/b=b1", "a=a0/b=b2", "a=a0", "zone=a0"),
    }
    spark.sql(f"ALTER TABLE {table_name} DROP PARTITION FIELD zone")
    delete_keys(table, {"id": [3, 60, 65]})
    *_, last = assert_as_planned(table)
    assert (last["partition"], last["applies_to"]) == (None, 8)


def test_a_field_that_version_1_made_void_does_not_bind(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, a string", partitioned_by="PARTITIONED BY (a)", version=1)
    spark.sql(f"INSERT INTO {table_name} SELECT id, concat('a', id % 2) FROM range(60)")
    spark.sql(f"ALTER TABLE {table_name} DROP PARTITION FIELD a")
    spark.sql(f"INSERT INTO {table_name} SELECT /*+ COALESCE(1) */ id, concat('a', id % 2) FROM range(60, 120)")
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('format-version'='2')")
    delete_keys(table, {"id": [1, 70]}, (None,))
    delete_keys(table, {"id": [1, 70]}, ("a1",), spec_id=0)
    found = assert_as_planned(table)
    assert [(row["partition"], row["applies_to"]) for row in found] == [(None, 3), ("a=a1", 1)]


@pytest.mark.parametrize("others", ["", ", c string"])
def test_a_partition_whose_source_column_was_dropped_keeps_its_scope(
    spark: SparkSession, table_name: str, others: str
) -> None:
    spec = "PARTITIONED BY (a, c)" if others else "PARTITIONED BY (a)"
    table = create(spark, table_name, f"id bigint, a string{others}", partitioned_by=spec)
    values = "id, concat('a', id % 2)" + (", 'c'" if others else "")
    spark.sql(f"INSERT INTO {table_name} SELECT {values} FROM range(60)")
    delete_keys(table, {"id": [1, 3]}, ("a1", "c") if others else ("a1",))
    spark.sql(f"ALTER TABLE {table_name} DROP PARTITION FIELD a")
    spark.sql(f"ALTER TABLE {table_name} DROP COLUMN a")
    (row,) = collect_arrow(table.delete_files()).to_pylist()
    assert (row["partition"], row["applies_to"]) == ("a=a1/c=c" if others else "a=a1", 1)


def test_bounds_and_counts_rule_out_files_whatever_the_columns_are_called(spark: SparkSession, table_name: str) -> None:
    columns = "id bigint NOT NULL, `p.q` bigint, `c``d` string, s string, n bigint, z bigint"
    table = create(spark, table_name, columns)
    modes = {"s": "truncate(2)", "n": "none", "z": "counts"}
    settings = ", ".join(f"'write.metadata.metrics.column.{column}'='{mode}'" for column, mode in modes.items())
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ({settings})")
    for first in (0, 100, 200):
        spark.sql(
            f"INSERT INTO {table_name} SELECT /*+ COALESCE(1) */ id, id, concat('k', lpad(id, 4, '0')), "
            f"concat('abcdef', lpad(id, 4, '0')), id, if({first} = 0, null, id) FROM range({first}, {first} + 50)"
        )
    batches: list[tuple[dict[str, Sequence[Key]], int]] = [
        ({"id": [110]}, 1),
        ({"p.q": [10, 20]}, 1),
        ({"p.q": [None, 110]}, 1),
        ({"c`d": ["k0110"]}, 1),
        ({"s": ["abcdef0110"]}, 3),
        ({"s": ["zz"]}, 0),
        ({"n": [5]}, 3),
        ({"z": [None]}, 1),
        ({"z": [210]}, 2),
        ({"z": [None, 210]}, 3),
        ({"id": [110], "z": [None]}, 0),
    ]
    for keys, _ in batches:
        delete_keys(table, keys)
    delete_keys(table, {"id": [110]}, metrics=False)
    spark.sql(f"ALTER TABLE {table_name} RENAME COLUMN z TO `y.y`")
    found = assert_as_planned(table)
    assert [row["applies_to"] for row in found] == [*(count for _, count in batches), 3]
    assert found[-2]["key"] == ["id", "y.y"]


def test_deletion_vectors_replace_the_position_deletes_of_an_upgraded_table(
    spark: SparkSession, table_name: str
) -> None:
    table = create(spark, table_name, "id bigint, a string", partitioned_by="PARTITIONED BY (a)")
    for first in (0, 60):
        spark.sql(f"INSERT INTO {table_name} SELECT id, concat('a', id % 2) FROM range({first}, {first} + 60)")
    spark.sql(f"DELETE FROM {table_name} WHERE id IN (6, 7, 8, 64, 65)")
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('write.delete.granularity'='file')")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 10")
    assert_as_planned(table)
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('format-version'='3')")
    spark.sql(f"DELETE FROM {table_name} WHERE id IN (14, 15, 66)")
    found = assert_as_planned(table)
    assert {row["encoding"] for row in found} == {"position", "deletion-vector"}
