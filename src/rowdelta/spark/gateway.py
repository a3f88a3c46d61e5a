"""The gateway to the JVM of a Spark session: rowdelta reaches every Java class through it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaPackage
from pyspark.sql import SparkSession

from rowdelta.errors import SessionError
from rowdelta.spark.generated_sql import run_sql
from rowdelta.spark.jvm_packages import get_packages
from rowdelta.spark.quiet_logs import quiet_pyspark
from rowdelta.spark.spark_errors import check_running
from rowdelta.spark.versions import RELEASE, SPARK, check_iceberg, check_spark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame


_java_objects: dict[tuple[Any, ...], Any] = {}  # by JVM and name


def read_session_id(spark: SparkSession) -> str:
    """Returns the id that Spark gives to a session."""
    return str(spark._jsparkSession.sessionUUID())


class Gateway:
    """The Java side of one classic Spark session, which hides the pitfalls of py4j.

    py4j turns a small Python int into an `Integer`, cannot tell a static method from an instance method of the same
    name, and returns a package for a missing class. Each of these is handled here, once.
    """

    def __init__(self, spark: SparkSession) -> None:
        if type(spark).__module__.startswith("pyspark.sql.connect"):
            raise SessionError(
                "rowdelta needs the JVM of a classic Spark session; this one is a Spark Connect client",
                hint="run the job where the Spark driver is: spark-submit, or SparkSession.builder.master(...)",
            )
        if not isinstance(spark, SparkSession):
            raise SessionError(
                f"a Spark session is needed, not {type(spark).__name__}", hint="rd.session('warehouse') starts one"
            )
        check_running(spark)
        quiet_pyspark()
        check_spark(spark.version)
        self.spark = spark
        jvm: Any = get_packages(spark._jvm)
        gateway: Any = spark.sparkContext._gateway
        self.jvm = jvm
        self.session: Any = spark._jsparkSession
        self._new_array: Any = gateway.new_array
        self.iceberg: Any = jvm.org.apache.iceberg
        self.iceberg_version = self._check_iceberg()
        # Spark makes a catalog with the settings of the thread's active session, whichever session asks for it. PySpark
        # leaves active the session that last made a DataFrame of Python data, whose catalog of that name may differ.
        self.activate()

    def activate(self) -> None:
        """Makes this session the active one of the thread."""
        SPARK.get_session_class(self.jvm).setActiveSession(self.session)

    @property
    def session_id(self) -> str:
        """An id that no other session of any JVM has; several Python objects may share one session."""
        return read_session_id(self.spark)

    def _check_iceberg(self) -> str:
        build = self.iceberg.IcebergBuild
        if isinstance(build, JavaPackage):
            raise SessionError(
                "this Spark session has no Iceberg on its class path",
                hint=f"start Spark with spark.jars.packages={RELEASE.iceberg_package}, or use rd.session()",
            )
        version = str(build.version())
        check_iceberg(version, self.spark.version)
        return version

    def once(self, *name: str, make: Callable[[], Any]) -> Any:
        """Makes a Java object on first use and shares it among all sessions of the JVM: a class, for example.

        This relies on Iceberg being on the class path when the JVM starts: no other class loader may load it later.
        """
        key = (self.spark._jvm, *name)
        if key not in _java_objects:
            _java_objects[key] = make()
        return _java_objects[key]

    def java_class(self, name: str) -> Any:
        """Finds a `java.lang.Class` by name, in the class loader that has the Spark packages."""
        return self.once("class", name, make=lambda: self._find_class(name))

    def _find_class(self, name: str) -> Any:
        return self.jvm.org.apache.spark.util.Utils.classForName(name, True, False)

    def static_call(self, class_name: str, method: str) -> Any:
        """Calls a static method without arguments by reflection, if an instance method of the same name hides it."""
        java_method = self.java_class(class_name).getMethod(method, self._new_array(self.jvm.java.lang.Class, 0))
        return java_method.invoke(None, self._new_array(self.jvm.java.lang.Object, 0))

    def scala_object(self, package: Any, name: str) -> Any:
        """Finds a Scala `object`, such as `DataSourceV2Relation`."""
        companion = getattr(package, f"{name}$")
        return self.once("object", companion._fqn, make=lambda: getattr(companion, "MODULE$"))

    def array(self, class_name: str, values: Sequence[Any]) -> Any:
        """Makes an array of one of Java's own classes."""
        java_class = self.jvm
        for part in class_name.split("."):
            java_class = getattr(java_class, part)
        array = self._new_array(java_class, len(values))
        for index, value in enumerate(values):
            array[index] = value
        return array

    @staticmethod
    def members(collection: Any) -> list[Any]:
        """Lists the items of a Java collection. A loop would end with an exception, which costs PySpark 16 ms."""
        array = collection.toArray()
        return [array[index] for index in range(len(array))]

    def int_array(self, values: Sequence[int]) -> Any:
        """Makes an `int[]`."""
        array = self._new_array(self.jvm.int, len(values))
        for index, value in enumerate(values):
            array[index] = value
        return array

    def read_bytes(self, stream: Any, length: int) -> bytes:
        """Reads up to `length` bytes of a Java stream.

        The JVM is always on this machine, so they pass through a file: py4j would process them one by one.
        """
        limited = self.iceberg.relocated.com.google.common.io.ByteStreams.limit(stream, length)
        with tempfile.TemporaryDirectory(prefix="rowdelta-") as folder:
            path = Path(folder) / "bytes"
            file = self.jvm.java.io.File(str(path)).toPath()
            self.jvm.java.nio.file.Files.copy(limited, file, self._new_array(self.jvm.java.nio.file.CopyOption, 0))
            return path.read_bytes()

    def write_bytes(self, stream: Any, data: bytes) -> None:
        """Writes bytes to a Java stream, also through a file."""
        with tempfile.TemporaryDirectory(prefix="rowdelta-") as folder:
            path = Path(folder) / "bytes"
            path.write_bytes(data)
            self.jvm.java.nio.file.Files.copy(self.jvm.java.io.File(str(path)).toPath(), stream)

    def metadata_table(self, name: str, metadata_table: str, snapshot_id: int) -> DataFrame:
        """Reads a metadata table (`entries`, `files`, ...) of a table, by its full name, as of a snapshot.

        The table in the catalog's cache may be older than a handle. A snapshot that it does not have would give no rows
        and no error, so the cached table is refreshed first.
        """
        cached = self.iceberg.spark.Spark3Util.loadIcebergTable(self.session, name)
        if cached.snapshot(snapshot_id) is None:
            cached.refresh()
        return run_sql(self.spark, f"SELECT * FROM {name}.{metadata_table} VERSION AS OF {snapshot_id}")

    def text_list(self, texts: Iterable[str]) -> Any:
        """Makes a `List<String>` in one call: py4j would send the texts one by one."""
        mapper = self.iceberg.util.JsonUtil.mapper()
        return mapper.readValue(json.dumps(list(texts)), self.java_class("java.util.ArrayList"))

    def string_map(self, values: Mapping[str, str]) -> Any:
        """Makes a `Map<String, String>`."""
        result = self.jvm.java.util.HashMap()
        for key, value in values.items():
            result.put(key, value)
        return result

    def json_node(self, text: str) -> Any:
        """Parses JSON into a `JsonNode` of the shaded Jackson that Iceberg's parsers use. NaN is a number."""
        mapper = self.iceberg.util.JsonUtil.mapper()
        if "NaN" not in text and "Infinity" not in text:
            return mapper.readTree(text)
        features = self.iceberg.shaded.com.fasterxml.jackson.core.json.JsonReadFeature
        return getattr(mapper.reader(), "with")(features.ALLOW_NON_NUMERIC_NUMBERS).readTree(text)
