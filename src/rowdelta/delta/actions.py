"""Parses a Delta log into plain values: the actions of a commit, and the files of a version."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from rowdelta.codec import DeletionVectorDescriptor
from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True)
class AddFile:
    """A data file of the table, with its `path` as in the log.

    Attributes:
        path: Relative to the table or absolute, with URL escapes.
        partition_values: The text of each partition column; None or empty for null.
        size: The size in bytes.
        stats: The statistics, as JSON text; None if the writer recorded none.
        vector: The deletion vector; None for a file whose rows are all live.
        data_change: False for a file with rows that the table already had.
    """

    path: str
    partition_values: Mapping[str, str | None]
    size: int
    stats: str | None = field(default=None, repr=False)
    vector: DeletionVectorDescriptor | None = None
    data_change: bool = True


@dataclass(frozen=True)
class RemoveFile:
    """A data file that left the table.

    Attributes:
        path: As in the log.
        partition_values: None if an old writer omitted them.
        vector: The deletion vector that the file had.
        data_change: False for a file whose rows stay in the table, in other files.
        uncertain: Whether the same range of commits may have added it, so that the table never had it.
    """

    path: str
    partition_values: Mapping[str, str | None] | None
    vector: DeletionVectorDescriptor | None = None
    data_change: bool = True
    uncertain: bool = False


@dataclass(frozen=True)
class Metadata:
    """The table's own description.

    Attributes:
        id: The table's identity; another one means another table at the same place.
        schema: The columns, as Spark's JSON.
        partition_columns: The columns that files are partitioned by.
        configuration: Delta's table properties.
        file_format: The format of the data files.
    """

    id: str
    schema: dict[str, Any] = field(repr=False)
    partition_columns: tuple[str, ...]
    configuration: Mapping[str, str]
    file_format: str = "parquet"

    @property
    def mapping_mode(self) -> str:
        """How columns are found in the files: `none` (by name), `name` or `id`."""
        return self.configuration.get("delta.columnMapping.mode", "none")


@dataclass(frozen=True)
class Protocol:
    """What a reader must support to read the table."""

    min_reader_version: int
    reader_features: frozenset[str] = frozenset()


@dataclass(frozen=True)
class DeltaCommit:
    """One version of the log, or several joined into one change.

    Attributes:
        version: The version; of several, the last.
        timestamp: When it was written, in milliseconds.
        operation: Delta's name for it, such as `MERGE`.
        adds: The files added, by path.
        removes: The files removed, by path; a file that is added again with another vector is in both.
        metadata: The table's new description, if it changed.
        protocol: The table's new protocol, if it changed.
        changes_rows: Whether one of several commits changed rows, even if a later one moved them to other files.
    """

    version: int
    timestamp: int
    operation: str
    adds: Mapping[str, AddFile] = field(repr=False)
    removes: Mapping[str, RemoveFile] = field(repr=False)
    metadata: Metadata | None = field(default=None, repr=False)
    protocol: Protocol | None = None
    changes_rows: bool = False

    @property
    def replaces(self) -> bool:
        """Whether the rows are the same as before, as after OPTIMIZE."""
        changes = self.changes_rows or any(add.data_change for add in self.adds.values())
        changes = changes or any(remove.data_change for remove in self.removes.values())
        return bool(self.adds or self.removes) and not changes


def parse_commit(version: int, timestamp: int, text: str) -> DeltaCommit:
    """Parses the file of one commit.

    Raises:
        FormatError: A line is not an action, or two actions contradict each other.

    Examples:
        >>> list(parse_commit(3, 0, '{"remove": {"path": "a.parquet", "dataChange": true}}').removes)
        ['a.parquet']
    """
    adds: dict[str, AddFile] = {}
    removes: dict[str, RemoveFile] = {}
    metadata, protocol, operation = None, None, ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            action = json.loads(line)
            name, content = next(iter(action.items()))
            if name == "add":
                add = _parse_add(content)
                _check_once(version, "adds", add, adds.get(add.path))
                adds[add.path] = add
            elif name == "remove":
                remove = _parse_remove(content)
                _check_once(version, "removes", remove, removes.get(remove.path))
                _check_order(version, remove, adds.get(remove.path))
                removes[remove.path] = remove
            elif name == "metaData":
                metadata = parse_metadata(content)
            elif name == "protocol":
                protocol = parse_protocol(content)
            elif name == "commitInfo":
                operation = content.get("operation", "")
                timestamp = content.get("inCommitTimestamp") or timestamp
        except (ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
            raise FormatError(f"line {number} of version {version} of the Delta log cannot be read: {error}") from error
    return DeltaCommit(version, timestamp, operation, adds, removes, metadata, protocol)


def join_commits(commits: Iterable[DeltaCommit]) -> DeltaCommit:
    """Joins consecutive commits into one change, from the state before the first to the state after the last."""
    adds: dict[str, AddFile] = {}
    removes: dict[str, RemoveFile] = {}
    metadata, protocol = None, None
    operations: list[str] = []
    last: DeltaCommit | None = None
    new: set[str] = set()
    changes_rows = False
    for commit in commits:
        for path, remove in commit.removes.items():
            # The table never had a file that the range both adds and removes, unless it had the file before: any commit
            # may add a file again. Only the table itself can say.
            adds.pop(path, None)
            removes.setdefault(path, replace(remove, uncertain=True) if path in new else remove)
            new.discard(path)
        for path, add in commit.adds.items():
            if path not in removes:
                new.add(path)
            adds[path] = add
        metadata, protocol = commit.metadata or metadata, commit.protocol or protocol
        changes_rows |= bool(commit.adds or commit.removes) and not commit.replaces
        operations.append(commit.operation)
        last = commit
    assert last is not None
    names = ", ".join(dict.fromkeys(filter(None, operations)))
    return DeltaCommit(last.version, last.timestamp, names, adds, removes, metadata, protocol, changes_rows)


def parse_metadata(content: Mapping[str, Any]) -> Metadata:
    """Parses a `metaData` action.

    Raises:
        FormatError: It has no columns.
    """
    if not content.get("schemaString"):
        raise FormatError(
            "the Delta table has no columns: the metaData of its log has no schemaString",
            hint="the log is incomplete, or nothing has given the table columns yet: write to it with Delta Lake first",
        )
    return Metadata(
        id=content["id"],
        schema=json.loads(content["schemaString"]),
        partition_columns=tuple(content.get("partitionColumns") or ()),
        configuration=content.get("configuration") or {},
        file_format=(content.get("format") or {}).get("provider", "parquet"),
    )


def parse_protocol(content: Mapping[str, Any]) -> Protocol:
    """Parses a `protocol` action."""
    return Protocol(content["minReaderVersion"], frozenset(content.get("readerFeatures") or ()))


def parse_vector(content: Mapping[str, Any] | None) -> DeletionVectorDescriptor | None:
    """Parses the descriptor of an action; None if there is none, or if it deletes nothing."""
    if content is None or content["cardinality"] == 0:
        return None
    return DeletionVectorDescriptor(
        content["storageType"],
        content["pathOrInlineDv"],
        content.get("offset"),
        content["sizeInBytes"],
        content["cardinality"],
    )


_ASK_DELTA: Final = "mode='full' asks Delta Lake itself which files the table has"


def _check_once(version: int, verb: str, action: AddFile | RemoveFile, before: AddFile | RemoveFile | None) -> None:
    """Refuses a data file with two vectors: to Delta, the same file with another vector is another file."""
    if before is not None and before.vector != action.vector:
        raise FormatError(
            f"version {version} of the Delta log {verb} {action.path} twice, with different deletion vectors",
            hint=_ASK_DELTA,
        )


def _check_order(version: int, remove: RemoveFile, added: AddFile | None) -> None:
    """Refuses a file that is added and then removed: only Delta can say whether it stays."""
    if added is not None and added.vector == remove.vector:
        raise FormatError(
            f"version {version} of the Delta log adds {remove.path} and removes it again", hint=_ASK_DELTA
        )


def _parse_add(content: Mapping[str, Any]) -> AddFile:
    return AddFile(
        path=content["path"],
        partition_values=content.get("partitionValues") or {},
        size=content["size"],
        stats=content.get("stats"),
        vector=parse_vector(content.get("deletionVector")),
        data_change=content.get("dataChange", True),
    )


def _parse_remove(content: Mapping[str, Any]) -> RemoveFile:
    return RemoveFile(
        path=content["path"],
        partition_values=content.get("partitionValues"),
        vector=parse_vector(content.get("deletionVector")),
        data_change=content.get("dataChange", True),
    )
