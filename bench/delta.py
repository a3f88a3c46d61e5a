"""Measure the conversion of a Delta table with many files and deletion vectors, as a whole and commit by commit."""

from __future__ import annotations

import json
import random
import uuid
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

import rowdelta as rd
from bench.measure import Measure, after_warm_up, driver_peak_mb, live_heap_mb, ratio, seconds_of
from rowdelta.codec import encode_deletion_vector
from rowdelta.codec.delta_vector import z85_encode

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rowdelta.delta.convert import FromDeltaResult

FILES = {"small": 500, "medium": 2_000, "large": 10_000}
ROWS = 100_000
VECTORS_IN_A_FILE = 100
COMMITS = 10
TOUCHED = 10
COLUMNS = {"id": "long", "a": "long", "b": "double", "c": "string", "d": "integer", "e": "date", "f": "timestamp"}


class SyntheticDelta:
    """A Delta table with a generated log. Its vectors are real, but its data files are one file under many names."""

    def __init__(self, path: Path, files: int, vectors: int) -> None:
        self.path = path
        self.files = files
        self.version = 0
        self.vector_bytes = 0
        self._vectors: dict[int, dict[str, Any]] = {}
        self._random = random.Random(1)
        (path / "_delta_log").mkdir(parents=True)
        schema = pa.schema([("id", pa.int64())])
        pq.write_table(pa.table([range(ROWS)], schema=schema), path / "part-0.parquet")
        self._size = (path / "part-0.parquet").stat().st_size
        fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in COLUMNS.items()]
        features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
        self._protocol = {"minReaderVersion": 3, "minWriterVersion": 7, **features}
        self._metadata = {
            "id": str(uuid.uuid4()),
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": fields}),
            "partitionColumns": [],
            "configuration": {"delta.enableDeletionVectors": "true"},
            "createdTime": 0,
        }
        self._commit(
            [
                {"protocol": self._protocol},
                {"metaData": self._metadata},
                *self._adds(range(vectors)),
                *(self._add(number) for number in range(vectors, files)),
            ]
        )

    def append(self, count: int) -> None:
        """Commits new files."""
        new = range(self.files, self.files + count)
        self.files += count
        self._commit([self._add(number) for number in new])

    def delete(self, count: int) -> None:
        """Commits new vectors for existing files."""
        first = self.version * count % max(1, self.files // 4)
        touched = range(first, first + count)
        removes = [self._remove(number) for number in touched]
        self._commit([*removes, *self._adds(touched)])

    def _remove(self, number: int) -> dict[str, Any]:
        """Returns the action that removes a file. Path and vector identify the file."""
        vector = self._vectors.get(number)
        remove = {"path": f"part-{number}.parquet", "dataChange": True, "partitionValues": {}}
        return {"remove": remove | ({} if vector is None else {"deletionVector": vector})}

    def _adds(self, numbers: range) -> list[dict[str, Any]]:
        """Returns the actions that add files with vectors. Many vectors share one vector file."""
        actions = []
        for start in range(0, len(numbers), VECTORS_IN_A_FILE):
            name, content = uuid.uuid4(), bytearray(b"\x01")
            for number in numbers[start : start + VECTORS_IN_A_FILE]:
                blob = encode_deletion_vector(BitMap64(sorted(self._random.sample(range(ROWS), ROWS // 100))))
                vector = {
                    "storageType": "u",
                    "pathOrInlineDv": z85_encode(name.bytes),
                    "offset": len(content),
                    "sizeInBytes": len(blob) - 8,
                    "cardinality": ROWS // 100,
                }
                content += blob
                self.vector_bytes += len(blob)
                self._vectors[number] = vector
                actions.append(self._add(number, vector))
            (self.path / f"deletion_vector_{name}.bin").write_bytes(content)
        return actions

    def _add(self, number: int, vector: dict[str, Any] | None = None) -> dict[str, Any]:
        file = self.path / f"part-{number}.parquet"
        if not file.exists():
            file.hardlink_to(self.path / "part-0.parquet")
        low, high = number * ROWS, (number + 1) * ROWS - 1
        bounds = [
            {"id": end, "a": end * 7, "b": end / 3, "c": f"text of about thirty-two bytes {end}", "d": number, "e": day}
            for end, day in ((low, "2020-01-01"), (high, "2024-12-31"))
        ]
        stats = {
            "numRecords": ROWS,
            "minValues": {**bounds[0], "f": "2020-01-01T00:00:00.000Z"},
            "maxValues": {**bounds[1], "f": "2024-12-31T23:59:59.999Z"},
            "nullCount": dict.fromkeys(COLUMNS, 0),
        }
        add = {
            "path": file.name,
            "partitionValues": {},
            "size": self._size,
            "modificationTime": 0,
            "dataChange": True,
            "stats": json.dumps(stats),
            **({} if vector is None else {"deletionVector": vector}),
        }
        return {"add": add}

    def _commit(self, actions: list[dict[str, Any]]) -> None:
        info = {"commitInfo": {"timestamp": 0, "operation": "WRITE", "operationParameters": {}}}
        text = "\n".join(json.dumps(action) for action in [info, *actions])
        (self.path / "_delta_log" / f"{self.version:020}.json").write_text(text)
        # Delta Lake also writes this file, so that its reader finds the schema without reading the whole log.
        checksum = {
            "tableSizeBytes": self.files * self._size,
            "numFiles": self.files,
            "numMetadata": 1,
            "numProtocol": 1,
            "metadata": self._metadata,
            "protocol": self._protocol,
        }
        (self.path / "_delta_log" / f"{self.version:020}.crc").write_text(json.dumps(checksum))
        self.version += 1


def run(spark: SparkSession, scale: str, folder: Path) -> list[Measure]:
    count = FILES[scale]
    large = SyntheticDelta(folder / "delta-large", count, count // 2)
    small = SyntheticDelta(folder / "delta-small", count // 10, count // 20)
    return [*_measure_full(spark, large), *_measure_incremental(spark, large, small)]


def _measure_full(spark: SparkSession, delta: SyntheticDelta) -> list[Measure]:
    def convert(name: str) -> FromDeltaResult:
        return rd.from_delta(spark, delta.path, f"lake.bench.{name}").execute()

    convert("delta_warm")
    results = [convert(f"delta_{number}") for number in range(3)]
    best = min(result.seconds for result in results)
    what = f"{delta.files:,} data files with {results[0].deletion_vectors:,} vectors"
    python = driver_peak_mb(partial(convert, "delta_memory"))
    java = live_heap_mb(spark, partial(convert, "delta_heap"))
    copied = round(results[0].bytes_copied / delta.vector_bytes, 3)
    detail = {"seconds": [round(result.seconds, 2) for result in results]}
    return [
        Measure(f"from_delta, {what}", round(best, 2), unit="s", detail=detail),
        Measure("its driver memory, Python", python, unit="MiB"),
        Measure("its driver memory, live heap of the JVM", java, unit="MiB"),
        Measure("bytes copied / bytes of deletion vectors", copied, "<= 1", detail={"bytes": results[0].bytes_copied}),
    ]


def _measure_incremental(spark: SparkSession, large: SyntheticDelta, small: SyntheticDelta) -> list[Measure]:
    """Measures commits to a large and a small table, in turn."""
    tables = {"lake.bench.delta_large": large, "lake.bench.delta_small": small}
    sizes = f"{large.files:,} / {small.files:,} files"
    for name, delta in tables.items():
        rd.from_delta(spark, delta.path, name).execute()
    measures = []
    for kind in ("append", "delete"):
        turns: list[list[float]] = []
        for _ in range(COMMITS + 1):
            turns.append([])
            for name, delta in tables.items():
                getattr(delta, kind)(TOUCHED)
                turns[-1].append(seconds_of(partial(_convert_new_commits, spark, delta, name)))
        above, below = after_warm_up(turns)
        what = f"{TOUCHED} new files" if kind == "append" else f"{TOUCHED} changed vectors"
        measures.append(ratio(f"one incremental commit of {what}: {sizes}", above, below, "<= 1.5"))
    return measures


def _convert_new_commits(spark: SparkSession, delta: SyntheticDelta, name: str) -> None:
    rd.from_delta(spark, delta.path, name, mode="incremental").execute()
