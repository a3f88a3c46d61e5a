"""The table's FileIO lists the orphans, so Hadoop needs no access to the storage."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.oracle import assert_same_ids
from tests.support.tables import EDV, append_ids, create, keys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    import rowdelta as rd

JARS = "ROWDELTA_S3_JARS"
MISSING = f"""a real S3 needs three jars in a folder that {JARS} names. These commands get them:
for jar in org.apache.iceberg:iceberg-aws-bundle:1.12.0 org.gaul:s3proxy:4.1.0:jar:jar-with-dependencies \\
  com.h2database:h2:2.3.232
do mvn dependency:copy -Dartifact=$jar -DoutputDirectory=jars; done"""
DAYS = 86_400


def make_old(folder: Path) -> None:
    moment = time.time() - 4 * DAYS
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (moment, moment))


def change(spark: SparkSession, name: str) -> rd.Table:
    """A table with every kind of file."""
    table = create(spark, name, "id bigint, v string", properties=EDV)
    append_ids(spark, name, range(10))
    table.delete_keys(keys(spark, 1), "id").execute()
    table.delete("id = 2").execute()
    return table


def check(spark: SparkSession, name: str, folder: Path) -> None:
    """Removes strays, but no file of this table or of one whose folder name has the same beginning.

    Args:
        spark: The session.
        name: The table.
        folder: Where its files are on this machine.
    """
    table, other = change(spark, name), change(spark, f"{name}2")
    stray = folder / "data" / "stray.parquet"
    beside = folder.parent / f"{folder.name}2" / "data" / "stray.parquet"
    for path in (stray, beside):
        path.write_bytes(b"x")
    make_old(folder.parent)
    assert [Path(path).name for path in table.remove_orphans().plan().orphan_files] == ["stray.parquet"]
    result = table.remove_orphans().execute()
    assert (result.files_removed, stray.exists(), beside.exists()) == (1, False, True)
    beside.unlink()
    assert other.remove_orphans().execute().files_removed == 0
    for one in (table, other):
        assert_same_ids(one.read(), [0, *range(3, 10)])


def test_orphans_are_found_where_sparks_hadoop_cannot_list(spark: SparkSession, tmp_path: Path) -> None:
    """Only the catalog knows the mount table of this file system."""
    prefix = "spark.sql.catalog.mounted"
    settings = {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.type": "hadoop",
        f"{prefix}.warehouse": "viewfs://mounted/place",
        f"{prefix}.hadoop.fs.viewfs.mounttable.mounted.link./place": tmp_path.as_uri(),
        f"{prefix}.hadoop.fs.viewfs.impl.disable.cache": "true",
    }
    session = spark.newSession()
    for key, value in settings.items():
        session.conf.set(key, value)
    session.sql("CREATE NAMESPACE mounted.db")
    check(session, "mounted.db.t", tmp_path / "db" / "t")


@contextmanager
def s3(folder: Path, jar: str) -> Iterator[str]:
    """Starts an S3 server over a folder, and returns its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{probe.getsockname()[1]}"
    settings = {
        "s3proxy.authorization": "none",
        "s3proxy.endpoint": address,
        "jclouds.provider": "filesystem-nio2",
        "jclouds.filesystem.basedir": str(folder / "buckets"),
        "jclouds.identity": "any",
        "jclouds.credential": "any",
    }
    (folder / "buckets").mkdir()
    (folder / "s3proxy.conf").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    java = str(Path(os.environ["JAVA_HOME"]) / "bin" / "java")
    with (folder / "s3proxy.log").open("w") as log:
        server = subprocess.Popen(
            [java, "-jar", jar, "--properties", str(folder / "s3proxy.conf")], stdout=log, stderr=subprocess.STDOUT
        )
    try:
        request = urllib.request.Request(f"{address}/bucket", method="PUT")
        for _ in range(120):
            try:
                urllib.request.urlopen(request, timeout=10).close()
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.5)
        else:
            pytest.fail((folder / "s3proxy.log").read_text())
        yield address
    finally:
        server.terminate()
        server.wait()


def test_orphans_are_found_on_s3(tmp_path: Path) -> None:
    if not os.environ.get(JARS):
        pytest.skip(MISSING)
    jars = [str(next(Path(os.environ[JARS]).glob(name))) for name in ("iceberg-aws*.jar", "h2-*.jar", "s3proxy-*.jar")]
    with s3(tmp_path, jars[2]) as address:
        prefix = "spark.sql.catalog.lake"
        config = {
            "spark.jars": ",".join(jars[:2]),
            "spark.driver.memory": "1g",
            prefix: "org.apache.iceberg.spark.SparkCatalog",
            f"{prefix}.type": "jdbc",
            f"{prefix}.uri": "jdbc:h2:mem:catalog;DB_CLOSE_DELAY=-1",
            f"{prefix}.warehouse": "s3://bucket/warehouse",
            f"{prefix}.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            f"{prefix}.s3.endpoint": address,
            f"{prefix}.s3.path-style-access": "true",
            f"{prefix}.s3.access-key-id": "any",
            f"{prefix}.s3.secret-access-key": "any",
            f"{prefix}.client.region": "us-east-1",
        }
        script = f"""
from pathlib import Path
import rowdelta as rd
from tests.maintenance.orphans_storage_test import check

spark = rd.session(config={config!r})
spark.sql("CREATE NAMESPACE lake.db")
check(spark, "lake.db.t", Path({str(tmp_path / "buckets" / "bucket" / "warehouse" / "db" / "t")!r}))
"""
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
