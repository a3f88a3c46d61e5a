"""Makes joins with rows by file and position: those that deletion vectors or position delete files name."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.codec import bitmap_to_numpy, compute_spark_hashes
from rowdelta.errors import FormatError
from rowdelta.iceberg import read_positions
from rowdelta.read.delete_joins import (
    HASH,
    SIDE,
    DeletedKeys,
    combine_tests,
    write_container_condition,
    write_container_probe,
)
from rowdelta.read.merged_keys import BYTES_PER_VALUE, MergedKeys, make_container_table, make_value_table
from rowdelta.spark import make_frame_from_arrow, parse_column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    from pyroaring import BitMap64

    from rowdelta.iceberg import DeleteEntry, SnapshotFiles, TableHandle

_POSITION_BITS: Final = 32
_BYTES_PER_POSITION: Final = 256  # in a hashed relation, with the path
# A row's place as one number: the hash of its file, and its position.
_PLACE: Final = f"(shiftleft(cast(hash(_file) as bigint), {_POSITION_BITS}) + _pos)"
_SAME_FILE: Final = f"({SIDE}file IS NULL OR {SIDE}file = _file)"


def join_bitmaps(handle: TableHandle, bitmaps: Mapping[str, BitMap64]) -> DeletedKeys:
    """Makes a join with the positions of bitmaps, by data file, for rows of no other data files.

    The rows need `_file` and `_pos`. A hash stands for the path, which is compared only where two files share it.
    """
    codes = dict(zip(bitmaps, compute_spark_hashes(list(bitmaps)), strict=True))
    counts = Counter(codes.values())
    alone = [path for path, code in codes.items() if counts[code] == 1]
    alike = [path for path, code in codes.items() if counts[code] > 1]
    parts: list[tuple[str | None, npt.NDArray[np.int64]]] = []
    parts += [(None, _number_places(bitmaps, codes, alone))] if alone else []
    parts += [(path, _number_places(bitmaps, codes, [path])) for path in alike]
    every = MergedKeys(np.sort(np.concatenate([keys for _, keys in parts])), None, None)
    make_table: Any = make_container_table if every.dense else make_value_table
    tables = []
    for path, keys in parts:
        table = make_table(MergedKeys(keys, None, None))
        tables.append(table.append_column("file", pa.array([path] * len(table), pa.string())))
    table = pa.concat_tables(tables)
    frame = make_frame_from_arrow(handle.spark, table)
    frame = frame.select(*(F.col(name).alias(f"{SIDE}{name}") for name in frame.columns))
    same_file = f" AND {_SAME_FILE}" if alike else ""
    if every.dense:
        frame = frame.withColumn(HASH, F.col(f"{SIDE}container"))
        probe = write_container_probe(_PLACE, nullable=False, scoped=[])
        return DeletedKeys(
            frame, probe, write_container_condition(_PLACE, aged=False, nullable=False) + same_file, table.nbytes
        )
    frame = frame.withColumn(HASH, F.xxhash64(F.col(f"{SIDE}key")))
    condition = combine_tests([f"{_PLACE} <=> {SIDE}key"]) + same_file
    return DeletedKeys(frame, f"xxhash64({_PLACE})", condition, len(table) * BYTES_PER_VALUE)


def _number_places(
    bitmaps: Mapping[str, BitMap64], codes: Mapping[str, int], paths: Sequence[str]
) -> npt.NDArray[np.int64]:
    """Numbers the places in some files with different hashes, sorted."""
    places = [np.empty(0, np.int64)]
    for path in sorted(paths, key=codes.__getitem__):
        positions = bitmap_to_numpy(bitmaps[path]).astype(np.int64)
        if len(positions) and int(positions[-1]) >> _POSITION_BITS:
            raise FormatError(f"position {positions[-1]} of {path} is deleted, but no file has so many rows")
        places.append((codes[path] << _POSITION_BITS) + positions)
    return np.concatenate(places)


def join_position_files(handle: TableHandle, files: SnapshotFiles, entries: Sequence[DeleteEntry]) -> DeletedKeys:
    """Makes a join with the rows of position delete files, which Spark reads.

    Args:
        handle: The table.
        files: The snapshot that has the entries.
        entries: The position delete files.
    """
    rows = read_positions(handle, files, entries)
    frame = rows.select(
        rows["file_path"].alias(f"{SIDE}file"),
        rows["pos"].alias(f"{SIDE}pos"),
        parse_column("xxhash64(file_path, pos)").alias(HASH),
    )
    condition = combine_tests([f"_file <=> {SIDE}file", f"_pos <=> {SIDE}pos"])
    size = sum(entry.record_count for entry in entries) * _BYTES_PER_POSITION
    return DeletedKeys(frame, "xxhash64(_file, _pos)", condition, size)
