"""Ctrl-C on the command line: a real signal to a real process, which then ends with one line and leaves no process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rowdelta.cli import interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ENDED = 130
LONGEST_SECONDS = 60.0
# A command that takes long, without Spark: `reading` may be dropped at once, `writing` has to be ended in order.
FAKE = """
import atexit, sys, time
from rowdelta.cli.interrupts import finish_before_interrupt, run_command

stopped = []

def reading():
    print("now", flush=True)
    time.sleep(60)
    return 0

def writing():
    with finish_before_interrupt(lambda: stopped.append(1)):
        print("now", flush=True)
        while not stopped:
            time.sleep(0.05)
        print("undone", flush=True)
        raise RuntimeError("because of the interrupt")

def stop_fails():
    stopped.append(1)
    raise OSError("no connection")

def stopping():
    atexit.register(print, "cleared")
    with finish_before_interrupt(stop_fails):
        print("now", flush=True)
        while not stopped:
            time.sleep(0.05)
        time.sleep(0.2)
        print("undone", flush=True)
        return 0

sys.exit(run_command({"reading": reading, "writing": writing, "stopping": stopping}[sys.argv[1]]))
"""


class Child:
    """A process, and all that it starts."""

    def __init__(self, words: list[str], folder: Path) -> None:
        self.mark = uuid.uuid4().hex
        self.process = subprocess.Popen(
            [sys.executable, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, "ROWDELTA_TEST_MARK": self.mark, "COLUMNS": "200"},
            start_new_session=True,
            # A shell in the background leaves the signal ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
        )

    def interrupt(self, *, group: bool = False) -> tuple[int, str, str]:
        """Sends the signal, and returns the exit code and the output."""
        (os.killpg if group else os.kill)(self.process.pid, signal.SIGINT)
        out, err = self.process.communicate(timeout=LONGEST_SECONDS)
        return self.process.returncode, out, err

    def left(self) -> list[str]:
        """The commands of processes that still run."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if self.mark.encode() in (place / "environ").read_bytes():
                    found.append((place / "cmdline").read_text().replace("\0", " ")[:100])
        return found


@contextmanager
def child(words: list[str], folder: Path) -> Iterator[Child]:
    made = Child(words, folder)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.wait()


def wait_for(true: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST_SECONDS
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


linux = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="asks /proc which processes are there")


@linux
@pytest.mark.parametrize(
    ("words", "line"), [((), "Interrupted"), (("--json",), '{"error": "Interrupted", "hint": null}')]
)
def test_while_libraries_are_loaded(tmp_path: Path, words: tuple[str, ...], line: str) -> None:
    with child(["-X", "importtime", "-m", "rowdelta", "version", *words], tmp_path) as made:
        assert made.process.stderr is not None
        while "rowdelta._loading" not in made.process.stderr.readline():
            assert made.process.poll() is None
        code, out, err = made.interrupt()
        told = [text for text in err.splitlines() if not text.startswith("import time:")]
    assert (code, out, told, made.left()) == (ENDED, "", [line], [])


@linux
def test_while_the_jvm_starts(tmp_path: Path) -> None:
    (tmp_path / "warehouse").mkdir()
    with child(["-m", "rowdelta", "read", "db.orders", "--warehouse", "warehouse"], tmp_path) as made:
        wait_for(lambda: len(made.left()) > 1 or made.process.poll() is not None)
        assert made.interrupt() == (ENDED, "", "Interrupted\n")
        assert made.left() == []
    assert [path.name for path in tmp_path.iterdir()] == ["warehouse"]


@linux
def test_a_program_that_is_interrupted_while_the_jvm_starts_leaves_none(tmp_path: Path) -> None:
    with child(["-c", "import rowdelta as rd; rd.session('warehouse')"], tmp_path) as made:
        wait_for(lambda: len(made.left()) > 1 or made.process.poll() is not None)
        _, _, err = made.interrupt()
        assert err.splitlines()[-1] == "KeyboardInterrupt"
        assert made.left() == []


@linux
@pytest.mark.parametrize(("what", "out"), [("reading", ""), ("writing", "undone\n"), ("stopping", "undone\ncleared\n")])
def test_a_write_is_ended_in_order_and_all_else_at_once(tmp_path: Path, what: str, out: str) -> None:
    with child(["-c", FAKE, what], tmp_path) as made:
        assert made.process.stdout is not None
        assert made.process.stdout.readline() == "now\n"
        assert made.interrupt(group=True) == (ENDED, out, "Interrupted\n")
        assert made.left() == []


def test_a_write_does_not_begin_after_the_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    command = interrupts._Command(lambda: 0)
    monkeypatch.setattr(interrupts, "_current", command)
    with interrupts.finish_before_interrupt(lambda: None):
        assert command.interrupt() is not None
    assert command.interrupt() is None
    with pytest.raises(KeyboardInterrupt), interrupts.finish_before_interrupt(lambda: None):
        raise AssertionError("it has begun")


@linux
def test_while_a_table_is_loaded_read_and_changed(tmp_path: Path) -> None:
    """Each command is interrupted at several moments; the table then has all of its rows or all of the change."""
    place = ("--warehouse", "warehouse")
    rows = "SELECT id, repeat(hex(xxhash64(id)), 8) v FROM range(1000000)"
    made_of = [f"CREATE TABLE lake.db.orders USING iceberg TBLPROPERTIES ('format-version'='3') AS {rows}"]
    command = [sys.executable, "-m", "rowdelta"]
    subprocess.run([*command, "sql", *made_of, *place], cwd=tmp_path, check=True, capture_output=True)
    count = [*command, "sql", "SELECT count(*) AS n FROM lake.db.orders", *place, "--json"]
    for words, delays in {
        ("read", "db.orders", "--where", "v LIKE '%77777%'"): (4, 6, 9),
        ("delete", "db.orders", "--where", "id % 2 = 0"): (7, 9, 11),
        ("compact", "db.orders", "--option", "rewrite-all=true"): (9, 13),
    }.items():
        for delay in delays:
            with child(["-m", "rowdelta", *words, *place], tmp_path) as made:
                time.sleep(delay)
                if made.process.poll() is not None:
                    continue
                code, _, err = made.interrupt(group=True)
                expected = ENDED, "Interrupted\n"
                if code == 0:  # the command had done its work, and was about to end
                    expected = 0, ""
                assert (code, err, made.left()) == (*expected, []), (words, delay)
    found = subprocess.run(count, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert json.loads(found.stdout)[0]["n"] in {1_000_000, 500_000}
    known = subprocess.run(
        [*command, "remove-orphans", "db.orders", *place, "--json"], cwd=tmp_path, check=True, capture_output=True
    )
    assert json.loads(known.stdout)["orphan_files"] == []
