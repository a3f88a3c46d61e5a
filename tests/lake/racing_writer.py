"""A program that upserts into tables at the same time as another: `racing_writer.py NUMBER`, its settings on stdin.

The first line of stdin is a JSON object with the settings of Spark and the tables. After each further line, the program
upserts into the next table, and answers with a line.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

import rowdelta as rd

if TYPE_CHECKING:
    from collections.abc import Iterator

UPSERTS: Final = 20
READY: Final = "ready"
DONE: Final = "done"
_KEYS_OF_A_WRITER: Final = 1000
_KEYS: Final = 3


def list_changes(number: int, upsert: int) -> list[tuple[int, str]]:
    """The rows of one upsert of a writer. Each replaces rows of the upserts before it, and adds one."""
    first = number * _KEYS_OF_A_WRITER + upsert
    return [(key, f"{number}-{upsert}") for key in range(first, first + _KEYS)]


def list_rows(writers: int) -> Iterator[tuple[int, str]]:
    """The rows after all upserts of all writers."""
    for number in range(writers):
        rows: dict[int, str] = {}
        for upsert in range(UPSERTS):
            rows.update(list_changes(number, upsert))
        yield from rows.items()


def main() -> None:
    """Runs the writer."""
    number, given = int(sys.argv[1]), json.loads(sys.stdin.readline())
    spark = rd.session(config={**given["settings"], "spark.master": "local[1]", "spark.driver.memory": "1g"})
    _say(READY)
    for name in given["tables"]:
        sys.stdin.readline()
        table = rd.table(spark, name)
        for upsert in range(UPSERTS):
            table.upsert(spark.createDataFrame(list_changes(number, upsert), "id bigint, v string"), "id").execute()
        table.read().count()  # its scratch files are removed when this process ends
        _say(DONE)
    spark.stop()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
