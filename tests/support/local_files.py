"""The files of a test run: Spark writes them without checksums, and some can be moved away for a while."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession


# Without its native library, Hadoop starts the program chmod for every file and folder that it creates.
_FILE_SYSTEM = """
package rowdelta.tests;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

public class QuickLocalFileSystem extends LocalFileSystem {
    public QuickLocalFileSystem() {
        super(new Raw());
    }

    public static class Raw extends RawLocalFileSystem {
        public void setPermission(Path path, FsPermission permission) throws IOException {
            if (permission.getStickyBit()) {
                super.setPermission(path, permission);
            } else {
                Files.setPosixFilePermissions(
                    pathToFile(path).toPath(), PosixFilePermissions.fromString(permission.toString()));
            }
        }
    }
}
"""


def use_quick_local_files(spark: SparkSession) -> None:
    """Makes Hadoop set permissions without starting a program, and write no checksum files.

    Hadoop has one file system for each scheme of a process: this one takes the place of the one for local files.
    """
    jvm: Any = spark._jvm
    hadoop = jvm.org.apache.hadoop
    configuration = hadoop.conf.Configuration(spark._jsc.hadoopConfiguration())
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(_FILE_SYSTEM)
    configuration.setClassLoader(compiler.getClassLoader())
    configuration.set("fs.file.impl", "rowdelta.tests.QuickLocalFileSystem")
    hadoop.fs.FileSystem.getLocal(configuration).close()
    hadoop.fs.FileSystem.getLocal(configuration).setWriteChecksum(False)


@contextmanager
def move_away(locations: Iterable[str]) -> Iterator[None]:
    """Moves files away: inside, a reader of one of them fails."""
    paths = {Path(location.removeprefix("file:")) for location in locations}
    for path in paths:
        path.rename(path.with_suffix(".away"))
    try:
        yield
    finally:
        for path in paths:
            path.with_suffix(".away").rename(path)
