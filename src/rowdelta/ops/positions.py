"""Row positions by data file, collected as bitmaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.codec import bitmap_from_sorted
from rowdelta.iceberg import partition_names
from rowdelta.ops.key_batches import partition_json
from rowdelta.ops.target import FILE, POSITION
from rowdelta.scan import PARTITION, SPEC, unpack_words

if TYPE_CHECKING:
    from pyroaring import BitMap64
    from pyspark.sql import DataFrame

    from rowdelta.iceberg import TableHandle


@dataclass(frozen=True)
class FilePositions:
    """Some rows of one data file, and the partition that the file is in."""

    path: str
    spec_id: int
    partition: tuple[Any, ...]
    positions: BitMap64
    rows: int  # more than there are positions where a row was found twice

    @property
    def partition_json(self) -> list[Any]:
        """The partition as Iceberg's JSON wants it."""
        return partition_json(self.partition)


def collect_positions(handle: TableHandle, rows: DataFrame) -> list[FilePositions]:
    """Collects where rows are: one 64-bit word for every 64 neighbouring positions, one record for each file."""
    partition = [F.first(PARTITION).alias("partition")] if PARTITION in rows.columns else []
    words = (
        rows.withColumn("block", F.expr(f"{POSITION} >> 6"))
        .groupBy(FILE, "block")
        .agg(
            F.bit_or(F.expr(f"shiftleft(1L, cast({POSITION} & 63 as int))")).alias("word"),
            F.first(SPEC).alias("spec_id"),
            F.count("*").alias("rows"),
            *partition,
        )
    )
    files = words.groupBy(FILE).agg(
        F.first("spec_id").alias("spec_id"),
        F.sum("rows").alias("rows"),
        *([F.first("partition").alias("partition")] if partition else []),
        F.collect_list(F.struct("block", "word")).alias("words"),
    )
    table = files.toArrow()
    names = partition_names(handle)
    found = []
    for index in range(table.num_rows):
        words_of = table["words"][index].values
        blocks = words_of.field("block").to_numpy(zero_copy_only=False).astype(np.int64)
        bits = words_of.field("word").to_numpy(zero_copy_only=False).astype(np.int64)
        spec_id = table["spec_id"][index].as_py()
        values = table["partition"][index].as_py() if partition else {}
        found.append(
            FilePositions(
                path=table[FILE][index].as_py(),
                spec_id=spec_id,
                partition=_in_spec_order(handle, spec_id, values or {}, names),
                positions=bitmap_from_sorted(unpack_words(blocks, bits)),
                rows=table["rows"][index].as_py(),
            )
        )
    return found


def _in_spec_order(handle: TableHandle, spec_id: int, values: dict[str, Any], names: dict[int, str]) -> tuple[Any, ...]:
    fields = handle.metadata.specs[spec_id].fields
    return tuple(values.get(names[part.field_id]) if part.field_id in names else None for part in fields)
