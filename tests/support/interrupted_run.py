"""A program that maintains a table, is interrupted again and again, and reports what each Ctrl-C left behind.

Its caller sends SIGINT a while after each line `go`. The program answers each signal with one line of JSON.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import rowdelta as rd
from rowdelta.maintenance import file_groups as groups
from tests.support.tables import EDV, create, head, keys, stored_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ACTIONS = ("resolve", "compact", "compact-verified", "rewrite-deletes")
FILES = 4
ROWS = 20_000
DELETED = (5, 20_005, 60_005)


def main(warehouse: str, *actions: str) -> None:
    """Runs one action for each name. The interrupt of the last one is not caught."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background leaves it ignored
    vars(groups)["_BYTES_PER_FILE"] = 1 << 20  # a group for each file
    config: dict[str, str | int | bool] = {"spark.sql.shuffle.partitions": 2, "spark.driver.memory": "1g"}
    spark = rd.session(warehouse, config=config)
    for number, action in enumerate(actions):
        table = make(spark, f"lake.db.interrupted_{number}")
        say("go")
        ended = "interrupted"
        try:
            run(table, action)
            ended = "done"
            time.sleep(600)  # the signal is still to come
        except KeyboardInterrupt:
            if number == len(actions) - 1:
                raise
        say(json.dumps({"action": action, "ended": ended, **state(spark, table)}))


def say(line: str) -> None:
    """Prints a line for the caller."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def make(spark: SparkSession, name: str) -> rd.Table:
    """Files of ids, and keys of some of them deleted in several commits."""
    table = create(spark, name, "id bigint, v string", properties=EDV)
    for start in range(0, FILES * ROWS, ROWS):
        frame = spark.range(start, start + ROWS, 1, 1).selectExpr("id", "repeat(hex(xxhash64(id)), 8) v")
        frame.writeTo(name).append()
    for key in DELETED:
        table.delete_keys(keys(spark, key), "id").execute()
    return table


def run(table: rd.Table, action: str) -> None:
    """Runs an action that takes some seconds."""
    options = {"rewrite-all": "true"}
    if action == "resolve":
        table.resolve(memory="1m", partial_progress=True).execute()
    elif action == "rewrite-deletes":
        table.rewrite_deletes("full-row").execute()
    else:
        table.compact("sort", sort_order="v", options=options, verify=action == "compact-verified").execute()


def state(spark: SparkSession, table: rd.Table) -> dict[str, Any]:
    """The state of a table after an interruption, and how far the action got."""
    ids = table.read(columns=["id"]).agg({"id": "sum", "*": "count"}).collect()[0]
    found = sorted(ids.asDict().values())
    everything = FILES * ROWS
    expected = sorted([everything * (everything - 1) // 2 - sum(DELETED), everything - len(DELETED)])
    head(table)
    return {
        "rows": found == expected,
        "strays": sorted(stored_files(table) - list_needed_files(table)),
        "branches": sorted(table.metadata.branches),
        "snapshots": len(table.metadata.snapshots),
        "jobs": len(spark.sparkContext.statusTracker().getActiveJobsIds()),
    }


def list_needed_files(table: rd.Table) -> set[str]:
    """Every file that some snapshot of a table needs, relative to its folder."""
    handle, folder = table._handle, f"{table.metadata.location}/"
    found: set[str] = set()
    for snapshot in table.metadata.snapshots.values():
        assert snapshot.manifest_list is not None
        found.add(snapshot.manifest_list)
        for manifest in handle.manifests.read(snapshot.manifest_list).records:
            found.add(manifest["manifest_path"])
            records = handle.manifests.read(manifest["manifest_path"]).records
            found |= {record["data_file"]["file_path"] for record in records if record["status"] != 2}
    return {path.removeprefix("file:").removeprefix(folder) for path in found}


if __name__ == "__main__":
    main(*sys.argv[1:])
