"""The components: catalogs and stores, each as a catalog of one Spark session on a cluster."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlparse

from tests.lake.servers.cluster import Cluster
from tests.lake.servers.hive import HiveServer
from tests.lake.servers.jars import get_jars
from tests.lake.servers.postgres import PostgresServer
from tests.lake.servers.rest import RestServer
from tests.lake.servers.s3 import BUCKET, S3Server
from tests.lake.servers.server import MissingError

if TYPE_CHECKING:
    from collections.abc import Callable

# Each name is that of a catalog in SQL.
COMPONENTS: Final = ("hadoop", "s3", "s3a", "rest", "postgres", "hive")
NAMESPACE: Final = "db"


@dataclass(frozen=True)
class Component:
    """A catalog with its store.

    Attributes:
        catalog: The settings of the catalog, without `spark.sql.catalog.<name>`.
        delta: The folder of Delta tables that the store of this catalog can read.
        jars: The jars that Spark needs for it.
        session: Other settings of Spark.
    """

    catalog: dict[str, str]
    delta: str
    jars: list[Path] = field(default_factory=list)
    session: dict[str, str] = field(default_factory=dict)

    def settings(self, name: str) -> dict[str, str]:
        """The settings of the session for the catalog `name`."""
        prefix = f"spark.sql.catalog.{name}"
        named = {f"{prefix}.{key}": value for key, value in self.catalog.items()}
        return {prefix: "org.apache.iceberg.spark.SparkCatalog", **named, **self.session}


class Components:
    """Starts the servers of all components that this machine can have, and stops them.

    Attributes:
        available: The components that can be used, by name.
        missing: Why the others cannot, by name.
        cluster: The Spark cluster, which every machine with PySpark has.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.available: dict[str, Component] = {}
        self.missing: dict[str, MissingError] = {}
        self._servers = ExitStack()
        self._waiting: list[Any] = []
        self._s3: S3Server | None = None
        try:
            self.cluster = Cluster(folder)
            self._servers.callback(self.cluster.stop)
            self._start(self.cluster)
            for name in COMPONENTS:
                self._make(name)
            for server in self._waiting:  # they start side by side
                server.wait()
        except BaseException:
            self.stop()
            raise

    def _make(self, name: str) -> None:
        makers: dict[str, Callable[[], Component]] = {
            "hadoop": self._make_hadoop,
            "s3": self._make_s3,
            "s3a": self._make_s3a,
            "rest": self._make_rest,
            "postgres": self._make_postgres,
            "hive": self._make_hive,
        }
        try:
            self.available[name] = makers[name]()
        except MissingError as error:
            self.missing[name] = error

    def stop(self) -> None:
        """Stops every server."""
        self._servers.close()

    @property
    def settings(self) -> dict[str, str]:
        """The settings of a session with all available components as catalogs."""
        settings: dict[str, str] = {}
        for name, component in self.available.items():
            settings |= component.settings(name)
        jars = [str(jar) for component in self.available.values() for jar in component.jars]
        return settings | {"spark.jars": ",".join(dict.fromkeys(jars))}

    def find_folder(self, location: str) -> Path:
        """Finds the folder of this machine with the files of a location."""
        url = urlparse(location)
        if url.scheme in {"s3", "s3a"}:
            assert self._s3 is not None
            return self._s3.files / url.path.lstrip("/")
        return Path(url.path)

    def _start(self, server: Any) -> None:
        server.server.start()
        self._waiting.append(server)

    def _add(self, server: Any) -> None:
        self._servers.callback(server.server.stop)
        self._start(server)

    def _need_s3(self) -> S3Server:
        if self._s3 is None:
            server = S3Server(self.folder)
            self._add(server)
            self._s3 = server
        return self._s3

    def _local(self, name: str) -> str:
        return str(self.folder / "warehouses" / name)

    @property
    def _local_delta(self) -> str:
        return str(self.folder / "delta")

    def _make_hadoop(self) -> Component:
        return Component({"type": "hadoop", "warehouse": self._local("hadoop")}, self._local_delta)

    def _make_s3(self) -> Component:
        """A JDBC catalog in a file, which needs no server, with its tables on S3."""
        jars = [*get_jars("aws"), *get_jars("sqlite")]
        catalog = {
            "type": "jdbc",
            "uri": f"jdbc:sqlite:{self.folder / 'catalog.db'}",
            "jdbc.schema-version": "V1",
            "warehouse": f"s3://{BUCKET}/sqlite",
            **self._need_s3().file_io_settings(),
        }
        return Component(catalog, f"s3a://{BUCKET}/delta", jars)

    def _make_s3a(self) -> Component:
        """A Hadoop catalog on S3, through Hadoop's own client."""
        jars = [*get_jars("aws"), *get_jars("s3a")]
        catalog = {"type": "hadoop", "warehouse": f"s3a://{BUCKET}/s3a"}
        return Component(catalog, f"s3a://{BUCKET}/delta", jars, self._need_s3().hadoop_settings())

    def _make_rest(self) -> Component:
        jars = get_jars("aws")
        s3 = self._need_s3()
        server = RestServer(self.folder, s3)
        self._add(server)
        return Component(
            {"type": "rest", "uri": server.address, **s3.file_io_settings()}, f"s3a://{BUCKET}/delta", jars
        )

    def _make_postgres(self) -> Component:
        jars = get_jars("postgres")
        server = PostgresServer(self.folder)
        self._servers.callback(server.remove)
        self._add(server)
        catalog = {
            "type": "jdbc",
            "uri": server.address,
            "jdbc.user": server.user,
            "jdbc.schema-version": "V1",
            "warehouse": self._local("postgres"),
        }
        return Component(catalog, self._local_delta, jars)

    def _make_hive(self) -> Component:
        server = HiveServer(self.folder)
        self._add(server)
        catalog = {"type": "hive", "uri": server.address, "warehouse": str(server.warehouse)}
        session = {"spark.hadoop.iceberg.engine.hive.lock-enabled": "false"}
        return Component(catalog, self._local_delta, session=session)
