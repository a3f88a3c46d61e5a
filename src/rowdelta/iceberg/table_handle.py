"""One Iceberg table as Spark's own catalog gives it: its metadata, its files' bytes, and its metadata tables."""

from __future__ import annotations

import copy
import difflib
import json
from dataclasses import dataclass, field
from functools import cached_property, partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pyspark.sql.types import StructType

from rowdelta.errors import InputError, TableError
from rowdelta.iceberg.cache import Recent
from rowdelta.iceberg.file_io import FileIO, read_in_pieces
from rowdelta.iceberg.manifests import ManifestReader
from rowdelta.iceberg.metadata import Field, History, Snapshot, TableMetadata, parse_metadata
from rowdelta.iceberg.scratch_files import ScratchFiles
from rowdelta.spark import (
    Gateway,
    JavaError,
    NameRule,
    interruptible,
    is_temporary_view,
    java_message,
    quote_path,
    read_name_rule,
    string_literal,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from rowdelta.codec import PuffinFile

Found = TypeVar("Found")

_DATA_PATH: Final = "write.data.path"
_OWN_PROVIDER: Final = "write.location-provider.impl"
# Iceberg 1.12 refuses both, unless the new property is there as well.
_OLD_PLACES: Final = ("write.object-storage.path", "write.folder-storage.path")
_PLACES: Final = {_OWN_PROVIDER, *_OLD_PLACES}
_MADE_BY_THEMSELVES = {"spark_catalog", "default_iceberg", "default_rewrite_catalog"}


@dataclass(frozen=True)
class CommitMark:
    """What every commit of a handle carries besides its change.

    Attributes:
        summary: Entries of the snapshot's summary.
        properties: Table properties that are set in the same step.
    """

    summary: dict[str, str] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TableState:
    """A table as it was at one moment: in Java, as JSON with the snapshots of branches and tags, and parsed."""

    gateway: Gateway = field(repr=False)
    current: Any = field(repr=False)
    location: str | None

    @cached_property
    def document(self) -> dict[str, Any]:
        """The JSON."""
        document = metadata_document(self.gateway, _without_history(self.gateway, self.current))
        document["snapshot-log"] = []
        return document

    @cached_property
    def metadata(self) -> TableMetadata:
        """The JSON, parsed; a snapshot of the history is looked up when it is asked for."""
        one = partial(_snapshot, self.gateway, self.current)
        return parse_metadata(self.document, History(one, partial(metadata_document, self.gateway, self.current)))


class TableHandle:
    """A loaded table. `metadata` is what the last `refresh()` saw; `gateway` and `java_table` are of the JVM.

    Attributes:
        name: The name that the table was opened by.
        full_name: The name with its catalog, quoted for SQL. `USE` may give `name` another meaning later, but not this.
        catalog: The name of the catalog.
    """

    def __init__(self, spark: SparkSession, name: str, branch: str = "main") -> None:
        self.gateway = Gateway(spark)
        if not isinstance(name, str):
            raise InputError(
                f"a table is named by text, not by {type(name).__name__}: {name!r}", hint="such as 'lake.db.orders'"
            )
        self.spark = spark
        self.name = name
        self.branch = branch
        self.java_table: Any = _load(self.gateway, name)
        self.catalog, *rest = _resolved(self.gateway, name)
        self.full_name = quote_path((self.catalog, *rest))
        self._state: TableState | None = None
        self.mark = CommitMark()
        self.puffin_footers: Recent[PuffinFile] = Recent()
        self.live_frames: dict[tuple[int, int, int], Any] = {}  # a snapshot never changes, nor does a frame of it
        self.refresh()
        self.metadata.head(branch)  # a branch that does not exist fails here, not in the middle of something

    def refresh(self) -> TableMetadata:
        """Reads the newest metadata from the catalog."""
        self.catch_up()
        return self.metadata

    def catch_up(self) -> None:
        """The same, where the caller does not need the metadata yet.

        Every verb begins with this, in any thread: what Iceberg looks up there must come from the table's own session.
        """
        self.gateway.activate()
        try:
            self.java_table.refresh()
        except JavaError as error:
            raise _load_error(self.spark, self.name, error) from error
        current = self.java_table.operations().current()
        location = current.metadataFileLocation()
        state = self._state
        if state is None or location is None or location != state.location:  # a metadata file never changes
            self._state = TableState(self.gateway, current, location)
            self.manifests.after_change()
            self.puffin_footers.after_change()

    @property
    def state(self) -> TableState:
        """All that the last `refresh()` saw; another thread may refresh between two looks at the handle."""
        assert self._state is not None
        return self._state

    @property
    def metadata(self) -> TableMetadata:
        """The table's metadata."""
        return self.state.metadata

    @property
    def document(self) -> dict[str, Any]:
        """The same as Iceberg's JSON, with the snapshots of branches and tags alone."""
        return self.state.document

    def on_branch(self, branch: str) -> TableHandle:
        """The same table on a branch, opened anew."""
        other = TableHandle(self.spark, self.full_name, branch)
        other.name = self.name
        return other

    def with_state(self, java_table: Any, state: TableState) -> TableHandle:
        """The same table in another state, which no catalog knows."""
        other = copy.copy(self)
        other.java_table = java_table
        other._state = state  # noqa: SLF001 - of the same class
        other.live_frames = {}
        return other

    def run_interruptibly(self, work: Callable[[], Found], *, cancel: bool = True) -> Found:
        """Runs long work so that Ctrl-C falls between two steps of it, never into one.

        Args:
            work: What to run; where it fails it cleans up after itself.
            cancel: Whether Ctrl-C cancels Spark's jobs. Where it does not, the work is finished first.
        """
        return interruptible(self.gateway, work, during=self.scratch.action, cancel=cancel)

    def whole_document(self) -> dict[str, Any]:
        """The metadata with every snapshot and their log; `document` has only the snapshots of branches and tags."""
        return metadata_document(self.gateway, self.state.current)

    def snapshot_document(self, snapshot_id: int) -> dict[str, Any]:
        """What the metadata says of one snapshot."""
        for snapshot in self.document["snapshots"]:
            if snapshot["snapshot-id"] == snapshot_id:
                return dict(snapshot)
        found = _snapshot(self.gateway, self.state.current, snapshot_id)
        assert found is not None
        return found

    @cached_property
    def io(self) -> FileIO:
        """Bytes of this table's files, through the table's own FileIO and so with its credentials."""
        return FileIO(self.java_table.io(), self.gateway)

    @cached_property
    def manifests(self) -> ManifestReader:
        """The table's manifests, each read once."""
        return ManifestReader(self.io)

    @cached_property
    def scratch(self) -> ScratchFiles:
        """Scratch files of this table that the process needs to its end."""
        return ScratchFiles(self.io)

    @property
    def column_types(self) -> StructType:
        """The table's columns as Spark has them."""
        converted = self.gateway.iceberg.spark.SparkSchemaUtil.convert(self.java_table.schema())
        return StructType.fromJson(json.loads(converted.json()))

    @property
    def name_rule(self) -> NameRule:
        """How the session compares names of columns, as it is set now."""
        return read_name_rule(self.spark)

    def find_column(self, name: str) -> Field:
        """The column that a user's name stands for.

        Raises:
            InputError: There is no such column, or the name fits several.
        """
        return self.metadata.schema.find(name, self.name_rule)

    def new_data_location(self, file_name: str) -> str:
        """Where the table wants a new file of this name."""
        return str(self.location_provider().newDataLocation(file_name))

    def location_provider(self) -> Any:
        """What says where new data and delete files go.

        Raises:
            TableError: Iceberg does not accept the table's properties. Such a table can be read, but not written.
        """
        try:
            return self.java_table.locationProvider()
        except JavaError as error:
            raise _location_error(self.name, self.metadata.properties, error) from error

    def check_locations(self) -> None:
        """Refuses a table whose properties do not say where new files go, before anything is written."""
        if _PLACES & self.metadata.properties.keys():
            self.location_provider()

    def snapshot(self, snapshot_id: int | None = None) -> Snapshot | None:
        """The snapshot of an id, or the head of this handle's branch."""
        if snapshot_id is None:
            return self.metadata.head(self.branch)
        if snapshot_id not in self.metadata.snapshots:
            raise InputError(
                f"no snapshot {snapshot_id} in {self.name}", hint=f"SELECT * FROM {self.name}.snapshots lists them"
            )
        return self.metadata.snapshots[snapshot_id]

    def refresh_spark(self) -> None:
        """Lets Spark see what this handle sees: the table in its catalog's cache may be another, older object."""
        cached = self.gateway.iceberg.spark.Spark3Util.loadIcebergTable(self.gateway.session, self.full_name)
        current = cached.currentSnapshot()
        if (None if current is None else int(current.snapshotId())) != self.metadata.current_snapshot_id:
            cached.refresh()

    def metadata_table(self, kind: str, snapshot_id: int) -> DataFrame:
        """Iceberg's own metadata table (`entries`, `files`, ...) as of a snapshot."""
        return self.gateway.metadata_table(self.full_name, kind, snapshot_id)


def _without_history(gateway: Gateway, metadata: Any) -> Any:
    """Metadata with no snapshots but those of branches and tags: a long history need not come along each time."""
    try:
        return gateway.iceberg.TableMetadata.buildFrom(metadata).suppressHistoricalSnapshots().discardChanges().build()
    except JavaError:  # the builder is stricter than the reader
        return metadata


def _snapshot(gateway: Gateway, metadata: Any, snapshot_id: Any) -> dict[str, Any] | None:
    number = int(snapshot_id) if isinstance(snapshot_id, Integral) else 2**63  # users may ask for anything
    found = metadata.snapshot(number) if -(2**63) <= number < 2**63 else None
    return None if found is None else dict(json.loads(gateway.iceberg.SnapshotParser.toJson(found)))


def metadata_document(gateway: Gateway, metadata: Any) -> dict[str, Any]:
    """Iceberg's `TableMetadata` as its JSON says it; long texts come fastest as a file."""
    file = gateway.iceberg.inmemory.InMemoryOutputFile("rowdelta.metadata.json")
    gateway.iceberg.TableMetadataParser.overwrite(metadata, file)
    stream = file.toInputFile().newStream()
    try:
        document: dict[str, Any] = json.loads(read_in_pieces(stream))
    finally:
        stream.close()
    return document


def _load(gateway: Gateway, name: str) -> Any:
    try:
        table = gateway.iceberg.spark.Spark3Util.loadIcebergTable(gateway.session, name)
    except JavaError as error:
        if is_temporary_view(gateway, name):
            raise TableError(
                f"{name} is a temporary view, not a table", hint="open the table that it is made of"
            ) from None
        raise _load_error(gateway.spark, name, error) from error
    if not gateway.java_class("org.apache.iceberg.HasTableOperations").isInstance(table):
        raise TableError(f"{name} is a metadata table of Iceberg", hint="name the table itself")
    return table


def _resolved(gateway: Gateway, name: str) -> list[str]:
    """The catalog, the namespace and the table that a name stands for now."""
    parsed = gateway.iceberg.spark.Spark3Util.catalogAndIdentifier(gateway.session, name)
    identifier = parsed.identifier()
    return [str(part) for part in (parsed.catalog().name(), *identifier.namespace(), identifier.name())]


def _load_error(spark: SparkSession, name: str, error: Exception) -> TableError:
    java = getattr(error, "java_exception", None)
    kind = java.getClass().getSimpleName() if java is not None else type(error).__name__
    text = str((java.getMessage() if java is not None else None) or error).strip().splitlines()[0]
    if "NoSuch" in kind or "NOT_FOUND" in text or "SINGLE_PART_NAMESPACE" in text:
        return TableError(f"no table {name}", hint=_hint_for_missing(spark, name))
    if "not an Iceberg table" in text:
        return TableError(f"{name} is not an Iceberg table ({text})", hint="rowdelta changes Iceberg tables only")
    if "ParseException" in kind:
        return TableError(f"{name!r} is not a table name", hint="quote a part with backticks: lake.db.`my table`")
    return TableError(f"cannot load {name}: {kind}: {text}")


def _location_error(name: str, properties: Mapping[str, str], error: Exception) -> TableError:
    """Properties that Iceberg no longer accepts are named in the order in which it looks at them."""
    text = f"cannot write to {name}: {java_message(error)}"
    old = next((place for place in _OLD_PLACES if place in properties and place in text), None)
    if old is None:
        return TableError(text, hint=f"is {_OWN_PROVIDER} of this table what it should be?")
    return TableError(
        text,
        hint=f"ALTER TABLE {name} SET TBLPROPERTIES ('{_DATA_PATH}'={string_literal(properties[old])}); "
        f"ALTER TABLE {name} UNSET TBLPROPERTIES ('{old}')",
    )


def _hint_for_missing(spark: SparkSession, name: str) -> str:
    """The nearest names, of the table in its namespace, or else of the namespace in its catalog."""
    namespace, _, table = name.rpartition(".")
    tables = _names(spark, f"SHOW TABLES IN {namespace}" if namespace else "SHOW TABLES", "tableName")
    if tables is not None:
        near = difflib.get_close_matches(table, tables, n=3)
        return (
            f"did you mean {_either(namespace, near)}?"
            if near
            else f"{namespace or 'it'} has {_some(tables, 'tables')}"
        )
    catalog, _, database = namespace.rpartition(".")
    namespaces = _names(spark, f"SHOW NAMESPACES IN {catalog}", "namespace") if catalog else None
    if namespaces is None:
        return _hint_for_catalog(name.split("."), _catalogs(spark))
    near = difflib.get_close_matches(database, namespaces, n=3)
    return f"did you mean {_either(catalog, near)}?" if near else f"{catalog} has {_some(namespaces, 'namespaces')}"


def _hint_for_catalog(parts: list[str], known: list[str]) -> str:
    if not known:
        return f"is {parts[0]!r} a catalog of this session (spark.sql.catalog.*)?"
    if parts[0] in known:
        return f"catalog {parts[0]!r} does not answer, or has no such namespace"
    if len(parts) == 2:  # noqa: PLR2004 - a namespace and a table
        return f"names start with a catalog: {_either('', ['.'.join([catalog, *parts]) for catalog in known[:3]])}"
    return f"{parts[0]!r} is no catalog of this session, which has {_some(known, 'catalogs')} (spark.sql.catalog.*)"


def _catalogs(spark: SparkSession) -> list[str]:
    """The catalogs of the session, but for those that Spark and Iceberg make for themselves."""
    names = {key.split(".")[3] for key in spark.conf.getAll if key.startswith("spark.sql.catalog.")}
    return sorted(names - _MADE_BY_THEMSELVES)


def _names(spark: SparkSession, listing: str, column: str) -> list[str] | None:
    try:
        return [row[column] for row in spark.sql(listing).collect()]
    except JavaError:
        return None


def _either(prefix: str, names: list[str]) -> str:
    return " or ".join(f"{prefix}.{name}" if prefix else name for name in names)


def _some(names: list[str], what: str) -> str:
    shown = ", ".join(sorted(names)[:10])
    return f"the {what} {shown}{', ...' if len(names) > 10 else ''}" if names else f"no {what}"  # noqa: PLR2004
