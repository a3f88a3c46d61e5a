"""Golden Iceberg tables: real tables of other engines, copied into a warehouse with their absolute paths rewritten."""

from __future__ import annotations

import io
import json
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from py4j.java_gateway import get_field
from pyspark.sql import SparkSession

from tests.support.golden import GOLDEN, cases

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LONG_MAX = 2**63 - 1
INT_EQUALITY_IDS = '"element-id": 136, "type": "array", "items": "int"'
LONG_EQUALITY_IDS = INT_EQUALITY_IDS.replace('"int"', '"long"')


@dataclass(frozen=True)
class GoldenTable:
    id: str
    folder: Path
    metadata_file: str
    location: str
    facts: dict[str, Any]

    @property
    def table_name(self) -> str:
        return re.sub(r"\W", "_", self.id.split(":")[-1].split("iceberg/")[-1]).lower()


def golden_tables(*categories: str) -> list[GoldenTable]:
    """The tables of facts.json of some categories; empty without the golden data."""
    return [_table(case) for case in cases(*categories) if "location" in case["checked"]]


def _table(case: dict[str, Any]) -> GoldenTable:
    facts = case["checked"]
    found = next((GOLDEN / case["local"]).rglob(facts["metadata_file"]))
    return GoldenTable(case["id"], found.parent.parent, facts["metadata_file"], facts["location"], facts)


def install(table: GoldenTable, warehouse: Path, namespace: str = "golden", *, fit_ids: bool = False) -> str:
    """Copies a table into a hadoop catalog's warehouse and returns its name there, `namespace.table`.

    `fit_ids` gives ids the width that the spec says, so that Java can read them: 63 bits for a snapshot's, and `int`
    for `equality_ids` that a manifest holds as `long`.
    """
    target = warehouse / namespace / table.table_name
    if not target.exists():
        shutil.copytree(table.folder, target)
        _Relocation(table.location, target, fit_ids=fit_ids).run(table.metadata_file)
    return f"{namespace}.{table.table_name}"


class _Relocation:
    def __init__(self, old: str, folder: Path, *, fit_ids: bool) -> None:
        bare = re.sub(r"^[a-z0-9]+://[^/]*", "", old) if "://" in old else old
        spellings = {old, bare, f"file://{bare}", f"file:{bare}", f"hdfs://localhost:20500{bare}"}
        self.old = sorted((s.rstrip("/") for s in spellings if s), key=len, reverse=True)
        self.folder = folder
        self.fit_ids = fit_ids
        self.sizes: dict[str, int] = {}

    def run(self, metadata_file: str) -> None:
        metadata = self.folder / "metadata"
        for path in self.folder.rglob(".*.crc"):
            path.unlink()
        for path in self.folder.rglob("*"):
            if path.is_file():
                self._position_deletes(path)
                self.sizes[str(path)] = path.stat().st_size
        manifests = [path for path in metadata.glob("*.avro") if not path.name.startswith("snap-")]
        for path in [*manifests, *metadata.glob("snap-*.avro")]:  # lists last: they hold the manifests' lengths
            self._avro(path)
        document = self._move(json.loads((metadata / metadata_file).read_text()))
        for path in metadata.glob("*.metadata.json"):
            path.unlink()
        (metadata / "v1.metadata.json").write_text(json.dumps(document))
        (metadata / "version-hint.text").write_text("1")

    def _position_deletes(self, path: Path) -> None:
        magic = path.read_bytes()[:4]
        if magic == b"PAR1":
            move_parquet_position_deletes(path, self._move_path)
        elif magic[:3] == b"ORC":
            _move_orc_position_deletes(path, self._move_path)

    def _avro(self, path: Path) -> None:
        with path.open("rb") as file:
            reader = fastavro.reader(file)
            records = [self._move(record) for record in reader]
            extra = {k: self._move(v) for k, v in reader.metadata.items() if not k.startswith("avro.")}
            schema: Any = reader.writer_schema
        if self.fit_ids:
            schema = json.loads(json.dumps(schema).replace(LONG_EQUALITY_IDS, INT_EQUALITY_IDS))
        for record in records:
            entry = record.get("data_file", {})
            if entry.get("file_path") in self.sizes:
                entry["file_size_in_bytes"] = self.sizes[entry["file_path"]]
            if record.get("manifest_path") in self.sizes:
                record["manifest_length"] = self.sizes[record["manifest_path"]]
        out = io.BytesIO()
        fastavro.writer(out, schema, records, codec="deflate", metadata=extra)
        path.write_bytes(out.getvalue())
        self.sizes[str(path)] = len(out.getvalue())

    def _move_path(self, value: str) -> str:
        for old in self.old:
            if value == old or value.startswith(old + "/"):
                return str(self.folder) + value[len(old) :]
        return value

    def _move(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._move_path(value)
        if isinstance(value, bytes):
            return self._move_path(value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if isinstance(value, dict):
            return {key: self._move(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._move(inner) for inner in value]
        if self.fit_ids and isinstance(value, int) and value > LONG_MAX:
            return value % LONG_MAX
        return value


def move_parquet_position_deletes(path: Path, move: Callable[[str], str]) -> None:
    """Rewrites the paths in a position delete file in place; does not change any other Parquet file."""
    names = pq.read_schema(path).names
    if "file_path" not in names or "pos" not in names:
        return
    data = pq.read_table(path)
    moved = pa.array([move(value) for value in data["file_path"].to_pylist()], pa.string())
    data = data.set_column(names.index("file_path"), data.schema.field("file_path"), moved)
    pq.write_table(data, path)


def _move_orc_position_deletes(path: Path, move: Callable[[str], str]) -> None:
    """Does the same for ORC, through Java: pyarrow would lose the type attributes that hold Iceberg's field ids."""
    jvm: Any = SparkSession.active()._jvm
    orc, hadoop = jvm.org.apache.orc.OrcFile, jvm.org.apache.hadoop
    conf = hadoop.conf.Configuration()
    reader = orc.createReader(hadoop.fs.Path(str(path)), orc.readerOptions(conf))
    schema = reader.getSchema()
    names = list(schema.getFieldNames())
    if "file_path" not in names or "pos" not in names:
        return
    copy = path.with_name(f"{path.name}.moved")
    writer = orc.createWriter(hadoop.fs.Path(str(copy)), orc.writerOptions(conf).setSchema(schema))
    rows, batch = reader.rows(), schema.createRowBatch()
    while rows.nextBatch(batch):
        size = get_field(batch, "size")
        paths = get_field(batch, "cols")[names.index("file_path")]
        paths.flatten(False, None, size)
        moved = [move(paths.toString(row)).encode() for row in range(size)]
        paths.initBuffer()
        for row, value in enumerate(moved):
            paths.setVal(row, value)
        writer.addRowBatch(batch)
    rows.close()
    writer.close()
    copy.replace(path)
    for crc in path.parent.glob(".*.crc"):
        crc.unlink()
