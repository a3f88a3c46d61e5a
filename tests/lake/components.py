"""The components: catalogs and stores, each as a catalog of one Spark session on a cluster."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlparse

from tests.lake.servers.cluster import Cluster
from tests.lake.servers.counting_proxy import CountingProxy
from tests.lake.servers.hive import HiveServer
from tests.lake.servers.jars import get_jars
from tests.lake.servers.postgres import PostgresServer
from tests.lake.servers.rest import RestServer
from tests.lake.servers.s3 import BUCKET, S3Server
from tests.lake.servers.server import MissingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.lake.servers.server import Service

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
        storage_proxy, catalog_proxy: Count the requests of the component `rest`.
        cluster: The Spark cluster, which every machine with PySpark has.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.available: dict[str, Component] = {}
        self.missing: dict[str, MissingError] = {}
        self._servers = ExitStack()
        self._waiting: list[Service] = []
        self._s3: S3Server | None = None
        self.storage_proxy: CountingProxy | None = None
        self.catalog_proxy: CountingProxy | None = None
        try:
            self.cluster = Cluster(folder)
            self._servers.callback(self.cluster.stop)
            self._start(self.cluster)
            for name in COMPONENTS:
                self._make(name)
            for service in self._waiting:  # they start side by side
                service.wait()
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

    def _start(self, service: Service) -> None:
        service.server.start()
        self._waiting.append(service)

    def _add(self, service: Service) -> None:
        self._servers.callback(service.server.stop)
        self._start(service)

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
        catalog = {
            "type": "jdbc",
            "uri": f"jdbc:sqlite:{self.folder / 'catalog.db'}",
            "jdbc.schema-version": "V1",
            "warehouse": f"s3://{BUCKET}/sqlite",
        }
        return self._put_on_s3(catalog, *get_jars("sqlite"))

    def _make_s3a(self) -> Component:
        """A Hadoop catalog on S3, through Hadoop's own client."""
        return self._put_on_s3({"type": "hadoop", "warehouse": f"s3a://{BUCKET}/s3a"}, file_io=False)

    def _make_rest(self) -> Component:
        """A REST catalog. The requests to it and to its storage are counted."""
        server = RestServer(self.folder, self._need_s3())
        self._add(server)
        self.storage_proxy, self.catalog_proxy = CountingProxy(self._need_s3().address), CountingProxy(server.address)
        for proxy in (self.storage_proxy, self.catalog_proxy):
            self._servers.callback(proxy.stop)
        # On a busy machine, a table would leave Spark's cache between two changes, and be requested again.
        catalog = {"type": "rest", "uri": self.catalog_proxy.address, "cache.expiration-interval-ms": "-1"}
        component = self._put_on_s3(catalog)
        return replace(component, catalog=component.catalog | {"s3.endpoint": self.storage_proxy.address})

    def _put_on_s3(self, catalog: dict[str, str], *jars: Path, file_io: bool = True) -> Component:
        """A catalog with its tables on S3, where Delta's tables are, too; Delta always uses Hadoop's client."""
        s3 = self._need_s3()
        settings = {**catalog, **s3.file_io_settings()} if file_io else catalog
        clients = [*get_jars("aws"), *get_jars("s3a")]
        return Component(settings, f"s3a://{BUCKET}/delta", [*clients, *jars], s3.hadoop_settings())

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
