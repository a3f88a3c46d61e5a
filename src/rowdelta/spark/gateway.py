"""The JVM behind a Spark session: every Java class that rowdelta touches is reached through here."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaPackage
from pyspark.sql import SparkSession

from rowdelta.errors import SessionError
from rowdelta.spark.generated_sql import run_sql
from rowdelta.spark.jvm_packages import known_packages
from rowdelta.spark.spark_errors import check_running, quiet_pyspark
from rowdelta.spark.versions import ICEBERG_PACKAGE, check_iceberg, check_spark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame


_made: dict[tuple[Any, ...], Any] = {}  # what `Gateway.once` has made, by JVM and name


def session_id(spark: SparkSession) -> str:
    """The id that Spark gives to a session."""
    return str(spark._jsparkSession.sessionUUID())


class Gateway:
    """The Java side of one classic Spark session, with the traps of py4j behind plain methods.

    py4j turns a small Python int into an `Integer`, cannot tell a static method from an instance method of the same
    name, and answers a missing class with a package; each of these is handled once, here.
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
        jvm: Any = known_packages(spark._jvm)
        gateway: Any = spark.sparkContext._gateway
        self.jvm = jvm
        self.session: Any = spark._jsparkSession
        self._new_array: Any = gateway.new_array
        self.iceberg: Any = jvm.org.apache.iceberg
        self.iceberg_version = self._check_iceberg()
        # Spark makes a catalog with the settings of the thread's active session, whoever asks for it. PySpark leaves
        # the session active that last made a DataFrame of Python data, and its catalog of that name may be another.
        self.activate()

    def activate(self) -> None:
        """Makes the session the one that is active in this thread."""
        self.jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(self.session)

    @property
    def session_id(self) -> str:
        """What no other session of this or another JVM is called; several Python objects may be one session."""
        return session_id(self.spark)

    def _check_iceberg(self) -> str:
        build = self.iceberg.IcebergBuild
        if isinstance(build, JavaPackage):
            raise SessionError(
                "this Spark session has no Iceberg on its class path",
                hint=f"start Spark with spark.jars.packages={ICEBERG_PACKAGE}, or use rd.session()",
            )
        version = str(build.version())
        check_iceberg(version)
        return version

    def once(self, *what: str, make: Callable[[], Any]) -> Any:
        """Something of Java that is the same for all sessions of a JVM, such as a class, made when first asked for.

        Iceberg must not come by another class loader later: it is on the class path when the JVM starts.
        """
        key = (self.spark._jvm, *what)
        if key not in _made:
            _made[key] = make()
        return _made[key]

    def java_class(self, name: str) -> Any:
        """The `java.lang.Class` of a name, from the class loader that holds the Spark packages."""
        return self.once("class", name, make=lambda: self._find_class(name))

    def _find_class(self, name: str) -> Any:
        return self.jvm.org.apache.spark.util.Utils.classForName(name, True, False)

    def static_call(self, class_name: str, method: str) -> Any:
        """Calls a static method without arguments by reflection, where an instance method of the name hides it."""
        found = self.java_class(class_name).getMethod(method, self._new_array(self.jvm.java.lang.Class, 0))
        return found.invoke(None, self._new_array(self.jvm.java.lang.Object, 0))

    def scala_object(self, package: Any, name: str) -> Any:
        """A Scala `object`, such as `DataSourceV2Relation`."""
        found = getattr(package, f"{name}$")
        return self.once("object", found._fqn, make=lambda: getattr(found, "MODULE$"))

    def array(self, class_name: str, values: Sequence[Any]) -> Any:
        """An array of a class that Java itself brings."""
        kind = self.jvm
        for part in class_name.split("."):
            kind = getattr(kind, part)
        array = self._new_array(kind, len(values))
        for index, value in enumerate(values):
            array[index] = value
        return array

    @staticmethod
    def members(collection: Any) -> list[Any]:
        """What a Java collection holds. A loop over it would end with an exception, which takes PySpark 16 ms."""
        array = collection.toArray()
        return [array[index] for index in range(len(array))]

    def int_array(self, values: Sequence[int]) -> Any:
        """An `int[]`."""
        array = self._new_array(self.jvm.int, len(values))
        for index, value in enumerate(values):
            array[index] = value
        return array

    def read_bytes(self, stream: Any, length: int) -> bytes:
        """So many bytes of a Java stream, or what there is of it.

        They come as a file, since the JVM is always on this machine: py4j takes bytes apart one by one, and waits.
        """
        limited = self.iceberg.relocated.com.google.common.io.ByteStreams.limit(stream, length)
        with tempfile.TemporaryDirectory(prefix="rowdelta-") as folder:
            path = Path(folder) / "bytes"
            file = self.jvm.java.io.File(str(path)).toPath()
            self.jvm.java.nio.file.Files.copy(limited, file, self._new_array(self.jvm.java.nio.file.CopyOption, 0))
            return path.read_bytes()

    def write_bytes(self, stream: Any, data: bytes) -> None:
        """Writes bytes to a Java stream, through a file as well."""
        with tempfile.TemporaryDirectory(prefix="rowdelta-") as folder:
            path = Path(folder) / "bytes"
            path.write_bytes(data)
            self.jvm.java.nio.file.Files.copy(self.jvm.java.io.File(str(path)).toPath(), stream)

    def metadata_table(self, name: str, kind: str, snapshot_id: int) -> DataFrame:
        """Iceberg's metadata table (`entries`, `files`, ...) of a table, named in full, as of a snapshot.

        The catalog's cache may hold an older state of the table than a handle does. A snapshot that this state does not
        know would give no rows and no error, so the cached table is brought up to date first.
        """
        cached = self.iceberg.spark.Spark3Util.loadIcebergTable(self.session, name)
        if cached.snapshot(snapshot_id) is None:
            cached.refresh()
        return run_sql(self.spark, f"SELECT * FROM {name}.{kind} VERSION AS OF {snapshot_id}")

    def text_list(self, texts: Iterable[str]) -> Any:
        """A `List<String>`, as one text: py4j would send them one by one."""
        mapper = self.iceberg.util.JsonUtil.mapper()
        return mapper.readValue(json.dumps(list(texts)), self.java_class("java.util.ArrayList"))

    def string_map(self, values: Mapping[str, str]) -> Any:
        """A `Map<String, String>`."""
        result = self.jvm.java.util.HashMap()
        for key, value in values.items():
            result.put(key, value)
        return result

    def json_node(self, text: str) -> Any:
        """A Jackson `JsonNode` of the (shaded) library that Iceberg's parsers take. NaN is a number."""
        mapper = self.iceberg.util.JsonUtil.mapper()
        if "NaN" not in text and "Infinity" not in text:
            return mapper.readTree(text)
        features = self.iceberg.shaded.com.fasterxml.jackson.core.json.JsonReadFeature
        return getattr(mapper.reader(), "with")(features.ALLOW_NON_NUMERIC_NUMBERS).readTree(text)
