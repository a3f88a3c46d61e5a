"""What a Delta log says, as plain values: the actions of a commit, and the files of a version."""

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
    """A data file of the table, `path` as it is in the log.

    Attributes:
        path: Relative to the table or absolute, with URL escapes.
        partition_values: The text of each partition column; None or empty for null.
        size: The size in bytes.
        stats: The statistics, as JSON text; None when the writer kept none.
        vector: The deletion vector; None for a file whose rows are all live.
        data_change: False for a file that holds rows which the table already had.
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
        path: As it is in the log.
        partition_values: None where an old writer left them out.
        vector: The deletion vector that the file had.
        data_change: False for a file whose rows stay in the table, in other files.
        uncertain: Whether it may have come inside the same range of commits, and so was never there.
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
        file_format: What data files are.
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
    """What a reader must know to read the table."""

    min_reader_version: int
    reader_features: frozenset[str] = frozenset()


@dataclass(frozen=True)
class DeltaCommit:
    """One version of the log, or several joined into one change.

    Attributes:
        version: The version, of several the last.
        timestamp: When it was written, in milliseconds.
        operation: What Delta calls it, such as `MERGE`.
        adds: The files added, by path.
        removes: The files removed, by path; one that was added again with another vector is in both.
        metadata: The table's new description, if it changed.
        protocol: The table's new protocol, if it changed.
        changes_rows: Whether one of several commits changed rows, also where a later one moved them to other files.
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
    """Reads the file of one commit.

    Raises:
        FormatError: A line is no action, or two of them contradict each other.

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
            kind, content = next(iter(action.items()))
            if kind == "add":
                add = _add(content)
                _check_once(version, "adds", add, adds.get(add.path))
                adds[add.path] = add
            elif kind == "remove":
                remove = _remove(content)
                _check_once(version, "removes", remove, removes.get(remove.path))
                _check_order(version, remove, adds.get(remove.path))
                removes[remove.path] = remove
            elif kind == "metaData":
                metadata = parse_metadata(content)
            elif kind == "protocol":
                protocol = parse_protocol(content)
            elif kind == "commitInfo":
                operation = content.get("operation", "")
                timestamp = content.get("inCommitTimestamp") or timestamp
        except (ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
            raise FormatError(f"line {number} of version {version} of the Delta log cannot be read: {error}") from error
    return DeltaCommit(version, timestamp, operation, adds, removes, metadata, protocol)


def join_commits(commits: Iterable[DeltaCommit]) -> DeltaCommit:
    """Several commits in a row as one: what the last of them left, against what was there before the first."""
    adds: dict[str, AddFile] = {}
    removes: dict[str, RemoveFile] = {}
    metadata, protocol = None, None
    operations: list[str] = []
    last: DeltaCommit | None = None
    new: set[str] = set()
    changes_rows = False
    for commit in commits:
        for path, remove in commit.removes.items():
            # A file that came and went inside the range was never there, unless the table had it before: any commit may
            # add a file again, and only the table can tell.
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
    """Reads a `metaData` action.

    Raises:
        FormatError: It names no columns.
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
    """Reads a `protocol` action."""
    return Protocol(content["minReaderVersion"], frozenset(content.get("readerFeatures") or ()))


def parse_vector(content: Mapping[str, Any] | None) -> DeletionVectorDescriptor | None:
    """Reads the descriptor of an action; None where there is none, and for one that deletes nothing."""
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


def _check_once(version: int, does: str, found: AddFile | RemoveFile, before: AddFile | RemoveFile | None) -> None:
    """A data file has one vector: to Delta, the same file with another one is another file."""
    if before is not None and before.vector != found.vector:
        raise FormatError(
            f"version {version} of the Delta log {does} {found.path} twice, with different deletion vectors",
            hint=_ASK_DELTA,
        )


def _check_order(version: int, remove: RemoveFile, added: AddFile | None) -> None:
    """Whether a file that is added and then removed stays is for Delta to say."""
    if added is not None and added.vector == remove.vector:
        raise FormatError(
            f"version {version} of the Delta log adds {remove.path} and removes it again", hint=_ASK_DELTA
        )


def _add(content: Mapping[str, Any]) -> AddFile:
    return AddFile(
        path=content["path"],
        partition_values=content.get("partitionValues") or {},
        size=content["size"],
        stats=content.get("stats"),
        vector=parse_vector(content.get("deletionVector")),
        data_change=content.get("dataChange", True),
    )


def _remove(content: Mapping[str, Any]) -> RemoveFile:
    return RemoveFile(
        path=content["path"],
        partition_values=content.get("partitionValues"),
        vector=parse_vector(content.get("deletionVector")),
        data_change=content.get("dataChange", True),
    )
