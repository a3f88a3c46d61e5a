"""Reads versions of a Delta table as changes to apply."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from rowdelta.codec import DeletionVectorDescriptor
from rowdelta.delta.actions import AddFile, DeltaCommit, join_commits, parse_commit, parse_metadata, parse_protocol
from rowdelta.delta.features import check_metadata, check_protocol
from rowdelta.delta.log import DeltaLog
from rowdelta.delta.paths import REPAIR
from rowdelta.errors import FormatError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from rowdelta.delta.log import DeltaSnapshot, LogFile


class DeltaSource:
    """A Delta table up to one version."""

    def __init__(self, spark: SparkSession, name: str, version: int | None) -> None:
        self._log = DeltaLog(spark, name)
        self.root = self._log.root
        self.latest = self._log.read_latest()
        if version is not None and not 0 <= version <= self.latest.version:
            raise InputError(
                f"the Delta table has no version {version}", hint=f"its newest version is {self.latest.version}"
            )
        self.version = self.latest.version if version is None else version
        self._snapshot: DeltaSnapshot | None = None

    @property
    def snapshot(self) -> DeltaSnapshot:
        """The state at the version."""
        if self._snapshot is None:
            same = self.version == self.latest.version
            self._snapshot = self.latest if same else self._log.read_version(self.version)
        return self._snapshot

    @property
    def table_id(self) -> str:
        """The identity of the current table at this place."""
        return str(self.latest.metadata["id"])

    def read_whole(self) -> DeltaCommit:
        """Reads the state at the version as one commit that adds every file."""
        snapshot = self.snapshot
        protocol, metadata = parse_protocol(snapshot.protocol), parse_metadata(snapshot.metadata)
        check_protocol(protocol)
        check_metadata(metadata)
        columns = snapshot.files().to_pydict()
        adds: dict[str, AddFile] = {}
        for path, values, size, stats, *vector in zip(*columns.values(), strict=True):
            storage_type, text, offset, length, rows = vector
            descriptor = DeletionVectorDescriptor(storage_type, text, offset, length, rows) if rows else None
            adds[path] = AddFile(path, json.loads(values or "{}"), size, stats, descriptor)
        if len(adds) < len(columns["path"]):
            path = Counter(columns["path"]).most_common(1)[0][0]
            raise FormatError(
                f"version {snapshot.version} of the Delta table lists {path} more than once, with different deletion "
                "vectors: Delta reads rows of it twice",
                hint=REPAIR,
            )
        return DeltaCommit(snapshot.version, snapshot.timestamp, "", adds, {}, metadata, protocol)

    def commits_after(self, version: int) -> list[LogFile] | None:
        """Lists the files of the commits after a version; None if the log no longer has all of them."""
        expected = list(range(version + 1, self.version + 1))
        files = self._log.list_log_files(version + 1, self.version) if expected else []
        return files if [file.version for file in files] == expected else None

    def read(self, files: list[LogFile], *, joined: bool) -> Iterator[DeltaCommit]:
        """Reads commits one by one, or all of them as one change."""
        commits = (self._read_commit(file) for file in files)
        yield from [join_commits(commits)] if joined and files else commits

    def _read_commit(self, file: LogFile) -> DeltaCommit:
        commit = parse_commit(file.version, file.modification_time, self._log.read_log_file(file))
        if commit.protocol is not None:
            check_protocol(commit.protocol)
        if commit.metadata is not None:
            check_metadata(commit.metadata)
        return commit
