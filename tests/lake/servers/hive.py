"""A Hive metastore, from PySpark's own jars."""

from __future__ import annotations

from pathlib import Path

from tests.lake.servers.java import JVM_OPTIONS, find_java, join_class_path, pyspark_jars
from tests.lake.servers.server import HOST, Server, find_free_port


class HiveServer:
    """The metastore.

    Attributes:
        address: The URI of the metastore.
        warehouse: The folder of its tables.
    """

    def __init__(self, folder: Path) -> None:
        port = find_free_port()
        self.address = f"thrift://{HOST}:{port}"
        self.warehouse = folder / "hive"
        self.warehouse.mkdir()
        source = str(Path(__file__).with_name("HiveServer.java"))
        command = [
            find_java(),
            *JVM_OPTIONS,
            "-Xmx512m",
            f"-Dderby.stream.error.file={folder / 'derby.log'}",
            "-cp",
            join_class_path(pyspark_jars()),
            source,
            HOST,
            str(port),
            str(self.warehouse),
        ]
        self.server = Server("hive", command, folder, port)

    def wait(self) -> None:
        """Waits until the metastore answers."""
        self.server.wait_for_port()
