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

from tests.support.golden import GOLDEN, cases

if TYPE_CHECKING:
    from pathlib import Path


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
    """The tables of facts.json of some categories; none where the golden data is not there."""
    return [_table(case) for case in cases(*categories) if "location" in case["checked"]]


def _table(case: dict[str, Any]) -> GoldenTable:
    facts = case["checked"]
    found = next((GOLDEN / case["local"]).rglob(facts["metadata_file"]))
    return GoldenTable(case["id"], found.parent.parent, facts["metadata_file"], facts["location"], facts)


def install(table: GoldenTable, warehouse: Path, namespace: str = "golden") -> str:
    """Copies a table into a hadoop catalog's warehouse and returns its name there, `namespace.table`."""
    target = warehouse / namespace / table.table_name
    if not target.exists():
        shutil.copytree(table.folder, target)
        _Relocation(table.location, target).run(table.metadata_file)
    return f"{namespace}.{table.table_name}"


class _Relocation:
    def __init__(self, old: str, folder: Path) -> None:
        bare = re.sub(r"^[a-z0-9]+://[^/]*", "", old) if "://" in old else old
        spellings = {old, bare, f"file://{bare}", f"file:{bare}", f"hdfs://localhost:20500{bare}"}
        self.old = sorted((s.rstrip("/") for s in spellings if s), key=len, reverse=True)
        self.folder = folder
        self.sizes: dict[str, int] = {}

    def run(self, metadata_file: str) -> None:
        metadata = self.folder / "metadata"
        for path in self.folder.rglob("*"):
            if path.is_file() and path.suffix == ".parquet":
                self._position_deletes(path)
        manifests = [path for path in metadata.glob("*.avro") if not path.name.startswith("snap-")]
        for path in [*manifests, *metadata.glob("snap-*.avro")]:  # lists last: they hold the manifests' lengths
            self._avro(path)
        document = self._move(json.loads((metadata / metadata_file).read_text()))
        for path in metadata.glob("*.metadata.json"):
            path.unlink()
        (metadata / "v1.metadata.json").write_text(json.dumps(document))
        (metadata / "version-hint.text").write_text("1")
        for path in self.folder.rglob(".*.crc"):
            path.unlink()

    def _position_deletes(self, path: Path) -> None:
        names = pq.read_schema(path).names
        if "file_path" not in names or "pos" not in names:
            return
        data = pq.read_table(path)
        moved = pa.array([self._move(value) for value in data["file_path"].to_pylist()], pa.string())
        data = data.set_column(names.index("file_path"), data.schema.field("file_path"), moved)
        pq.write_table(data, path)
        self.sizes[str(path)] = path.stat().st_size

    def _avro(self, path: Path) -> None:
        with path.open("rb") as file:
            reader = fastavro.reader(file)
            records = [self._move(record) for record in reader]
            extra = {k: self._move(v) for k, v in reader.metadata.items() if not k.startswith("avro.")}
            schema = reader.writer_schema
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

    def _move(self, value: Any) -> Any:
        if isinstance(value, str):
            for old in self.old:
                if value == old or value.startswith(old + "/"):
                    return str(self.folder) + value[len(old) :]
            return value
        if isinstance(value, bytes):
            text = value.decode("utf-8", "surrogateescape")
            return self._move(text).encode("utf-8", "surrogateescape")
        if isinstance(value, dict):
            return {key: self._move(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._move(inner) for inner in value]
        return value
