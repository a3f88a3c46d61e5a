"""Delta tables for tests: golden ones of other engines, and changes made with Delta's own SQL."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

from tests.support.golden import GOLDEN, cases

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TEST_PREFIX = "test%dv%prefix-"
_CLONE = "clone_merge_deletion_vector_cloned"
_CLONED_FROM = "s3://test-bucket/tiny/clone_merge_deletion_vector_source"


@dataclass(frozen=True)
class GoldenDelta:
    """A public Delta table and the facts about it."""

    id: str
    folder: Path
    facts: dict[str, Any] = field(repr=False)

    @property
    def versions(self) -> int:
        return int(self.facts["versions"])


def golden_delta_tables() -> list[GoldenDelta]:
    return [GoldenDelta(case["id"], GOLDEN / case["local"], case["checked"]) for case in cases("delta-table")]


def install_delta(table: GoldenDelta, folder: Path) -> str:
    """Copies a table and corrects it: removes the test prefixes of files, and rewrites absolute paths."""
    target = folder / table.folder.name
    shutil.copytree(table.folder, target)
    for vector in target.rglob(f"{_TEST_PREFIX}*"):
        vector.rename(vector.with_name(vector.name.removeprefix(_TEST_PREFIX)))
    replacements = {
        "{{FOLDER_WITH_SPECIAL_CHAR}}": f"{target}/folder&with%25special%20char",
        _TEST_PREFIX.replace("%", "%25"): "",
    }
    if table.folder.name == _CLONE:
        replacements[_CLONED_FROM] = (table.folder.parent / "clone_merge_deletion_vector_source").as_uri()
    for log in (target / "_delta_log").glob("*.json"):
        text = log.read_text()
        for old, new in replacements.items():
            text = text.replace(old, new)
        log.write_text(text)
    for checksum in target.rglob(".*.crc"):
        checksum.unlink()
    return str(target)


def delta_rows(spark: SparkSession, path: str, versions: range | list[int]) -> DataFrame:
    """The rows of several versions as Delta reads them, with the version as a column."""
    return _stack(
        [
            (version, spark.read.format("delta").option("versionAsOf", version).load(path).select("*"))
            for version in versions
        ]
    )


def iceberg_rows(spark: SparkSession, name: str, versions: range | list[int]) -> DataFrame:
    """The rows of several Delta versions as Iceberg reads them, each from the snapshot that was made of it."""
    snapshots = spark.sql(f"SELECT snapshot_id, summary['rowdelta.delta.version'] FROM {name}.snapshots").collect()
    by_version = sorted((int(version), snapshot) for snapshot, version in snapshots)
    frames = []
    for version in versions:
        before = [snapshot for made, snapshot in by_version if made <= version]
        if before:
            frames.append((version, spark.sql(f"SELECT * FROM {name} VERSION AS OF {before[-1]}")))
        else:
            frames.append((version, spark.table(name).where("false")))
    return _stack(frames)


def _stack(frames: list[tuple[int, DataFrame]]) -> DataFrame:
    """The union of frames, with whole rows as text, so that versions may differ in their columns."""
    stacked = None
    for version, frame in frames:
        options = {"ignoreNullFields": "true"}
        rows = frame.select(F.lit(version).alias("version"), F.to_json(F.struct("*"), options).alias("row"))
        stacked = rows if stacked is None else stacked.unionByName(rows)
    assert stacked is not None
    return stacked


def log_actions(path: str, version: int, kind: str) -> list[dict[str, Any]]:
    """The actions of one kind in a commit."""
    text = (Path(path) / "_delta_log" / f"{version:020}.json").read_text()
    return [action[kind] for action in map(json.loads, filter(None, text.splitlines())) if kind in action]
