"""Gets the jars of the servers and of Spark's catalogs with Ivy, which is one of PySpark's own jars.

`python -m tests.lake.servers.jars` gets all of them. They are kept in the Python environment, so `make clean` removes
them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.sax.saxutils import quoteattr

from tests.lake.servers.java import find_java, pyspark_jars
from tests.lake.servers.server import MissingError

COMMAND: Final = "python -m tests.lake.servers.jars"
_FOLDER: Final = Path(sys.prefix) / "lake-jars"
_COMPLETE: Final = ".complete"
_DOWNLOAD_SECONDS: Final = 600


@dataclass(frozen=True)
class Artifact:
    """A jar of a Maven repository, as `group:name:version`.

    Attributes:
        coordinates: Group, name and version.
        classifiers: Which jars of this version; the empty one is the jar without a classifier.
        transitive: Also get what it depends on.
    """

    coordinates: str
    classifiers: tuple[str, ...] = ("",)
    transitive: bool = False

    def to_xml(self) -> str:
        """Describes the dependency for Ivy."""
        group, name, version = map(quoteattr, self.coordinates.split(":"))
        listed = "".join(
            f'<artifact name={name} type="jar" ext="jar"{f" m:classifier={quoteattr(one)}" if one else ""}/>'
            for one in self.classifiers
        )
        conf = "default" if self.transitive else "master"
        return (
            f'<dependency org={group} name={name} rev={version} conf="default->{conf}" '
            f'transitive="{str(self.transitive).lower()}">{listed}</dependency>'
        )


GROUPS: Final[dict[str, tuple[Artifact, ...]]] = {
    "s3-server": (Artifact("org.gaul:s3proxy:4.1.0", ("jar-with-dependencies",)),),
    "aws": (Artifact("org.apache.iceberg:iceberg-aws-bundle:1.12.0"),),
    # Iceberg's bundle has the rest of the AWS SDK, in this version.
    "s3a": (
        Artifact("org.apache.hadoop:hadoop-aws:3.4.2"),
        Artifact("software.amazon.awssdk:apache-client:2.54.17"),
        Artifact("software.amazon.awssdk:s3-transfer-manager:2.54.17"),
    ),
    "rest-server": (
        Artifact("org.apache.iceberg:iceberg-core:1.11.0", ("", "tests"), transitive=True),
        Artifact("org.apache.iceberg:iceberg-aws:1.11.0"),
        Artifact("software.amazon.awssdk:apache-client:2.54.17"),
        Artifact("dev.failsafe:failsafe:3.3.2"),
        Artifact("org.eclipse.jetty.ee10:jetty-ee10-servlet:12.1.14", transitive=True),
        Artifact("org.xerial:sqlite-jdbc:3.49.1.0"),
    ),
    "sqlite": (Artifact("org.xerial:sqlite-jdbc:3.49.1.0"),),
    "postgres": (Artifact("org.postgresql:postgresql:42.7.4"),),
}


def get_jars(group: str) -> list[Path]:
    """Returns the jars of a group; downloads them first if this environment does not have them.

    Raises:
        MissingError: They cannot be downloaded.
    """
    wanted = _describe(GROUPS[group])
    folder = _FOLDER / group
    stamp = folder / _COMPLETE
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        _download(wanted, folder)
        stamp.write_text(wanted, encoding="utf-8")
    return sorted(folder.glob("*.jar"))


def _describe(artifacts: tuple[Artifact, ...]) -> str:
    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">'
        '<info organisation="rowdelta" module="lake"/><configurations><conf name="default"/></configurations>'
        f"<dependencies>{''.join(one.to_xml() for one in artifacts)}</dependencies></ivy-module>"
    )


def _download(module: str, folder: Path) -> None:
    for old in folder.glob("*.jar"):
        old.unlink()
    with tempfile.TemporaryDirectory() as scratch:
        description = Path(scratch) / "ivy.xml"
        description.write_text(module, encoding="utf-8")
        (ivy,) = pyspark_jars("ivy")
        pattern = f"{folder}/[organisation]-[artifact]-[revision](-[classifier]).[ext]"
        run = [find_java(), "-cp", str(ivy), "org.apache.ivy.Main", "-warn", "-ivy", str(description)]
        try:
            done = subprocess.run(
                [*run, "-retrieve", pattern],
                capture_output=True,
                text=True,
                check=False,
                timeout=_DOWNLOAD_SECONDS,
            )
        except subprocess.TimeoutExpired as error:
            raise MissingError("the jars were not downloaded in time", COMMAND) from error
    problems = [line.strip() for line in done.stdout.splitlines() if "not found" in line or "FAILED" in line]
    if done.returncode or problems:
        raise MissingError(f"the jars cannot be downloaded: {'; '.join(problems) or done.stderr.strip()}", COMMAND)


def main() -> None:
    """Gets the jars of every group."""
    for group in GROUPS:
        sys.stdout.write(f"{group}: {len(get_jars(group))} jars\n")


if __name__ == "__main__":
    main()
