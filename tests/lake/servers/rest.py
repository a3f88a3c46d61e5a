"""An Iceberg REST catalog: Iceberg's own servlet over a JDBC catalog in SQLite, with its tables on S3."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.lake.servers.jars import get_jars
from tests.lake.servers.java import JVM_OPTIONS, find_java, join_class_path, pyspark_jars
from tests.lake.servers.s3 import BUCKET
from tests.lake.servers.server import HOST, Server, find_free_port

if TYPE_CHECKING:
    from tests.lake.servers.s3 import S3Server


class RestServer:
    """The catalog.

    Attributes:
        address: The URL of the catalog.
    """

    def __init__(self, folder: Path, s3: S3Server) -> None:
        port = find_free_port()
        self.address = f"http://{HOST}:{port}"
        spark = pyspark_jars("hadoop-client", "httpclient-4", "httpcore-4", "jcl-over-slf4j")
        jars = [*get_jars("rest-server"), *get_jars("aws"), *spark]
        backend = {
            "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            "uri": f"jdbc:sqlite:{folder / 'rest.db'}",
            "jdbc.schema-version": "V1",
            "warehouse": f"s3://{BUCKET}/rest",
            **s3.file_io_settings(),
        }
        source = str(Path(__file__).with_name("RestServer.java"))
        settings = [f"{key}={value}" for key, value in backend.items()]
        java = [find_java(), *JVM_OPTIONS, "-Xmx256m", "-cp", join_class_path(jars)]
        self.server = Server("rest", [*java, source, HOST, str(port), *settings], folder, port)

    def wait(self) -> None:
        """Waits until the catalog answers."""
        self.server.wait_for_port()
