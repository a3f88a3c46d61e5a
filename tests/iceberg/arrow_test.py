from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from rowdelta.iceberg import arrow_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_rows_after_an_empty_chunk_are_not_lost(spark: SparkSession) -> None:
    chunks = [pa.array(values, pa.int64()) for values in ([1], [], [2])]
    table = pa.table({"a": pa.chunked_array(chunks)})
    assert sorted(row.a for row in arrow_frame(spark, table).collect()) == [1, 2]
