"""Reads a Delta table's log through delta-spark, which handles checkpoints of every kind and compacted logs."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rowdelta.errors import InputError, SessionError, TableError
from rowdelta.spark import (
    RELEASE,
    Gateway,
    JavaError,
    check_delta,
    collect_arrow,
    is_missing,
    list_delta_commits,
    read_delta_snapshot,
    read_delta_version,
    read_java_message,
    read_java_name,
    select_sql,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_PATH_IN_SQL: Final = re.compile(r"delta\.`(.+)`", re.IGNORECASE | re.DOTALL)
_COLUMNS: Final = (
    "path",
    "to_json(partitionValues, map('ignoreNullFields', 'false')) as partition_values",
    "size",
    "stats",
    "deletionVector.storageType as storage_type",
    "deletionVector.pathOrInlineDv as path_or_inline_dv",
    "deletionVector.offset as offset",
    "deletionVector.sizeInBytes as size_in_bytes",
    "deletionVector.cardinality as cardinality",
)


@dataclass(frozen=True)
class LogFile:
    """The file of one commit."""

    version: int
    path: str
    modification_time: int


class DeltaSnapshot:
    """One version of a Delta table. `metadata` and `protocol` are the actions as JSON."""

    def __init__(self, spark: SparkSession, snapshot: Any) -> None:
        self._spark = spark
        self._snapshot = snapshot
        self.version = int(snapshot.version())

    @property
    def metadata(self) -> dict[str, Any]:
        """The `metaData` action."""
        return self._parse_action(self._snapshot.metadata(), "metaData")

    @property
    def protocol(self) -> dict[str, Any]:
        """The `protocol` action."""
        return self._parse_action(self._snapshot.protocol(), "protocol")

    def _parse_action(self, action: Any, name: str) -> dict[str, Any]:
        if action is None:  # where spark.databricks.delta.stateReconstructionValidation.enabled is false
            raise TableError(
                f"the Delta log has no {name} action up to version {self.version}",
                hint="files of its _delta_log are missing: restore them, or create the table again",
            )
        document: dict[str, Any] = json.loads(action.json())[name]
        return document

    @property
    def timestamp(self) -> int:
        """When the version was written, in milliseconds."""
        return int(self._snapshot.timestamp())

    def files(self) -> pa.Table:
        """Reads every data file, with partition values as JSON and the deletion vector's fields as columns."""
        from pyspark.sql import DataFrame  # noqa: PLC0415 - only the classic one is meant, and only here

        try:
            return collect_arrow(select_sql(DataFrame(self._snapshot.allFiles().toDF(), self._spark), *_COLUMNS))
        except JavaError as error:
            raise TableError(f"cannot read the Delta log: {read_java_message(error)}") from error


class DeltaLog:
    """A Delta table, by its path or by its name in a catalog."""

    def __init__(self, spark: SparkSession, name: str) -> None:
        self._spark = spark
        self._gateway = Gateway(spark)
        package = self._gateway.jvm.org.apache.spark.sql.delta
        if is_missing(package.DeltaLog):
            raise SessionError(
                "this Spark session has no Delta Lake on its class path",
                hint=f"use rd.session(..., delta=True), or start Spark with the package {RELEASE.delta}",
            )
        version = read_delta_version(self._gateway)
        if version is not None:
            check_delta(version, spark.version)
        self._none = self._gateway.scala_object(self._gateway.jvm.scala, "None")
        path = _find_location(spark, name)
        try:
            self._log = package.DeltaLog.forTable(self._gateway.session, path)
            exists = bool(self._log.tableExists())
        except JavaError as error:
            text = f"{read_java_name(error)}: {read_java_message(error)}"
            hint = (
                "Delta Lake reads through Hadoop: give Spark the package of this file system and its setting "
                "spark.hadoop.fs.<scheme>.impl, or use a scheme that Hadoop knows, such as s3a"
                if "No FileSystem for scheme" in text
                else None
            )
            raise TableError(f"cannot read the Delta log of {name}: {text}", hint=hint) from error
        if not exists:
            raise TableError(f"no Delta table at {path}", hint="name its folder, the one that holds _delta_log")
        self.root = str(self._log.dataPath().toString())

    def read_latest(self) -> DeltaSnapshot:
        """Reads the newest version."""
        return DeltaSnapshot(self._spark, self._log.update(False, self._none, self._none))

    def read_version(self, version: int) -> DeltaSnapshot:
        """Reads an older version.

        Raises:
            InputError: The log does not have it, or no longer has it.
        """
        try:
            return DeltaSnapshot(self._spark, read_delta_snapshot(self._gateway, self._log, version))
        except JavaError as error:
            raise InputError(
                f"version {version} of the Delta table cannot be read: {read_java_message(error)}",
                hint="DESCRIBE HISTORY lists its versions; old ones are cleaned up after a while",
            ) from error

    def list_log_files(self, first: int, last: int) -> list[LogFile]:
        """Lists the files of the commits of a range that still exist, in order."""
        try:
            files = list_delta_commits(self._gateway, self._log, first, last).toIndexedSeq()
            pairs = [files.apply(index) for index in range(files.size())]
        except JavaError as error:
            raise TableError(f"cannot list the Delta log: {read_java_message(error)}") from error
        statuses = [(int(pair.productElement(0)), pair.productElement(1)) for pair in pairs]
        return [
            LogFile(version, str(status.getPath().toString()), int(status.getModificationTime()))
            for version, status in statuses
        ]

    def read_log_file(self, file: LogFile) -> str:
        """Reads the text of a commit."""
        path = self._gateway.jvm.org.apache.hadoop.fs.Path(file.path)
        try:
            stream = path.getFileSystem(self._log.newDeltaHadoopConf()).open(path)
            try:
                return bytes(stream.readAllBytes()).decode()
            finally:
                stream.close()
        except JavaError as error:
            raise TableError(f"cannot read {file.path}: {read_java_message(error)}") from error


def can_hadoop_read(spark: SparkSession, path: str) -> bool:
    """Whether Hadoop, through which Delta Lake reads, finds a file."""
    gateway = Gateway(spark)
    try:
        file = gateway.jvm.org.apache.hadoop.fs.Path(path)
        return bool(file.getFileSystem(gateway.session.sessionState().newHadoopConf()).exists(file))
    except JavaError:
        return False


def _find_location(spark: SparkSession, name: str) -> str:
    """Finds the folder of a table by its path, by `delta.` and its path, or by its name in a catalog."""
    quoted = _PATH_IN_SQL.fullmatch(name)
    if quoted:
        return quoted[1]
    if "/" in name or "\\" in name:
        return name
    try:
        detail = spark.sql(f"DESCRIBE DETAIL {name}").select("format", "location").collect()[0]
    except JavaError as error:
        raise TableError(
            f"no Delta table {name}: {str(error).strip().splitlines()[0]}",
            hint="a path must have a / in it, as in ./orders",
        ) from error
    if detail["format"] != "delta":
        raise TableError(f"{name} is a table of format {detail['format']}, not a Delta table")
    return str(detail["location"])
