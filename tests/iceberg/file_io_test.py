"""A Java stream is read in pieces that fit one answer of py4j; a file is written whole or not at all."""

from __future__ import annotations

import io
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError

import rowdelta as rd
from rowdelta.iceberg import run_in_parallel
from rowdelta.iceberg.file_io import PIECE, FileIO, read_in_pieces
from rowdelta.spark import threads
from tests.support.tables import create

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


class Stream:
    """A stand-in for Java's `InputStream` that records how many bytes were requested at once."""

    def __init__(self, data: bytes) -> None:
        self._bytes = io.BytesIO(data)
        self.asked: list[int | None] = []

    def readNBytes(self, size: int) -> bytes:  # noqa: N802 - Java's name
        self.asked.append(size)
        return self._bytes.read(size)

    def readAllBytes(self) -> bytes:  # noqa: N802
        self.asked.append(None)
        return self._bytes.read()


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 50 * PIECE, 51 * PIECE + 7])
def test_a_file_is_read_to_its_end(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    stream = Stream(data[:size])
    assert read_in_pieces(stream) == data[:size]
    assert (None in stream.asked) == (size >= 50 * PIECE)


@pytest.mark.parametrize("length", [0, 1, PIECE, PIECE + 1, 60 * PIECE])
def test_a_range_is_read_and_not_more(length: int) -> None:
    data = bytes(range(256)) * 2000
    stream = Stream(data)
    assert read_in_pieces(stream, length) == data[:length]
    assert sum(asked or 0 for asked in stream.asked) == length
    assert len(read_in_pieces(Stream(b"short"), 10)) == 5  # the caller says what is wrong


class Storage:
    """Java's FileIO of one file, whose stream fails after some bytes; `fails` says where."""

    def __init__(self, fails: str = "") -> None:
        self.files: dict[str, bytes] = {}
        self._fails = fails

    def newOutputFile(self, path: str) -> Any:  # noqa: N802
        def create() -> Any:
            if path in self.files:
                raise java_error("AlreadyExistsException")
            self.files[path] = b""
            return SimpleNamespace(write=lambda data: self._write(path, data), close=self._close)

        return SimpleNamespace(createOrOverwrite=create)

    def deleteFile(self, path: str) -> None:  # noqa: N802
        if self._fails == "delete":
            raise java_error("RuntimeIOException")
        del self.files[path]

    def _write(self, path: str, data: bytes) -> None:
        self.files[path] = data[:3]
        if self._fails in {"write", "delete"}:
            raise java_error("IOException")
        if self._fails == "interrupt":
            raise KeyboardInterrupt
        self.files[path] = data

    def _close(self) -> None:
        if self._fails == "close":
            raise java_error("IOException")


def java_error(name: str) -> Py4JJavaError:
    kind = SimpleNamespace(getSimpleName=lambda: name)
    return Py4JJavaError("", SimpleNamespace(_target_id="o1", getClass=lambda: kind, getMessage=lambda: "disk full"))


@pytest.mark.parametrize("fails", ["write", "close", "interrupt"])
def test_a_write_that_fails_leaves_nothing_behind(fails: str) -> None:
    storage = Storage(fails)
    with pytest.raises(KeyboardInterrupt if fails == "interrupt" else rd.TableError):
        FileIO(storage).write("a/b", b"0123456789")
    assert storage.files == {}


def test_a_file_that_is_there_is_not_written_and_not_removed() -> None:
    storage = Storage()
    FileIO(storage).write("a/b", b"first")
    with pytest.raises(rd.TableError, match="cannot write a/b: AlreadyExistsException"):
        FileIO(storage).write("a/b", b"second")
    assert storage.files == {"a/b": b"first"}


def test_a_clean_up_that_fails_does_not_hide_why_it_was_needed(caplog: pytest.LogCaptureFixture) -> None:
    storage = Storage("delete")
    with pytest.raises(rd.TableError, match="cannot write a/b: IOException: disk full"):
        FileIO(storage).write("a/b", b"0123456789")
    assert "no longer needed cannot be removed: cannot delete a/b" in caplog.text


def test_large_ranges_come_as_they_are(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    data = random.Random(7).randbytes(60 * PIECE)
    (tmp_path / "large").write_bytes(data)
    files, path = create(spark, table_name, "id bigint")._handle.io, f"file:{tmp_path / 'large'}"
    assert files.read(path, 0, len(data)) == data
    assert files.read(path, 5, 51 * PIECE) == data[5 : 5 + 51 * PIECE]
    with pytest.raises(rd.TableError, match=f"ends after {len(data)} bytes, {len(data) + 1} were expected"):
        files.read(path, 1, len(data))


@pytest.mark.parametrize("size", [0, 1, 50 * PIECE, 50 * PIECE + 1, 60 * PIECE])
def test_what_is_written_is_there(spark: SparkSession, table_name: str, tmp_path: Path, size: int) -> None:
    data = random.Random(8).randbytes(size)
    create(spark, table_name, "id bigint")._handle.io.write(f"file:{tmp_path / 'new'}", data)
    assert (tmp_path / "new").read_bytes() == data


class SlowStorage(Storage):
    """Storage whose writes wait for a signal."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go_on = threading.Event(), threading.Event()

    def _write(self, path: str, data: bytes) -> None:
        self.begun.set()
        assert self.go_on.wait(10)
        self.files[path] = data


def test_files_are_written_while_the_caller_goes_on() -> None:
    storage = SlowStorage()
    with FileIO(storage).write_in_background({"one": b"1", "two": b"2"}) as wait:
        assert storage.begun.wait(10)
        assert set(storage.files.values()) == {b""}
        storage.go_on.set()
        wait()
        assert storage.files == {"one": b"1", "two": b"2"}
        wait()
    with FileIO(storage).write_in_background({}) as wait:
        wait()


def test_no_file_is_being_written_when_the_caller_has_failed() -> None:
    storage = SlowStorage()
    timer = threading.Timer(0.2, storage.go_on.set)
    with pytest.raises(ValueError, match="own error"), FileIO(storage).write_in_background({"one": b"1"}):  # noqa: PT012
        assert storage.begun.wait(10)
        timer.start()
        raise ValueError("the caller's own error")
    assert storage.files == {"one": b"1"}


def test_a_file_that_cannot_be_written_is_an_error_of_the_caller() -> None:
    full = Storage("write")
    error = pytest.raises(rd.TableError, match="cannot write one: IOException")
    with error, FileIO(full).write_in_background({"one": b"1"}) as wait:
        wait()
    assert full.files == {}


def test_files_are_read_by_the_same_threads_again() -> None:
    names = {name for _ in range(5) for name in run_in_parallel(lambda _: threading.current_thread().name, range(20))}
    others = names - {threading.current_thread().name}  # the caller also reads files that no thread has begun
    assert len(others) <= 8
    assert all(name.startswith("rowdelta-files") for name in others)


def test_no_file_is_being_read_after_one_that_failed() -> None:
    read: list[int] = []

    def slow(number: int) -> None:
        if number == 0:
            raise ValueError("the first")
        time.sleep(0.05)
        read.append(number)

    with pytest.raises(ValueError, match="the first"):
        run_in_parallel(slow, range(100))
    done = len(read)
    time.sleep(0.2)
    assert len(read) == done < 99


def test_reading_inside_reading_does_not_wait_for_itself() -> None:
    found = run_in_parallel(lambda _: sum(run_in_parallel(lambda item: item, range(20))), range(40))
    assert found == [sum(range(20))] * 40


def test_work_is_done_where_threads_are_busy_or_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = ThreadPoolExecutor(1)
    ended.shutdown()
    monkeypatch.setattr(threads, "_pool", ended)
    assert run_in_parallel(lambda item: item + 1, range(3)) == [1, 2, 3]
    storage = Storage()
    with FileIO(storage).write_in_background({"one": b"1"}) as wait:
        wait()
    assert storage.files == {"one": b"1"}
