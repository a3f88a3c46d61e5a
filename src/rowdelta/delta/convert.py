"""`rd.from_delta()`: makes an Iceberg table over the data files of a Delta table, with its deletes."""

from __future__ import annotations

import logging
import os
import re
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from rowdelta.change import Operation, Plan, Result
from rowdelta.choices import MetricsSource, SnapshotGranularity, SyncMode, check_choice
from rowdelta.delta.apply_commit import CommitApplier, Settings
from rowdelta.delta.counts import Counts
from rowdelta.delta.describe_work import describe_full, describe_incremental
from rowdelta.delta.log_versions import DeltaSource
from rowdelta.delta.progress import show_progress
from rowdelta.delta.schema import convert_schema
from rowdelta.delta.sync_mode import check_target, plan_sync, resolve_folder
from rowdelta.delta.sync_properties import FOLDER, SOURCE, TABLE_ID
from rowdelta.delta.verify import check_same_rows
from rowdelta.errors import CommitStateUnknownError, InputError
from rowdelta.iceberg import NewTable, TableHandle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rowdelta.delta.progress import OnDeltaProgress
    from rowdelta.delta.sync_mode import SyncWork

log: Final = logging.getLogger("rowdelta")
VERSIONS: Final = (2, 3)


@dataclass(frozen=True)
class FromDeltaResult(Result):
    """What a conversion did.

    Attributes:
        mode: `full` or `incremental`; `none` if there was nothing to do.
        version: The Delta version of the table now.
        from_version: The Delta version of the table before; None for a new table.
        snapshot_ids: The snapshots that were made, in order.
        deletion_vectors: Delta's deletion vectors that were copied.
        inline_deletion_vectors: Those of them that were stored in the log itself.
        deleted_rows: The rows that these vectors delete.
        bytes_copied: The size of these vectors.
        verified_rows: The rows that were compared and found equal; None without `verify`.

    Examples:
        >>> FromDeltaResult().mode  # of a table that is up to date
        'none'
    """

    mode: str = "none"
    version: int = 0
    from_version: int | None = None
    snapshot_ids: tuple[int, ...] = ()
    deletion_vectors: int = 0
    inline_deletion_vectors: int = 0
    deleted_rows: int = 0
    bytes_copied: int = 0
    verified_rows: int | None = None


@dataclass(frozen=True)
class Options:
    """The options of `rd.from_delta()`; its docstring explains them."""

    mode: SyncMode = "auto"
    version: int | None = None
    stats: MetricsSource = "log"
    format_version: int | None = None
    snapshots: SnapshotGranularity = "commit"
    location: str | None = None
    delete_folder: str | None = None
    verify: bool = False
    verify_files: bool = False
    progress: OnDeltaProgress | None = None


class FromDelta(Operation[FromDeltaResult]):
    """A conversion, ready to plan or to run. `rd.from_delta()` makes it."""

    def __init__(self, spark: SparkSession, source: str, target: str, options: Options) -> None:
        check_choice("mode", options.mode, SyncMode)
        check_choice("stats", options.stats, MetricsSource)
        check_choice("snapshots", options.snapshots, SnapshotGranularity)
        if options.format_version not in {None, *VERSIONS}:
            raise InputError(f"format_version is {options.format_version!r}", hint="use 2 or 3")
        self._spark = spark
        self._name = source
        self._target = target
        self._options = options

    def plan(self) -> Plan:
        """Says what `execute` would do: the versions, the files and the deletion vectors. Changes nothing."""
        source = DeltaSource(self._spark, self._name, self._options.version)
        handle = self._open(source)
        work = plan_sync(source, handle, self._target, self._options.mode)
        steps = [("mode", f"{work.mode}: {work.reason}")]
        if work.mode == "full":
            steps += describe_full(source, handle)
        elif work.mode == "incremental":
            assert handle is not None
            steps += describe_incremental(source, handle, work)
        return Plan(f"from_delta {source.root} version {source.version} -> {self._target}", tuple(steps))

    def execute(self) -> FromDeltaResult:
        """Converts: every Delta commit in one snapshot, which holds its data files and its deletes together."""
        started = time.monotonic()
        source = DeltaSource(self._spark, self._name, self._options.version)
        handle = self._open(source)
        work = plan_sync(source, handle, self._target, self._options.mode)
        if work.mode == "full" and handle is not None and work.from_version is not None:
            log.warning("%s is converted as a whole: %s", self._target, work.reason)
        with show_progress(f"from_delta {self._target}", self._options.progress) as progress:
            handle, counts = self._convert(source, handle, work, progress)
        verify = self._options.verify
        rows = check_same_rows(handle, source.root, source.version, work.mode) if verify else None
        return FromDeltaResult(
            **asdict(counts),
            snapshot_id=counts.snapshot_ids[-1] if counts.snapshot_ids else None,
            rows_deleted=None,
            mode=work.mode,
            version=source.version,
            from_version=work.from_version,
            verified_rows=rows,
            seconds=time.monotonic() - started,
        )

    def _convert(
        self, source: DeltaSource, handle: TableHandle | None, work: SyncWork, progress: OnDeltaProgress
    ) -> tuple[TableHandle, Counts]:
        """Does the work; returns the Iceberg table, which may be new."""
        settings = self._read_settings(source)
        if handle is None:
            return self._create(source, settings, progress)
        if work.mode == "full":
            applier = CommitApplier(handle, settings, progress)
            return handle, applier.replace_all(source.read_whole(), {TABLE_ID: source.table_id})
        if work.mode == "incremental":
            applier = CommitApplier(handle, settings, progress)
            return handle, applier.apply_all(source.read(work.files, joined=self._options.snapshots == "range"))
        return handle, Counts()

    def _read_settings(self, source: DeltaSource) -> Settings:
        return Settings(
            root=source.root,
            zone=self._spark.conf.get("spark.sql.session.timeZone") or "UTC",
            stats=self._options.stats,
            verify_files=self._options.verify_files,
        )

    def _open(self, source: DeltaSource) -> TableHandle | None:
        """Opens the Iceberg table, if it exists."""
        if not NewTable(self._spark, self._target, ()).exists():
            return None
        handle = TableHandle(self._spark, self._target)
        check_target(handle, source.root, self._options.format_version, self._options.delete_folder)
        return handle

    def _create(self, source: DeltaSource, settings: Settings, progress: OnDeltaProgress) -> tuple[TableHandle, Counts]:
        whole = source.read_whole()
        assert whole.metadata is not None
        # Refuses columns that Iceberg cannot have, before anything is created.
        fields = convert_schema(whole.metadata).fields
        new = NewTable(self._spark, self._target, fields)
        location = new.location(self._options.location)
        _check_separate(source.root, "the Iceberg table", location)
        properties = {
            "format-version": str(self._options.format_version or max(VERSIONS)),
            "gc.enabled": "false",
            SOURCE: source.root,
        }
        if self._options.delete_folder is not None:
            properties[FOLDER] = resolve_folder(self._options.delete_folder, location)
            _check_separate(source.root, "the folder of delete files", properties[FOLDER])
        new.create(self._options.location, properties)
        try:
            handle = TableHandle(self._spark, self._target)
            return handle, CommitApplier(handle, settings, progress).apply(whole, {TABLE_ID: whole.metadata.id})
        except CommitStateUnknownError:
            raise
        except BaseException:
            new.drop()
            raise


def from_delta(
    spark: SparkSession,
    source: str | os.PathLike[str],
    target: str,
    mode: SyncMode = "auto",
    version: int | None = None,
    *,
    stats: MetricsSource = "log",
    format_version: int | None = None,
    snapshots: SnapshotGranularity = "commit",
    location: str | None = None,
    delete_folder: str | None = None,
    verify: bool = False,
    verify_files: bool = False,
    progress: OnDeltaProgress | None = None,
) -> FromDelta:
    """Makes an Iceberg table over the data files of a Delta table, or brings it up to date.

    Data files stay where they are. Deletion vectors are copied, byte for byte, into Puffin files of the Iceberg table.
    Call it again after the Delta table has changed: each new Delta commit becomes one snapshot.

    Args:
        spark: A session with Iceberg and Delta Lake, such as `rd.session(..., delta=True)`.
        source: The Delta table: its folder, or its name in a catalog.
        target: The Iceberg table, created if it does not exist.
        mode: `incremental` applies the commits since the last call, `full` makes the table equal to the Delta table,
            regardless of its state; `auto` is incremental if possible.
        version: The Delta version to convert; default: the newest.
        stats: Where the metrics of data files come from: `log`, or `footer` to read the files' own.
        format_version: Of a new table: 3 (default) has deletion vectors, 2 has position delete files.
        snapshots: `commit` makes a snapshot of every Delta commit, `range` one of all new commits together.
        location: The folder of a new table; default: the catalog decides.
        delete_folder: The folder for delete files of a new table: a location, or a folder inside the Iceberg table;
            default: its folder `deletion-vectors`.
        verify: Compare the rows of both tables afterwards.
        verify_files: Read the footer of every new data file: does it exist, and is it what the log says?
        progress: Called with a `DeltaProgress`; default: a terminal shows a bar.

    Examples:
        >>> spark.range(5).write.format("delta").save("data/orders")
        >>> result = rd.from_delta(spark, "data/orders", "lake.db.mirror", verify=True).execute()
        >>> result.mode, result.version, result.verified_rows
        ('full', 0, 5)
        >>> spark.range(5, 9).write.format("delta").mode("append").save("data/orders")
        >>> result = rd.from_delta(spark, "data/orders", "lake.db.mirror").execute()
        >>> result.mode, result.from_version, result.version
        ('incremental', 0, 1)
    """
    options = Options(
        mode, version, stats, format_version, snapshots, location, delete_folder, verify, verify_files, progress
    )
    return FromDelta(spark, os.fspath(source), target, options)


def _check_separate(delta: str, what: str, place: str) -> None:
    """Refuses a shared folder: VACUUM would delete Iceberg's files, and dropping the Iceberg table Delta's."""
    first, second = (f"{_normalize_path(path)}/" for path in (delta, place))
    if first.startswith(second) or second.startswith(first):
        raise InputError(
            f"{what} would be at {place}, and the Delta table is at {delta}: VACUUM of one would delete files of "
            "the other",
            hint="choose another location or another name",
        )


def _normalize_path(path: str) -> str:
    """Normalizes the spelling of local paths, and of those of S3."""
    if path.startswith("file:"):
        path = "/" + path[5:].lstrip("/")
    return re.sub(r"^s3[an]:", "s3:", path).rstrip("/")
