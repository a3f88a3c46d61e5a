"""Asks Maven Central whether Iceberg has a runtime for a newer Spark, and says what rowdelta would miss there.

Run it on a schedule (`make check-spark`). It prints a line for each new version of Spark, and then the internals of
PySpark, Spark and Iceberg that rowdelta uses and that the new version lacks. The exit code is 0 if there is no new
runtime, 1 if there is one, and 2 if Maven Central does not answer.

It asks through Ivy, which is part of Spark and loads the packages of `rd.session()`, too. `--spark 4.1` checks one
version, which may be a supported one.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyspark

from rowdelta.spark.versions import SPARK
from rowdelta.spark.versions.supported import NEWEST

GROUP: Final = "org.apache.iceberg"
SCALA: Final = ("2.13", "3")
MINORS: Final = 4  # how many versions after the newest supported one
NEXT_MAJOR: Final = (5, 0)
NO_NEWER, NEWER, NO_ANSWER = range(3)
_METHOD: Final = re.compile(r"([\w.$]+)\((.*)\)")
_PARENTS: Final = re.compile(r"(?:extends|implements) ([^{]+?)(?= implements| \{)")
_CLASS: Final = re.compile(r"^[\w ]*(?:class|interface) ([\w.$]+)[^{\n]*\{.*?^\}", re.MULTILINE | re.DOTALL)
_GENERIC: Final = re.compile(r"<[^<>]*>")
_FIND: Final = """
import importlib, sys
for name in sys.argv[1:]:
    module, _, path = name.partition(":")
    try:
        value = importlib.import_module(module)
        for part in path.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError) as error:
        print(f"{name} ({error})")
"""


class NoAnswerError(Exception):
    """Maven Central or PyPI did not answer."""


@dataclass(frozen=True)
class Runtime:
    """Iceberg's newest runtime for a version of Spark."""

    spark: str
    jar: Path

    @property
    def version(self) -> str:
        """The version of Iceberg."""
        return self.jar.stem.rpartition("-")[2]


def main() -> int:
    """Looks for runtimes, and reports what is missing."""
    parser = argparse.ArgumentParser(description="Looks for Iceberg runtimes for a newer Spark.")
    parser.add_argument("--spark", help="check this version only, such as 4.2")
    wanted = parser.parse_args().spark
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        try:
            found = find_runtimes([wanted] if wanted else list_next_versions(), place)
            for runtime in found:
                report(runtime, place)
        except NoAnswerError as error:
            print(f"cannot look for new versions: {error}", file=sys.stderr)
            return NO_ANSWER
    if not found:
        print(f"Iceberg has no runtime for Spark {wanted or f'after {NEWEST.name}'}")
    return NEWER if found else NO_NEWER


def find_runtimes(versions: list[str], folder: Path) -> list[Runtime]:
    """Finds the newest runtimes for some versions of Spark, after it has seen that a known one is found."""
    if find_runtime(NEWEST.name, folder) is None:
        raise NoAnswerError(f"not even the runtime for Spark {NEWEST.name} was found")
    runtimes = [find_runtime(spark, folder) for spark in versions]
    return [runtime for runtime in runtimes if runtime is not None]


def list_next_versions() -> list[str]:
    """Lists the versions of Spark that may come after the newest supported one."""
    major, minor = NEWEST.spark
    return [*(f"{major}.{minor + step}" for step in range(1, MINORS + 1)), ".".join(map(str, NEXT_MAJOR))]


def find_runtime(spark: str, folder: Path) -> Runtime | None:
    """Downloads Iceberg's newest runtime for a version of Spark; returns None if there is none."""
    for scala in SCALA:
        name = f"iceberg-spark-runtime-{spark}_{scala}"
        if fetch_jar(name, folder):
            return Runtime(spark, max(folder.glob(f"{name}-*.jar")))
    return None


def fetch_jar(name: str, folder: Path) -> bool:
    """Downloads the newest release of a jar of Iceberg; returns False if there is none."""
    (ivy,) = (Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar")
    command = [find_program("java"), "-jar", ivy, "-cache", folder / "cache", "-types", "jar", "-dependency"]
    command += [GROUP, name, "latest.release", "-retrieve", folder / "[artifact]-[revision].[ext]"]
    answer = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if answer.returncode == 0:
        return True
    output = answer.stdout + answer.stderr
    if f"#{name};latest.release: not found" in output and "SERVER ERROR" not in output:
        return False
    raise NoAnswerError("\n".join(output.strip().splitlines()[-5:]))


def report(runtime: Runtime, folder: Path) -> None:
    """Prints what rowdelta would miss on the Spark of a runtime."""
    print(f"Iceberg {runtime.version} has a runtime for Spark {runtime.spark}: {runtime.jar.name}")
    packages = fetch_pyspark(runtime.spark, folder / f"pyspark-{runtime.spark}")
    missing = [*find_missing_python(packages), *find_missing_java([packages / "pyspark" / "jars" / "*", runtime.jar])]
    for name in missing:
        print(f"  missing: {name}")
    print(
        f"  {len(missing)} of the internals in rowdelta/spark/versions are missing" if missing else "  nothing missing"
    )


def fetch_pyspark(version: str, folder: Path) -> Path:
    """Installs PySpark into a folder of its own."""
    wanted = f"pyspark=={version}.*"
    uv = os.environ.get("UV") or shutil.which("uv")
    installer = [uv, "pip"] if uv else [sys.executable, "-m", "pip"]
    command = [*installer, "install", "--quiet", "--no-deps", "--target", str(folder), wanted]
    if subprocess.run(command, check=False).returncode:
        raise NoAnswerError(f"{wanted} could not be installed")
    return folder


def find_missing_python(packages: Path) -> list[str]:
    """Lists the names of PySpark that a version lacks."""
    environment = {**os.environ, "PYTHONPATH": str(packages)}
    environment.pop("SPARK_HOME", None)
    command = [sys.executable, "-W", "ignore", "-c", _FIND, *SPARK.python_names]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return found.stdout.splitlines()


def find_missing_java(class_path: list[Path]) -> list[str]:
    """Lists the classes and methods that are not on a class path."""
    found = read_classes(os.pathsep.join(map(str, class_path)), set(SPARK.java_names))
    missing = []
    for name, methods in SPARK.java_names.items():
        if name in found:
            present = list_methods(found, name)
            missing += [f"{name}.{method}" for method in methods if method not in present]
        else:
            missing.append(name)
    return missing


def read_classes(path: str, names: set[str]) -> dict[str, str]:
    """Reads the members of classes and of their parents, as text; a missing class is omitted."""
    found: dict[str, str] = {}
    while names:
        command = [find_program("javap"), "-p", "-cp", path, *sorted(names)]
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        while _GENERIC.search(text):
            text = _GENERIC.sub("", text)
        new = {header[1]: header[0] for header in _CLASS.finditer(text)}
        found |= new
        names = {parent for block in new.values() for parent in list_parents(block)} - set(found)
    return found


def list_parents(block: str) -> list[str]:
    """Lists the parents of a class, except those of Java and Scala."""
    header = block.splitlines()[0]
    parents = [parent.strip() for group in _PARENTS.findall(header) for parent in group.split(",")]
    return [parent for parent in parents if parent.startswith("org.apache.")]


def list_methods(found: dict[str, str], name: str) -> set[str]:
    """Lists the methods of a class and its parents, with and without the number of arguments."""
    block, methods = found.get(name, "{"), set()
    for method, arguments in _METHOD.findall(block):
        short = "<init>" if method == name else method
        methods |= {short, f"{short}/{arguments.count(',') + 1 if arguments else 0}"}
    return methods.union(*(list_methods(found, parent) for parent in list_parents(block)))


def find_program(name: str) -> str:
    """Finds a program of the JDK."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", name)) if home else name


if __name__ == "__main__":
    sys.exit(main())
