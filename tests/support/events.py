"""Debezium events in files, and streams that process all files and stop."""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import rowdelta as rd

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rowdelta.cdc import BatchProgress
    from rowdelta.cdc.running_stream import RunningStream


def event(op: str, before: dict[str, Any] | None, after: dict[str, Any] | None, at: int = 1) -> str:
    """A change event without a schema."""
    return json.dumps({"op": op, "before": before, "after": after, "ts_ms": at, "source": {"lsn": at}})


@dataclass
class EventFolder:
    """A folder of events, each file one batch, and the state of the stream that reads it."""

    folder: Path
    number: int = 0
    number_of_checkpoint: int = 0
    progress: list[BatchProgress] = field(default_factory=list)

    @property
    def checkpoint(self) -> str:
        return str(self.folder / f"checkpoint{self.number_of_checkpoint or ''}")

    def add(self, events: Iterable[str]) -> None:
        """Writes one more file."""
        inbox = self.folder / "inbox"
        inbox.mkdir(parents=True, exist_ok=True)
        (self.folder / "next").write_text("".join(f"{line}\n" for line in events), encoding="utf-8")
        # Spark orders files by modification time, and files that are written at once have the same one.
        os.utime(self.folder / "next", (1_700_000_000 + self.number, 1_700_000_000 + self.number))
        (self.folder / "next").rename(inbox / f"{self.number:04d}.json")
        self.number += 1

    def start(self, spark: SparkSession, table: rd.Table, key: str = "id", **options: Any) -> RunningStream:
        """Starts a stream that processes the files, one per batch."""
        source = spark.readStream.option("maxFilesPerTrigger", 1).text(str(self.folder / "inbox"))
        options = {"format": "debezium", "progress": self.progress.append, **options}
        stream = rd.cdc.stream(source, table, key, **options)
        return stream.start(self.checkpoint, available_now=True, query_name=f"q{uuid.uuid4().hex}")

    def run(self, spark: SparkSession, table: rd.Table, key: str = "id", **options: Any) -> RunningStream:
        """Processes the files, one per batch, and stops."""
        running = self.start(spark, table, key, **options)
        running.await_termination()
        return running
