"""The advice that follows from given numbers."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from rowdelta.debt import Debt, advise
from rowdelta.debt.advice import give_advice
from rowdelta.debt.costs import ReadCost, estimate_iceberg_cost, estimate_rowdelta_cost, estimate_scan_seconds
from rowdelta.debt.debt_parts import FileDebt, PartitionDebt
from rowdelta.debt.history import Commit, OldSnapshots, list_commits
from rowdelta.iceberg import Snapshot
from rowdelta.iceberg.metadata import parse_metadata

if TYPE_CHECKING:
    from rowdelta.iceberg import TableMetadata

MINUTE = 60_000


def metadata(version: int = 3, **properties: str) -> TableMetadata:
    fields = [
        {"id": 1, "name": "id", "required": True, "type": "long"},
        {"id": 2, "name": "name", "required": False, "type": "string"},
    ]
    return parse_metadata(
        {
            "location": "w/t",
            "format-version": version,
            "schemas": [{"schema-id": 0, "fields": fields}],
            "partition-specs": [{"spec-id": 0, "fields": []}],
            "properties": {key.replace("__", "-").replace("_", "."): value for key, value in properties.items()},
        }
    )


def debt(**changes: Any) -> Debt:
    plain = Debt(
        table="lake.db.t",
        branch="main",
        snapshot_id=1,
        format_version=3,
        data_files=4,
        rows=20_000_000,
        bytes=4 << 29,
        files_with_deletes=0,
        delete_files=0,
        dangling_files=0,
        delete_bytes=0,
        positions=0,
        keys=0,
        key_columns=(),
        oldest_delete_ms=None,
        readers="v3 engines",
        readers_reason="",
        scan_seconds=estimate_scan_seconds(20_000_000),
        iceberg=ReadCost(),
        rowdelta=ReadCost(),
        kinds=(),
        partitions=(partition(4, 4 << 29),),
        files=(),
        commits=(),
        old_snapshots=OldSnapshots(1, 0, 0),
        taken_at_ms=0,
    )
    return replace(plain, **changes)


def partition(data_files: int, size: int) -> PartitionDebt:
    return PartitionDebt(None, data_files, 20_000_000, size, 0, 0, 0, 0, 0, ReadCost(), ReadCost())


def file(rows: int, *, positions: int = 0, keys: int = 0) -> FileDebt:
    return FileDebt("f", None, rows, 1 << 29, 1, 0, positions, keys, 10, ReadCost(), ReadCost())


def commit(minute: int, **changes: Any) -> Commit:
    return replace(Commit(minute, minute * MINUTE, "append", 1, 0, 100, 0, 1000, 0, 0, 0, 100, 1, 0, 0, 0), **changes)


def actions(found: Debt, **properties: str) -> list[str]:
    return [advice.action for advice in give_advice(found, metadata(3, **properties).properties)]


@pytest.mark.parametrize(("keys", "seconds"), [(100_000, 3.2), (1_000_000, 7.2), (5_000_000, 16.6)])
def test_the_model_gives_the_times_that_were_measured(keys: int, seconds: float) -> None:
    rows = 20_000_000
    assert estimate_scan_seconds(rows) + estimate_iceberg_cost(rows, keys).seconds == pytest.approx(seconds, abs=0.05)
    assert estimate_scan_seconds(rows) + estimate_rowdelta_cost(rows, 0).seconds == pytest.approx(1.25, abs=0.05)
    assert estimate_iceberg_cost(0, keys + 1).memory_bytes > estimate_iceberg_cost(0, keys).memory_bytes > 0


def test_nothing_is_advised_for_a_table_without_deletes_or_with_few() -> None:
    assert actions(debt()) == ["nothing"]
    few = debt(delete_files=1, keys=100, iceberg=estimate_iceberg_cost(1000, 100), files=(file(1000, keys=100),))
    assert actions(few) == ["nothing"]


def test_many_equality_deletes_are_worth_a_resolve_with_their_cost_and_gain() -> None:
    rows, keys = 20_000_000, 1_000_000
    (advice,) = give_advice(
        debt(keys=keys, iceberg=estimate_iceberg_cost(rows, keys), files=(file(rows, keys=keys),)), {}
    )
    assert (advice.action, round(advice.gain_seconds or 0, 1), round(advice.cost_seconds, 1)) == ("resolve", 6.6, 3.0)
    assert advice.gain_memory_bytes > 1 << 30
    small = debt(
        keys=200_000, iceberg=estimate_iceberg_cost(1000, 200_000), scan_seconds=10, files=(file(1000, keys=200_000),)
    )
    assert "MiB in Iceberg's reader" in give_advice(small, {})[0].reason


def test_the_time_to_open_position_files_is_no_reason_to_resolve() -> None:
    opened = debt(
        keys=100, iceberg=estimate_iceberg_cost(1000, 100, opened_files=10_000), files=(file(1000, keys=100),)
    )
    assert actions(opened) == ["nothing"]


def test_commands_name_the_branch_that_was_measured() -> None:
    rows, keys = 20_000_000, 1_000_000
    table = debt(
        branch="audit",
        keys=keys,
        key_columns=(("id",),),
        iceberg=estimate_iceberg_cost(rows, keys),
        files=(file(rows, keys=keys),),
        dangling_files=1,
        delete_files=2,
        partitions=(partition(100, 100 << 20),),
        old_snapshots=OldSnapshots(10, 7, 12_345),
        commits=tuple(commit(minute, keys_added=1_000) for minute in range(60)),
    )
    branch = ("--branch", "audit")
    advice = give_advice(table, {})
    assert [item.command for item in advice] == [
        ("resolve", *branch),
        ("remove-dangling", *branch),
        ("compact", *branch),
        ("expire",),
    ]
    found = topics(replace(table, advice=advice), metadata())
    assert found["encoding"].commands == (("resolve", "--branch", "audit", "--publish", "main"),)
    assert not any("CREATE BRANCH" in text for text in found["encoding"].sql)
    assert found["resolve"].commands == (("resolve", *branch),)
    assert found["compact"].commands == (("compact", *branch),)


def test_dead_rows_and_small_files_are_worth_a_compaction() -> None:
    half = debt(positions=500, files=(file(1000, positions=500), file(1000, positions=10)))
    (advice,) = give_advice(half, {})
    assert (advice.action, advice.gain_bytes) == ("compact", 1 << 28)
    assert advice.reason.startswith("1 data files have 30% or more")
    assert actions(debt(partitions=(partition(100, 100 << 20),))) == ["compact"]
    assert actions(debt(partitions=(partition(4, 4 << 20),))) == ["nothing"]
    assert actions(debt(partitions=(partition(100, 100 << 20),)), write_target__file__size__bytes="1048576") == [
        "nothing"
    ]


def test_old_snapshots_are_worth_an_expiry_where_files_may_go() -> None:
    old = debt(old_snapshots=OldSnapshots(10, 7, 12_345))
    assert [(a.action, a.gain_bytes) for a in give_advice(old, {})] == [("expire", 12_345)]
    assert actions(old, gc_enabled="false") == ["nothing"]
    assert actions(old, gc_enabled="false", rowdelta_delta_source="x") == ["expire"]


def topics(found: Debt, table: TableMetadata) -> dict[str, Any]:
    return {item.topic: item for item in advise(found, table).recommendations}


def test_frequent_upserts_go_to_vectors_on_a_branch_and_are_resolved_by_the_keys_that_they_add() -> None:
    commits = tuple(commit(minute, keys_added=1_000) for minute in range(60))
    table = debt(commits=commits, keys=60_000, key_columns=(("id",),), iceberg=ReadCost(0.1, 100))
    found = topics(table, metadata())
    assert found["encoding"].choice == "equality delete vectors on a branch, published by resolve"
    assert (
        found["encoding"].estimate
        == "a commit adds 1,000 keys: about 2,666 bytes as a file of id, 2,024 bytes as a vector"
    )
    assert found["encoding"].commands == (("resolve", "--branch", "ingest", "--publish", "main"),)
    assert "CREATE BRANCH" in found["encoding"].sql[0]
    assert found["resolve"].choice == "every 121 commits, about 2.0 hours"
    assert found["mode"].choice == "as it is: merge-on-read"
    assert found["compact"].reason == "about 1,469,388 rows are deleted a day, of 20,000,000"
    assert {"expire", "orphans"} <= found.keys()
    named = replace(table, key_columns=(("id", "name"),))
    assert topics(named, metadata())["encoding"].choice == "standard equality delete files (full-row)"
    resolved = replace(table, key_columns=())  # the type of the keys is not known
    assert topics(resolved, metadata())["encoding"].choice == "standard equality delete files (full-row)"
    enabled = metadata(write_delete_equality__vector_enabled="true")
    assert topics(table, enabled)["encoding"].choice == "equality delete vectors, resolved on schedule"


def test_rewriting_files_for_a_few_rows_calls_for_merge_on_read() -> None:
    rewrite = commit(1, operation="overwrite", data_files_removed=1, bytes_added=40_000_000)
    found = topics(debt(format_version=2, commits=(commit(0), rewrite)), metadata(2, gc_enabled="false"))
    assert found["mode"].choice == "merge-on-read"
    assert "40,000,000 bytes, about 2.0 s" in found["mode"].estimate
    assert "'write.merge.mode'='merge-on-read'" in found["mode"].sql[0]
    assert found["encoding"].choice == "format version 3, deletion vectors"
    assert not {"expire", "orphans", "resolve"} & found.keys()


@pytest.mark.parametrize(
    ("rows", "minutes", "positions", "choice", "estimate"),
    [
        (20_000_000, 8, 0, "every 1.0 hours", "30% of the rows are dead in 8 minutes"),
        (20_000_000, 8, 6_000_000, "now, then every 1.0 hours", "30% of the rows are dead already"),
        (20_000_000, 5 * 24 * 60, 0, "every 5 days", "30% of the rows are dead in 5 days"),
        (20_000_000, 90 * 24 * 60, 0, "every 30 days", "30% of the rows are dead in 90 days"),
    ],
)
def test_the_schedule_of_compactions_does_not_contradict_its_estimate(
    rows: int, minutes: int, positions: int, choice: str, estimate: str
) -> None:
    commits = (commit(0), commit(minutes, positions_added=int(rows * 0.3)))
    found = topics(debt(commits=commits, rows=rows, positions=positions), metadata())["compact"]
    assert found.choice == choice
    assert found.estimate.startswith(estimate)


def test_a_table_that_does_not_change_needs_little() -> None:
    found = topics(debt(), metadata())
    assert (found["mode"].choice, found["encoding"].choice) == ("as it is", "as it is: deletion vectors")
    assert found.keys() == {"encoding", "mode", "expire", "orphans"}


def added(**summary: int) -> tuple[int, int]:
    """The positions and keys that a commit with such a summary has added."""
    told = {name.replace("_", "-"): str(count) for name, count in summary.items()}
    made: Any = SimpleNamespace(metadata=SimpleNamespace(ancestors=lambda found: [found]))
    (found,) = list_commits(made, Snapshot(1, None, 1, 0, None, 0, told))
    return found.positions_added, found.keys_added


def test_only_rows_that_a_commit_deleted_itself_count_for_the_pace() -> None:
    assert added(added_position_deletes=5, added_equality_deletes=3) == (5, 3)
    assert added(added_position_deletes=105, removed_position_deletes=100) == (5, 0)  # a vector replaces another
    assert added(added_position_deletes=5, removed_equality_deletes=7) == (0, 0)  # a resolve
    assert added(added_equality_deletes=7, removed_equality_deletes=7) == (0, 0)  # rewritten deletes
    assert added(removed_position_deletes=9) == (0, 0)  # a compaction
