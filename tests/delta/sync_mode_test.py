from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import rowdelta as rd
from rowdelta.delta.log import LogFile
from rowdelta.delta.sync_mode import check_target, plan_sync

ROOT = "s3://lake/orders"


def _source(version: int, *, table_id: str = "a", first_kept: int = 0) -> Any:
    def commits_after(synced: int) -> list[LogFile] | None:
        wanted = range(synced + 1, version + 1)
        return [LogFile(v, f"{v}.json", 0) for v in wanted] if all(v >= first_kept for v in wanted) else None

    return SimpleNamespace(version=version, table_id=table_id, root=ROOT, commits_after=commits_after)


def _mirror(synced: int | None, head: str | None = None, snapshot: str | None = None, **properties: str) -> Any:
    """A table at a version: `head` is from its newest snapshot, `snapshot` from its properties."""
    known = {"rowdelta.delta.source": ROOT, "rowdelta.delta.id": "a", **properties}
    if synced is not None:
        known |= {"rowdelta.delta.version": str(synced), "rowdelta.delta.snapshot-version": snapshot or str(synced)}
    summary = SimpleNamespace(summary={"rowdelta.delta.version": head or str(synced)})
    return SimpleNamespace(
        name="lake.db.t", metadata=SimpleNamespace(properties=known, format_version=3), snapshot=lambda: summary
    )


@pytest.mark.parametrize(
    ("source", "mirror", "mode", "expected"),
    [
        (_source(3), None, "auto", ("full", None, 0)),
        (_source(3), None, "full", ("full", None, 0)),
        (_source(3), _mirror(3), "auto", ("none", 3, 0)),
        (_source(3), _mirror(3), "full", ("none", 3, 0)),
        (_source(5), _mirror(3), "auto", ("incremental", 3, 2)),
        (_source(5), _mirror(3), "incremental", ("incremental", 3, 2)),
        (_source(5), _mirror(3), "full", ("full", None, 0)),
        (_source(2), _mirror(3), "full", ("full", None, 0)),
        # Commits without files make no snapshot: the newest one is of an older version.
        (_source(5), _mirror(3, head="1", snapshot="1"), "auto", ("incremental", 3, 2)),
        (_source(5, first_kept=5), _mirror(3), "auto", ("full", 3, 0)),
        (_source(5), _mirror(3, head="2"), "auto", ("full", 3, 0)),
        (_source(3), _mirror(3, head="2"), "auto", ("full", 3, 0)),
        (_source(5, table_id="b"), _mirror(3), "auto", ("full", 3, 0)),
        (_source(5), _mirror(None), "auto", ("full", None, 0)),
    ],
)
def test_the_cheapest_correct_mode_is_chosen(
    source: Any, mirror: Any, mode: rd.SyncMode, expected: tuple[str, int | None, int]
) -> None:
    work = plan_sync(source, mirror, "lake.db.t", mode)
    assert (work.mode, work.from_version, len(work.files)) == expected
    assert work.reason


@pytest.mark.parametrize(
    ("source", "mirror", "mode", "message"),
    [
        (_source(3), None, "incremental", "no table lake.db.t to bring up to date"),
        (_source(2), _mirror(3), "auto", "at Delta version 3, after version 2"),
        (_source(5, first_kept=5), _mirror(3), "incremental", "no complete record of what came after version 3"),
        (_source(5), _mirror(3, head="2"), "incremental", "newest snapshot is not the one"),
        (_source(5, table_id="b"), _mirror(3), "incremental", "another Delta table has taken the place"),
        (_source(5), _mirror(None), "incremental", "never converted to its end"),
    ],
)
def test_a_mode_that_is_not_possible_is_refused_with_the_reason(
    source: Any, mirror: Any, mode: rd.SyncMode, message: str
) -> None:
    with pytest.raises(rd.InputError, match=message):
        plan_sync(source, mirror, "lake.db.t", mode)


def test_only_a_mirror_of_this_very_table_is_touched() -> None:
    check_target(_mirror(3), ROOT, None)
    check_target(_mirror(3), ROOT, 3)
    with pytest.raises(rd.TableError, match="was made from the Delta table at s3://lake/orders, not from s3://x"):
        check_target(_mirror(3), "s3://x", None)
    with pytest.raises(rd.InputError, match="has format version 3, not 2"):
        check_target(_mirror(3), ROOT, 2)
    stranger = SimpleNamespace(name="lake.db.t", metadata=SimpleNamespace(properties={}, format_version=3))
    with pytest.raises(rd.TableError, match="was not made from a Delta table"):
        check_target(stranger, ROOT, None)  # type: ignore[arg-type]
