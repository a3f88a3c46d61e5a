"""One Iceberg table as Spark's own catalog gives it: its metadata, its files' bytes, and its metadata tables."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pyspark.sql.types import StructType

from rowdelta.errors import InputError, TableError
from rowdelta.iceberg.cache import LruCache
from rowdelta.iceberg.file_io import FileIO
from rowdelta.iceberg.load_errors import explain_load_error
from rowdelta.iceberg.manifest_reader import ManifestReader
from rowdelta.iceberg.schema import write_default_sql
from rowdelta.iceberg.scratch_files import ScratchFiles
from rowdelta.iceberg.shared_files import SharedFiles, is_local
from rowdelta.iceberg.table_state import TableState, read_metadata_document, read_snapshot_document
from rowdelta.iceberg.write_location import get_location_provider, may_refuse_location
from rowdelta.spark import (
    Gateway,
    JavaError,
    NameRule,
    is_temporary_view,
    quote_path,
    read_name_rule,
    run_interruptibly,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from rowdelta.codec import PuffinFile
    from rowdelta.iceberg.metadata import TableMetadata
    from rowdelta.iceberg.schema import Field
    from rowdelta.iceberg.snapshots import Snapshot

Found = TypeVar("Found")
MAIN: Final = "main"
CURRENT_DEFAULT: Final = "CURRENT_DEFAULT"  # by this name, Iceberg gives Spark 4 the default of a column
_LIVE_FRAMES: Final = 2  # of the newest snapshot, and of one to compare it with


@dataclass(frozen=True)
class CommitMark:
    """What every commit of a handle has in addition to its change.

    Attributes:
        summary: Entries of the snapshot's summary.
        properties: Table properties that are set in the same step.
    """

    summary: dict[str, str] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)


class TableHandle:
    """A loaded table. `metadata` is what the last `refresh()` saw; `gateway` and `java_table` are of the JVM.

    The table is refreshed by each verb, or when its metadata is first used: opening it costs no request of its own.

    Attributes:
        name: The name that the table was opened by.
        full_name: The name with its catalog, quoted for SQL. `USE` may give `name` another meaning later, but not this.
        catalog: The name of the catalog.
    """

    def __init__(self, spark: SparkSession, name: str, branch: str = MAIN) -> None:
        self.gateway = Gateway(spark)
        if not isinstance(name, str):
            raise InputError(
                f"a table name must be text, not {type(name).__name__}: {name!r}", hint="such as 'lake.db.orders'"
            )
        self.spark = spark
        self.name = name
        self.branch = branch
        self.java_table: Any = _load_table(self.gateway, name)
        self.catalog, *rest = _resolve_name(self.gateway, name)
        self.full_name = quote_path((self.catalog, *rest))
        self._state: TableState | None = None
        self.mark = CommitMark()
        self.puffin_footers: LruCache[str, PuffinFile] = LruCache()
        self.live_frames: LruCache[tuple[int, int, int], Any] = LruCache(_LIVE_FRAMES)
        if branch != MAIN:
            self.metadata.head(branch)  # a branch that does not exist fails here, not halfway through an operation

    def refresh(self) -> TableMetadata:
        """Reads the newest metadata from the catalog."""
        self.catch_up()
        return self.metadata

    def catch_up(self) -> None:
        """Refreshes without parsing the metadata, which the caller does not need yet.

        Every verb begins with this, in any thread: Iceberg must look up settings in the table's own session.
        """
        self.gateway.activate()
        try:
            self.java_table.refresh()
        except JavaError as error:
            raise explain_load_error(self.spark, self.name, error) from error
        self.take_current()

    def take_current(self) -> None:
        """Takes the metadata that Iceberg's table object has: after a commit, many catalogs have just returned it."""
        current = self.java_table.operations().current()
        location = current.metadataFileLocation()
        state = self._state
        if state is None or location is None or location != state.location:  # a metadata file never changes
            self._state = TableState(self.gateway, current, location)
            for cache in (self.manifests, self.puffin_footers, self.live_frames):
                cache.after_change()

    @property
    def state(self) -> TableState:
        """The state of the last `refresh()`. Another thread may refresh between two uses of the handle."""
        if self._state is None:  # Spark may have loaded its object of the table long ago
            self.catch_up()
        assert self._state is not None
        return self._state

    @property
    def metadata(self) -> TableMetadata:
        """The table's metadata."""
        return self.state.metadata

    @property
    def document(self) -> dict[str, Any]:
        """The metadata as Iceberg's JSON, with the snapshots of branches and tags only."""
        return self.state.document

    def on_branch(self, branch: str) -> TableHandle:
        """Opens the same table on another branch."""
        other = TableHandle(self.spark, self.full_name, branch)
        other.name = self.name
        return other

    def with_state(self, java_table: Any, state: TableState) -> TableHandle:
        """Returns the same table in another state, which no catalog has."""
        other = copy.copy(self)
        other.java_table = java_table
        other._state = state  # noqa: SLF001 - of the same class
        other.live_frames = LruCache(_LIVE_FRAMES)
        return other

    def run_interruptibly(self, work: Callable[[], Found], *, cancel: bool = True) -> Found:
        """Runs long work so that Ctrl-C interrupts it between two steps, never within one.

        Args:
            work: The work, which cleans up after itself if it fails.
            cancel: Whether Ctrl-C cancels Spark's jobs; otherwise the work is finished first.
        """
        return run_interruptibly(self.gateway, work, during=self.scratch.action, cancel=cancel)

    def read_whole_document(self) -> dict[str, Any]:
        """Reads the metadata with all snapshots and their log; `document` has only those of branches and tags."""
        return read_metadata_document(self.gateway, self.state.current)

    def read_snapshot_document(self, snapshot_id: int) -> dict[str, Any]:
        """Reads one snapshot as Iceberg's JSON."""
        for snapshot in self.document["snapshots"]:
            if snapshot["snapshot-id"] == snapshot_id:
                return dict(snapshot)
        document = read_snapshot_document(self.gateway, self.state.current, snapshot_id)
        assert document is not None
        return document

    @cached_property
    def io(self) -> FileIO:
        """Bytes of this table's files, through the table's own FileIO and so with its credentials."""
        return FileIO(self.java_table.io(), self.gateway, self.shared_files)

    @cached_property
    def shared_files(self) -> SharedFiles | None:
        """The small files that everything on the driver reads once; None if they are on this machine."""
        return None if is_local(self.java_table.location()) else SharedFiles(self.gateway, self.java_table.io())

    @cached_property
    def manifests(self) -> ManifestReader:
        """Reads the table's manifests, each once."""
        return ManifestReader(self.io)

    @cached_property
    def scratch(self) -> ScratchFiles:
        """Scratch files of this table."""
        return ScratchFiles(self.io)

    @property
    def column_types(self) -> StructType:
        """The table's columns as a Spark schema, with the default of each as Spark 4 has it."""
        converted = self.gateway.iceberg.spark.SparkSchemaUtil.convert(self.java_table.schema())
        types = StructType.fromJson(json.loads(converted.json()))
        schema_id = self.document["current-schema-id"]
        current = next(schema for schema in self.document["schemas"] if schema["schema-id"] == schema_id)
        for column in current["fields"]:
            default = write_default_sql(column)
            if default is not None and column["name"] in types.names:
                types[column["name"]].metadata.setdefault(CURRENT_DEFAULT, default)
        return types

    @property
    def name_rule(self) -> NameRule:
        """How the session compares column names, by its current setting."""
        return read_name_rule(self.spark)

    def find_column(self, name: str) -> Field:
        """Finds the column that a user's name stands for.

        Raises:
            InputError: There is no such column, or the name fits several.
        """
        return self.metadata.schema.find(name, self.name_rule)

    def new_data_location(self, file_name: str) -> str:
        """Returns the path of a new file with this name."""
        return str(self.location_provider().newDataLocation(file_name))

    def location_provider(self) -> Any:
        """Returns Iceberg's object that decides where new data and delete files go.

        Raises:
            TableError: Iceberg does not accept the table's properties. Such a table can be read, but not written.
        """
        return get_location_provider(self.java_table, self.name, self.metadata.properties)

    def check_locations(self) -> None:
        """Refuses a table whose location properties Iceberg does not accept, before anything is written."""
        if may_refuse_location(self.metadata.properties):
            self.location_provider()

    def snapshot(self, snapshot_id: int | None = None) -> Snapshot | None:
        """Finds the snapshot of an id, or the head of this handle's branch."""
        if snapshot_id is None:
            return self.metadata.head(self.branch)
        if snapshot_id not in self.metadata.snapshots:
            raise InputError(
                f"no snapshot {snapshot_id} in {self.name}", hint=f"SELECT * FROM {self.name}.snapshots lists them"
            )
        return self.metadata.snapshots[snapshot_id]

    def refresh_spark(self) -> None:
        """Refreshes Spark's own object of the table: the one in the catalog's cache may be older than this handle."""
        cached = self.gateway.iceberg.spark.Spark3Util.loadIcebergTable(self.gateway.session, self.full_name)
        if cached.operations().current().metadataFileLocation() != self.state.location:
            cached.refresh()

    def metadata_table(self, kind: str, snapshot_id: int) -> DataFrame:
        """Reads Iceberg's own metadata table (`entries`, `files`, ...) as of a snapshot."""
        return self.gateway.metadata_table(self.full_name, kind, snapshot_id)


def _load_table(gateway: Gateway, name: str) -> Any:
    try:
        table = gateway.iceberg.spark.Spark3Util.loadIcebergTable(gateway.session, name)
    except JavaError as error:
        if is_temporary_view(gateway, name):
            raise TableError(
                f"{name} is a temporary view, not a table", hint="open the table that it is made of"
            ) from None
        raise explain_load_error(gateway.spark, name, error) from error
    if not gateway.java_class("org.apache.iceberg.HasTableOperations").isInstance(table):
        raise TableError(f"{name} is a metadata table of Iceberg", hint="name the table itself")
    return table


def _resolve_name(gateway: Gateway, name: str) -> list[str]:
    """Finds the catalog, the namespace and the table that a name stands for now."""
    parsed = gateway.iceberg.spark.Spark3Util.catalogAndIdentifier(gateway.session, name)
    identifier = parsed.identifier()
    return [str(part) for part in (parsed.catalog().name(), *identifier.namespace(), identifier.name())]
