"""Two processes upsert into one table at once. Every upsert survives, whichever commits first."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.lake.components import NAMESPACE
from tests.lake.racing_writer import DONE, READY, UPSERTS, list_rows
from tests.lake.stray_files import find_stray_files
from tests.support.oracle import assert_same_rows
from tests.support.tables import EDV, create

if TYPE_CHECKING:
    import rowdelta as rd
    from tests.lake.lake import Lake

CATALOGS: Final = ("rest", "postgres", "hive")
WRITERS: Final = 2
VERSIONS: Final = (2, 3)
_END_SECONDS: Final = 60.0


class Writers:
    """The processes, each with a Spark of its own; and the tables into which they write, one after another."""

    def __init__(self, lake: Lake, tables: list[str], folder: Path) -> None:
        given = json.dumps({"settings": lake.components.settings, "tables": tables})
        self._logs = [folder / f"writer{number}.log" for number in range(WRITERS)]
        self._processes = []
        for number, log in enumerate(self._logs):
            with log.open("w") as errors:
                self._processes.append(
                    subprocess.Popen(
                        [sys.executable, "-m", "tests.lake.racing_writer", str(number)],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=errors,
                        text=True,
                        cwd=Path(__file__).parents[2],
                    )
                )
        self._say(given)
        self._expect(READY)

    def write(self) -> None:
        """Makes all writers write into the next table."""
        self._say("go")
        self._expect(DONE)

    def _say(self, line: str) -> None:
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(f"{line}\n")
            process.stdin.flush()

    def _expect(self, line: str) -> None:
        for process, log in zip(self._processes, self._logs, strict=True):
            assert process.stdout is not None
            assert process.stdout.readline().strip() == line, log.read_text()

    def finish(self) -> None:
        """Waits until the processes have ended by themselves."""
        for process, log in zip(self._processes, self._logs, strict=True):
            process.communicate(timeout=_END_SECONDS)
            assert process.returncode == 0, log.read_text()

    def stop(self) -> None:
        """Ends the processes that still run."""
        for process in self._processes:
            process.terminate()
            process.communicate()


@pytest.fixture(scope="module")
def tables(lake: Lake) -> dict[tuple[str, int], rd.Table]:
    """A table for each catalog that this machine has, and each format version."""
    made: dict[tuple[str, int], rd.Table] = {}
    for catalog in CATALOGS:
        if catalog in lake.components.available:
            lake.use(catalog)
            for version in VERSIONS:
                name = f"{catalog}.{NAMESPACE}.race_{uuid.uuid4().hex[:8]}"
                properties = EDV if version > 2 else {}
                made[catalog, version] = create(
                    lake.spark, name, "id bigint, v string", version=version, properties=properties
                )
    return made


@pytest.fixture(scope="module")
def written(
    lake: Lake, tables: dict[tuple[str, int], rd.Table], tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, int], rd.Table]:
    """The tables, after the writers have written into all of them."""
    writers = Writers(lake, [table.name for table in tables.values()], tmp_path_factory.mktemp("writers"))
    try:
        for _ in tables:
            writers.write()
        writers.finish()
    finally:
        writers.stop()
    for table in tables.values():
        lake.spark.catalog.refreshTable(table.name)
    return tables


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("catalog", CATALOGS)
def test_every_upsert_of_two_processes_survives(
    lake: Lake, written: dict[tuple[str, int], rd.Table], catalog: str, version: int
) -> None:
    lake.use(catalog)
    table = written[catalog, version].refresh()
    assert len(table.metadata.snapshots) == WRITERS * UPSERTS
    assert_same_rows(table.read(), list_rows(WRITERS))
    assert find_stray_files(table) == []
