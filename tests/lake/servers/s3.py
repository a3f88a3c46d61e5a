"""An S3 server over a folder."""

from __future__ import annotations

import urllib.request
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from urllib.error import URLError

from tests.lake.servers.jars import get_jars
from tests.lake.servers.java import JVM_OPTIONS, find_java
from tests.lake.servers.server import HOST, Server, find_free_port

if TYPE_CHECKING:
    from pathlib import Path

BUCKET: Final = "bucket"
ACCESS_KEY: Final = "any"


class S3Server:
    """S3Proxy, which stores objects as files.

    Attributes:
        address: The URL of the server.
        files: The folder with the objects of the bucket, each in a file of its name.
    """

    def __init__(self, folder: Path) -> None:
        (jar,) = get_jars("s3-server")
        port = find_free_port()
        self.address = f"http://{HOST}:{port}"
        self.files = folder / "objects" / BUCKET
        self.files.parent.mkdir()
        settings = {
            "s3proxy.authorization": "none",
            "s3proxy.endpoint": self.address,
            "jclouds.provider": "filesystem-nio2",
            "jclouds.filesystem.basedir": str(self.files.parent),
            "jclouds.identity": ACCESS_KEY,
            "jclouds.credential": ACCESS_KEY,
        }
        properties = folder / "s3proxy.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
        command = [find_java(), *JVM_OPTIONS, "-Xmx256m", "-jar", str(jar), "--properties", str(properties)]
        self.server = Server("s3proxy", command, folder, port)

    def wait(self) -> None:
        """Waits for the server, and creates the bucket."""
        self.server.wait_until(self._create_bucket)

    def _create_bucket(self) -> bool:
        with suppress(URLError, ConnectionError):
            urllib.request.urlopen(urllib.request.Request(f"{self.address}/{BUCKET}", method="PUT"), timeout=10).close()
            return True
        return False

    def file_io_settings(self) -> dict[str, str]:
        """The settings of a catalog whose files are read and written by Iceberg's S3FileIO."""
        return {
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            "s3.endpoint": self.address,
            "s3.path-style-access": "true",
            "s3.access-key-id": ACCESS_KEY,
            "s3.secret-access-key": ACCESS_KEY,
            "client.region": "us-east-1",
        }

    def hadoop_settings(self) -> dict[str, str]:
        """The settings of Hadoop's S3A, by their names in Spark."""
        settings = {
            "endpoint": self.address,
            "endpoint.region": "us-east-1",
            "path.style.access": "true",
            "connection.ssl.enabled": "false",
            "access.key": ACCESS_KEY,
            "secret.key": ACCESS_KEY,
            "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        }
        return {f"spark.hadoop.fs.s3a.{key}": value for key, value in settings.items()}
