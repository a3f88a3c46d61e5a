"""The names and the small table that the examples of the docs use, made by the code in docs/api.md."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rowdelta as rd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EVENTS = """\
{"op": "u", "before": null, "after": {"id": 1, "status": "paid", "amount": 10.0}, "ts_ms": 1700000000000}
{"op": "d", "before": {"id": 2}, "after": null, "ts_ms": 1700000000001}
"""


def blocks(page: Path, *languages: str) -> list[tuple[str, str]]:
    """The code of a page: languages and texts."""
    fences = re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [(language, text) for language, text in fences if language in languages]


def run(source: str, where: str, names: dict[str, Any]) -> None:
    """Runs a block of code."""
    exec(compile(source, where, "exec"), names)


@contextlib.contextmanager
def inside(spark: SparkSession, folder: Path) -> Iterator[None]:
    """Changes the working directory of Python and Spark, so that `events` means the same to both."""
    before = Path.cwd()
    _go(spark, folder)
    try:
        yield
    finally:
        _go(spark, before)


def _go(spark: SparkSession, folder: Path) -> None:
    os.chdir(folder)
    gateway = spark._jvm
    assert gateway is not None
    hadoop = gateway.org.apache.hadoop.fs
    hadoop.FileSystem.getLocal(spark._jsc.hadoopConfiguration()).setWorkingDirectory(hadoop.Path(str(folder)))
    # Checkpoints of streams go through another class, which asks Java itself.
    gateway.java.lang.System.setProperty("user.dir", str(folder))


class Examples:
    """The table of the examples; what an example changes is undone after it."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._folder, self._kept = folder, folder / "kept"
        self._names: dict[str, Any] = {}
        (folder / "events").mkdir()
        (folder / "events" / "1.json").write_text(EVENTS)
        with inside(spark, folder):
            for _, source in blocks(DOCS / "api.md", "python"):
                run(source, "docs/api.md", self._names)
        self._spark: SparkSession = self._names["spark"]
        shutil.copytree(self._table, self._kept)

    @property
    def _table(self) -> Path:
        return self._folder / "warehouse" / "db" / "orders"

    @contextlib.contextmanager
    def ready(self) -> Iterator[dict[str, Any]]:
        """The names of the examples, in their folder."""
        with inside(self._spark, self._folder):
            try:
                yield self._names | {"t": rd.table(self._spark, "lake.db.orders")}
            finally:
                self._tidy()

    def _tidy(self) -> None:
        for query in self._spark.streams.active:
            query.stop()
        shutil.rmtree(self._folder / "state", ignore_errors=True)
        self._spark.catalog.dropTempView("orders")
        for found in self._table.parent.iterdir():
            if found != self._table:
                self._spark.sql(f"DROP TABLE lake.db.{found.name}")
        if _files(self._table) != _files(self._kept):
            # The same files at the same place: a hundred times faster than a new table.
            shutil.rmtree(self._table)
            shutil.copytree(self._kept, self._table)
            self._spark.catalog.refreshTable("lake.db.orders")


def _files(folder: Path) -> set[str]:
    return {path.name for path in (folder / "metadata").iterdir()}
