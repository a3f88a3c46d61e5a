"""`rowdelta cdc run` on topics of a real broker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.events import event

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BROKER = os.environ.get("ROWDELTA_KAFKA")
pytestmark = pytest.mark.skipif(BROKER is None, reason="no Kafka: ROWDELTA_KAFKA=host:port names a broker to test with")
# A Spark of its own, because the one of the other tests has no Kafka package: it writes messages, runs pipelines on
# them, and prints what the tables hold. The last pipeline is run by the shell command alone.
DRIVER = """
import json, sys
import rowdelta as rd
from typer.testing import CliRunner
from rowdelta.cli.app import app
from rowdelta.cli.pipeline_run import KAFKA_PACKAGE

warehouse, broker = sys.argv[1:]
spark = rd.session(warehouse, config={"spark.jars.packages": KAFKA_PACKAGE, "spark.sql.shuffle.partitions": 2})
for line in sys.stdin:
    step = json.loads(line)
    if "send" in step:
        frame = spark.createDataFrame(step["send"], "key string, value string").coalesce(1)
        frame.write.format("kafka").option("kafka.bootstrap.servers", broker).option("topic", step["topic"]).save()
        answer = len(step["send"])
    elif "run" in step:
        done = CliRunner().invoke(app, ["cdc", "run", "--config", step["run"], "--json"])
        answer = {"exit": done.exit_code, "lines": done.stdout.splitlines(), "error": done.stderr}
    else:
        frame = rd.table(spark, step["read"]).read()
        answer = [list(row) for row in frame.orderBy(frame.columns[0]).collect()]
    print(json.dumps(answer, default=str), flush=True)
"""


class Driver:
    """The process, which answers one request after the other."""

    def __init__(self, warehouse: Path) -> None:
        assert BROKER is not None
        command = [sys.executable, "-c", DRIVER, str(warehouse), BROKER]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **step: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(step) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the driver died"
        return json.loads(answer)

    def run(self, config: Path) -> list[dict[str, Any]]:
        """Runs a pipeline to the end of its topic, and returns its report of each batch."""
        answer = self.ask(run=str(config))
        assert answer["exit"] == 0, answer
        return [json.loads(line) for line in answer["lines"]]

    def end(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


def pipeline(folder: Path, topic: str, table: str, *lines: str, options: Sequence[str] = ()) -> Path:
    """A pipeline file over a topic."""
    file = folder / f"{table}.yaml"
    kafka = [f"    kafka.bootstrap.servers: {BROKER}", f"    subscribe: {topic}", *(f"    {line}" for line in options)]
    properties = 'properties: {write.delete.equality-vector.enabled: "true"}'
    head = [f"warehouse: {folder / 'warehouse'}", f"table: lake.db.{table}", "key: id", f"checkpoint: {table}.state"]
    file.write_text("\n".join([*head, properties, *lines, "source:", "  kafka:", *kafka, ""]), encoding="utf-8")
    return file


def test_topics_become_tables(tmp_path: Path) -> None:
    events, rows = (f"rowdelta.{kind}.{uuid.uuid4().hex[:8]}" for kind in ("events", "rows"))
    driver = Driver(tmp_path / "warehouse")
    try:
        _follow_events(driver, tmp_path, events)
        _follow_rows(driver, tmp_path, rows)
    finally:
        driver.end()
    _by_shell(tmp_path, rows)


def _follow_events(driver: Driver, folder: Path, topic: str) -> None:
    key = [json.dumps({"schema": {}, "payload": {"id": n}}) for n in range(4)]
    first = [
        [key[1], event("c", None, {"id": 1, "v": "a", "amount": "1.50"}, 5)],
        [key[2], event("c", None, {"id": 2, "v": "a"}, 5)],
        [key[1], event("u", None, {"id": 1, "v": "b", "amount": 2.5}, 5)],  # the same moment: the offset decides
        [key[3], "{no json"],
        [key[3], json.dumps({"schema": {}, "payload": json.loads(event("r", None, {"id": 3, "v": "r"}))})],
    ]
    driver.ask(topic=topic, send=first)
    create = "create: id bigint NOT NULL, v string, amount decimal(5,2)"
    config = pipeline(folder, topic, "events", create, "stream: {on_bad: quarantine, resolve_every: 2}")
    (batch,) = driver.run(config)
    assert (batch["records"], batch["changes"], batch["bad"], batch["rows"]) == (5, 4, 1, 3)
    assert driver.ask(read="lake.db.events") == [[1, "b", "2.50"], [2, "a", None], [3, "r", None]]
    assert driver.run(config) == []  # all is taken
    driver.ask(topic=topic, send=[[key[2], event("d", None, None, 6)], [key[2], None]])  # a delete and its tombstone
    (batch,) = driver.run(config)
    assert (batch["batch_id"], batch["records"], batch["changes"], batch["resolved"]) == (1, 2, 2, True)
    assert driver.ask(read="lake.db.events") == [[1, "b", "2.50"], [3, "r", None]]
    assert [row[3] for row in driver.ask(read="lake.db.events_quarantine")] == ["{no json"]


def _follow_rows(driver: Driver, folder: Path, topic: str) -> None:
    sent: list[list[str | None]] = [[str(n % 3), json.dumps({"id": n % 3, "v": f"v{n}", "op": "u"})] for n in range(9)]
    sent += [["0", json.dumps({"id": 0, "op": "d"})], ["0", None]]
    driver.ask(topic=topic, send=sent)
    lines = ("format: changes", "op: op", "create: id bigint NOT NULL, v string")
    config = pipeline(folder, topic, "rows", *lines, options=["maxOffsetsPerTrigger: 4"])
    batches = driver.run(config)
    assert [batch["records"] for batch in batches] == [4, 4, 3]
    assert driver.ask(read="lake.db.rows") == [[1, "v7"], [2, "v8"]]


def _by_shell(folder: Path, topic: str) -> None:
    """As a user does, from an offset in the topic; the package is loaded by the option."""
    start = f"startingOffsets: {{{topic}: {{0: 6}}}}"
    lines = ("format: changes", "op: op", "create: id bigint NOT NULL, v string")
    config = pipeline(folder, topic, "late", *lines, options=[start])
    command = [sys.executable, "-m", "rowdelta", "cdc", "run", "--config", str(config), "--json"]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert refused.returncode != 0
    assert "Spark has no Kafka package" in refused.stderr
    assert "--kafka" in refused.stderr
    done = subprocess.run([*command, "--kafka"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    (batch,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert (batch["records"], batch["keys"], batch["rows"], batch["skipped"]) == (5, 3, 2, 1)
