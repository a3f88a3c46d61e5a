"""`rd.cdc.follow()`: every change once and in order, whatever happens in between."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rowdelta as rd
from rowdelta.cdc.feed_checkpoint import FeedCheckpoint
from tests.support.feeds import types
from tests.support.oracle import assert_same_rows
from tests.support.sampling import examples
from tests.support.tables import EDV, append_ids, create, head, keys, make_frame

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "id bigint, v string"


class Handler:
    """Collects the batches; fails at some of them, before or after it has their changes."""

    def __init__(self, *fails: int) -> None:
        self.seen: list[tuple[rd.cdc.FeedBatch, list[tuple[Any, ...]]]] = []
        self.fails = list(fails)

    def __call__(self, changes: DataFrame, batch: rd.cdc.FeedBatch) -> None:
        self.seen.append((batch, types(changes)))
        if batch.batch_id in self.fails:
            self.fails.remove(batch.batch_id)
            raise RuntimeError("the handler dies")


def run(table: rd.Table, checkpoint: Path, handler: Handler | None = None, **options: Any) -> rd.cdc.Follower:
    """Follows a table to its end."""
    follower = rd.cdc.follow(table, handler, checkpoint=str(checkpoint), available_now=True, **options)
    assert follower.await_termination()
    return follower


def test_a_handler_gets_every_range_once_and_in_order(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    table = create(spark, table_name, COLUMNS, properties=EDV)
    handler = Handler()
    assert run(table, tmp_path, handler).progress == []
    append_ids(spark, table_name, [0, 1])
    first = head(table)
    assert [p.batch_id for p in run(table, tmp_path, handler).progress] == [0]
    append_ids(spark, table_name, [2])
    table.delete_keys(keys(spark, 0), key="id").execute()
    third = head(table)
    table.resolve().execute()
    table.update().set("v", "'w'").where("id = 1").execute()
    follower = run(table, tmp_path, handler, max_snapshots=2)
    assert [(p.batch_id, p.start, p.end, p.snapshots) for p in follower.progress] == [
        (1, first, third, 2),
        (2, third, head(table), 2),
    ]
    assert str(follower.progress[0]).startswith(f"batch 1: 2 snapshots up to {third}, lag ")
    table.compact(options={"rewrite-all": "true"}).execute()
    assert run(table, tmp_path, handler).progress == []
    expected = [
        [("insert", 0, "v"), ("insert", 1, "v")],
        [("delete", 0, "v"), ("insert", 2, "v")],
        [("update_postimage", 1, "w"), ("update_preimage", 1, "v")],
    ]
    assert [rows for _, rows in handler.seen] == expected
    assert [batch.is_reload for batch, _ in handler.seen] == [True, False, False]
    assert not any(batch.is_retry for batch, _ in handler.seen)


def test_a_batch_whose_handler_fails_is_repeated_as_it_was(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    table = create(spark, table_name, COLUMNS)
    append_ids(spark, table_name, [0])
    start = head(table)
    append_ids(spark, table_name, [1])
    handler = Handler(0)
    with pytest.raises(RuntimeError, match="the handler dies"):
        run(table, tmp_path, handler, start=start)
    append_ids(spark, table_name, [2])
    run(table, tmp_path, handler, start=head(table), images="after")
    (one, _), (again, _), (other, _) = handler.seen
    assert (one.batch_id, one.start, one.end) == (again.batch_id, again.start, again.end)
    assert (one.is_retry, again.is_retry, other.is_retry) == (False, True, False)
    assert [rows for _, rows in handler.seen] == [[("insert", 1, "v")]] * 2 + [[("insert", 2, "v")]]


@pytest.fixture
def copy_name(spark: SparkSession, table_name: str) -> Iterator[str]:
    yield f"{table_name}_copy"
    spark.sql(f"DROP TABLE IF EXISTS {table_name}_copy")


class Kills:
    """Kills a follower when it writes its checkpoint: each write is one moment between two steps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.moments: list[bool] = []
        write = FeedCheckpoint.write

        def write_or_die(checkpoint: FeedCheckpoint, place: Any) -> None:
            if self.moments and self.moments.pop(0):
                raise RuntimeError("killed")
            write(checkpoint, place)

        monkeypatch.setattr(FeedCheckpoint, "write", write_or_die)


@pytest.mark.parametrize("version", [2, 3])
def test_a_copy_has_the_rows_of_its_source_whenever_it_is_killed(
    spark: SparkSession,
    table_name: str,
    copy_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    version: int,
) -> None:
    kills = Kills(monkeypatch)
    table = create(spark, table_name, COLUMNS, version=version)
    copy = create(spark, copy_name, COLUMNS, version=version, properties=EDV if version > 2 else {})
    append_ids(spark, table_name, range(4))
    runs = iter(range(1000))

    def change(which: str, key: int) -> None:
        if which == "upsert":
            table.upsert(make_frame(spark, [(key, f"u{key}")], COLUMNS), key="id").execute()
        elif which == "delete":
            table.delete(f"id = {key}").execute()
        elif which == "move":
            table.update().set("id", f"{100 + next(runs)}").where(f"id = {key}").execute()
        else:
            table.update(mode="copy-on-write").set("v", "concat(v, 'x')").where(f"id <= {key}").execute()

    @settings(max_examples=examples(1, 3), deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.lists(
            st.tuples(st.sampled_from(["upsert", "delete", "move", "files"]), st.integers(0, 5), st.booleans()),
            min_size=4,
            max_size=6,
        ),
        st.lists(st.booleans(), min_size=6, max_size=6),
    )
    def follow(changes: list[tuple[str, int, bool]], moments: list[bool]) -> None:
        kills.moments = moments
        for which, key, stops in changes:
            change(which, key)
            while stops:
                try:
                    run(table, tmp_path, into=copy, key="id", max_snapshots=2)
                except RuntimeError:
                    continue
                assert_same_rows(copy.read(), table.read())
                break
        kills.moments = []
        run(table, tmp_path, into=copy, key="id")
        assert_same_rows(copy.read(), table.read())
        marks = [s.summary["rowdelta.batch-id"] for s in copy.refresh().metadata.snapshots.values()]
        assert len(marks) == len(set(marks)), "a batch was applied twice"

    follow()


DRIVER = """
import os, sys
import rowdelta as rd
from rowdelta.cdc.feed_checkpoint import FeedCheckpoint

warehouse, source, copy, folder = sys.argv[1:]
spark = rd.session(warehouse, config={"spark.sql.shuffle.partitions": 2, "spark.sql.session.timeZone": "UTC"})
write = FeedCheckpoint.write
FeedCheckpoint.write = lambda self, place: os._exit(9) if place.next_id == 2 else write(self, place)
table = rd.table(spark, source)
rd.cdc.follow(
    table, into=rd.table(spark, copy), key="id", checkpoint=folder, available_now=True, max_snapshots=1,
    start=min(table.metadata.snapshots.values(), key=lambda s: s.sequence_number).id,
).await_termination()
"""


@pytest.mark.strays("a driver that is killed removes nothing")
def test_a_killed_driver_applies_no_batch_twice(
    spark: SparkSession, warehouse: Path, table_name: str, copy_name: str, tmp_path: Path
) -> None:
    table, copy = create(spark, table_name, COLUMNS), create(spark, copy_name, COLUMNS)
    for key in range(4):
        append_ids(spark, table_name, [key])
    command = [sys.executable, "-c", DRIVER, str(warehouse), table_name, copy_name, str(tmp_path)]
    died = subprocess.run(command, env=os.environ, capture_output=True, timeout=300, check=False)
    assert died.returncode == 9, died.stderr[-2000:]
    assert len(copy.refresh().metadata.snapshots) == 2
    follower = run(table, tmp_path, into=copy, key="id", max_snapshots=1)
    assert [(p.batch_id, p.replayed) for p in follower.progress] == [(1, True), (2, False)]
    assert_same_rows(copy.read(), table.read("id > 0"))


def test_a_gap_is_an_error_or_a_reload(spark: SparkSession, table_name: str, copy_name: str, tmp_path: Path) -> None:
    table, copy = create(spark, table_name, COLUMNS), create(spark, copy_name, COLUMNS)
    append_ids(spark, copy_name, [50])
    append_ids(spark, table_name, range(4))
    run(table, tmp_path, into=copy, key="id")
    assert_same_rows(copy.read(), [(i, "v") for i in (0, 1, 2, 3, 50)])
    table.delete("id < 2").execute()
    append_ids(spark, table_name, [7])
    table.expire(older_than="2999-01-01", retain_last=1).execute()
    handler = Handler()
    with pytest.raises(rd.InputError, match=r'expired(.|\n)*on_gap="reload" reads all rows again'):
        run(table, tmp_path, handler)
    assert handler.seen == []
    (progress,) = run(table, tmp_path, into=copy, key="id", on_gap="reload").progress
    assert (progress.batch_id, progress.is_reload) == (1, True)
    assert_same_rows(copy.read(), table.read())


def test_a_repeated_batch_whose_range_is_gone_becomes_a_new_batch(
    spark: SparkSession, table_name: str, copy_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, copy = create(spark, table_name, COLUMNS), create(spark, copy_name, COLUMNS)
    append_ids(spark, table_name, [0])
    kills = Kills(monkeypatch)
    kills.moments = [False, True]
    with pytest.raises(RuntimeError, match="killed"):
        run(table, tmp_path, into=copy, key="id")
    append_ids(spark, table_name, [1])
    table.expire(older_than="2999-01-01", retain_last=1).execute()
    with pytest.raises(rd.InputError, match="the end of batch 0, has expired"):
        run(table, tmp_path, into=copy, key="id")
    (progress,) = run(table, tmp_path, into=copy, key="id", on_gap="reload").progress
    assert (progress.batch_id, progress.is_reload, progress.replayed) == (1, True, False)
    assert_same_rows(copy.read(), [(0, "v"), (1, "v")])


def test_a_follower_waits_for_changes_until_it_is_stopped(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    table = create(spark, table_name, COLUMNS)
    handler = Handler()
    lines: list[str] = []
    follower = rd.cdc.follow(
        table, handler, checkpoint=str(tmp_path), every="100 milliseconds", progress=lambda p: lines.append(str(p))
    )
    append_ids(spark, table_name, [0])
    while not lines:
        assert not follower.await_termination(0.1)
    states = [follower.is_active]
    follower.stop()
    assert [*states, follower.is_active] == [True, False]
    assert lines[0].startswith("batch 0: all rows up to ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs a handler or into="),
        ({"handler": print, "every": "soon"}, "every is 'soon', which is no duration"),
        ({"handler": print, "max_snapshots": 0}, "max_snapshots is 0"),
        ({"handler": print, "on_gap": "skip"}, "unknown on_gap 'skip'"),
        ({"handler": print, "key": "nosuch"}, "no column 'nosuch'"),
        ({"handler": print, "start": 1}, "has no snapshot 1"),
        ({"into": True}, "into= needs a key"),
        ({"into": True, "key": "id", "net": False}, "into= applies net changes only"),
        ({"into": True, "key": "id"}, "cannot follow itself"),
    ],
)
def test_bad_arguments_are_refused(shared: rd.Table, tmp_path: Path, options: dict[str, Any], message: str) -> None:
    arguments = {**options, "into": shared} if "into" in options else options
    with pytest.raises(rd.InputError, match=message):
        rd.cdc.follow(shared, checkpoint=str(tmp_path), **arguments)


@pytest.fixture(scope="module")
def shared(spark: SparkSession) -> Iterator[rd.Table]:
    yield create(spark, "lake.db.follow_arguments", COLUMNS)
    spark.sql("DROP TABLE lake.db.follow_arguments")


def test_a_checkpoint_of_another_table_or_a_damaged_one_is_refused(
    spark: SparkSession, shared: rd.Table, table_name: str, tmp_path: Path
) -> None:
    table = create(spark, table_name, COLUMNS)
    append_ids(spark, table_name, [0])
    location = f"file://{tmp_path}/by-uri"  # by the table's FileIO
    for checkpoint in (str(tmp_path), location):
        follower = rd.cdc.follow(table, Handler(), checkpoint=checkpoint, available_now=True)
        assert follower.await_termination()
        with pytest.raises(rd.InputError, match="belongs to another table"):
            rd.cdc.follow(shared, Handler(), checkpoint=checkpoint)
    (tmp_path / "follow.json").write_text("{}")
    with pytest.raises(rd.InputError, match=r"follow\.json is no checkpoint of a follower"):
        rd.cdc.follow(table, Handler(), checkpoint=str(tmp_path))
