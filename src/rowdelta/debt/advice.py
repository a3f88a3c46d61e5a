"""Advises what to do now about a debt: the action, its reason, what it costs and what it gains."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rowdelta.debt.costs import (
    COMMIT_SECONDS,
    OPEN_SECONDS,
    RESOLVE_SECONDS_PER_ROW,
    REWRITE_BYTES_PER_SECOND,
    estimate_iceberg_cost,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rowdelta.debt.debt_parts import KindDebt
    from rowdelta.debt.measure import Debt

# Equality deletes are worth resolving when a scan takes this much longer, or when readers need this much memory.
SLOWER: Final = 0.2
SLOWER_SECONDS: Final = 1.0
MEMORY_BYTES: Final = 256 << 20
# A data file with this share of its rows deleted is worth rewriting (Iceberg's `delete-ratio-threshold`).
DEAD_SHARE: Final = 0.3
# What Iceberg's binpack counts as a group of small files: this many, each below this share of the target size.
SMALL_FILES: Final = 5
SMALL_SHARE: Final = 0.75
DEFAULT_TARGET_BYTES: Final = 512 << 20
POSITION_FILES_PER_DATA_FILE: Final = 5
# Engines that apply standard equality deletes, and engines that refuse a table with them.
EQUALITY_READERS: Final = "Spark, Flink and Trino"
EQUALITY_REFUSERS: Final = "PyIceberg, Databricks and Snowflake"
_V3: Final = 3


@dataclass(frozen=True)
class Advice:
    """One thing to do.

    Attributes:
        action: `nothing`, `resolve`, `rewrite deletes`, `remove dangling`, `compact` or `expire`.
        reason: Why.
        cost_seconds: How long it may take.
        gain_seconds: What each full scan by Iceberg's reader may save; None if it cannot read the table now.
        gain_memory_bytes: The memory that such a reader may save.
        gain_bytes: Storage that is freed once the snapshots before the action are expired.
        call: The call for a table `t`.
        command: The words of the `rowdelta` command.

    Examples:
        >>> _ = t.delete_keys(changes, key="id").execute()
        >>> advice = t.debt().advice[0]
        >>> advice.action, advice.call
        ('resolve', 't.resolve().execute()')
    """

    action: str
    reason: str
    cost_seconds: float = 0.0
    gain_seconds: float | None = 0.0
    gain_memory_bytes: int = 0
    gain_bytes: int = 0
    call: str = ""
    command: tuple[str, ...] = ()


def give_advice(debt: Debt, properties: Mapping[str, str]) -> tuple[Advice, ...]:
    """Advises what to do about a debt, most urgent first."""
    kinds = {kind.kind: kind for kind in debt.kinds}
    advice = [
        *_advise_resolve(debt, kinds),
        *_advise_rewrite_deletes(debt, kinds),
        *_advise_remove_dangling(debt),
        *_advise_compact(debt, properties),
        *_advise_expire(debt, properties),
    ]
    return tuple(advice) or (Advice("nothing", _describe_health(debt)),)


def add_branch(debt: Debt, *words: str) -> tuple[str, ...]:
    """Adds the branch of a debt to the words of a command."""
    return words if debt.branch == "main" else (*words, "--branch", debt.branch)


def _describe_health(debt: Debt) -> str:
    if not debt.delete_files:
        return "the table has no deletes, and few or no old snapshots and small files"
    return f"{debt.delete_files:,} delete files cost readers little"


def _advise_resolve(debt: Debt, kinds: Mapping[str, KindDebt]) -> Iterator[Advice]:
    if not debt.keys:
        return
    probed = sum(file.rows for file in debt.files if file.keys)
    # Only the deletes by key: position delete files must be opened before and after.
    extra = None if debt.iceberg is None else estimate_iceberg_cost(probed, debt.keys)
    if extra is None:
        vectors = [kind for kind in kinds.values() if kind.only_rowdelta]
        count = sum(kind.files - kind.dangling_files for kind in vectors)
        are = "1 equality delete vector keeps" if count == 1 else f"{count:,} equality delete vectors keep"
        reason = f"{are} every other engine from reading the table"
    elif extra.seconds > max(SLOWER * debt.scan_seconds, SLOWER_SECONDS):
        reason = f"{debt.keys:,} equality deletes make a full scan by Iceberg's reader {extra.seconds:.1f} s longer"
    elif extra.memory_bytes > MEMORY_BYTES:
        reason = f"{debt.keys:,} equality deletes take {extra.memory_bytes >> 20:,} MiB in Iceberg's reader"
    else:
        return
    yield Advice(
        "resolve",
        reason,
        cost_seconds=probed * RESOLVE_SECONDS_PER_ROW + COMMIT_SECONDS,
        gain_seconds=None if extra is None else extra.seconds,
        gain_memory_bytes=0 if extra is None else extra.memory_bytes,
        call="t.resolve().execute()",
        command=add_branch(debt, "resolve"),
    )


def _advise_rewrite_deletes(debt: Debt, kinds: Mapping[str, KindDebt]) -> Iterator[Advice]:
    files = kinds.get("position delete files")
    live = 0 if files is None else files.files - files.dangling_files
    if files is None or not live:
        return
    crowded = sum(file.position_files >= POSITION_FILES_PER_DATA_FILE for file in debt.files)
    if debt.format_version >= _V3:
        reason = (
            f"{live:,} position delete files from before version 3 can become one deletion vector for each data file"
        )
    elif crowded:
        reason = f"{crowded:,} data files have {POSITION_FILES_PER_DATA_FILE} or more position delete files each"
    else:
        return
    predicate = "content = 'position'"
    yield Advice(
        "rewrite deletes",
        reason,
        cost_seconds=files.bytes / REWRITE_BYTES_PER_SECOND + COMMIT_SECONDS,
        gain_seconds=sum(file.position_files for file in debt.files) * OPEN_SECONDS,
        call=f't.rewrite_deletes(delete_files="{predicate}").execute()',
        command=add_branch(debt, "rewrite-deletes", "--delete-files", predicate),
    )


def _advise_remove_dangling(debt: Debt) -> Iterator[Advice]:
    if debt.dangling_files:
        yield Advice(
            "remove dangling",
            f"{debt.dangling_files:,} of {debt.delete_files:,} delete files apply to no data file any more",
            cost_seconds=COMMIT_SECONDS,
            gain_bytes=sum(kind.dangling_bytes for kind in debt.kinds),
            call="t.remove_dangling().execute()",
            command=add_branch(debt, "remove-dangling"),
        )


def _advise_compact(debt: Debt, properties: Mapping[str, str]) -> Iterator[Advice]:
    dead = [file for file in debt.files if file.rows and file.positions / file.rows >= DEAD_SHARE]
    dead_bytes = sum(int(file.bytes * min(file.positions / file.rows, 1)) for file in dead)
    target = int(properties.get("write.target-file-size-bytes", DEFAULT_TARGET_BYTES))
    crowded = [
        partition
        for partition in debt.partitions
        if partition.data_files >= SMALL_FILES and partition.bytes / partition.data_files < SMALL_SHARE * target
    ]
    fewer = sum(partition.data_files - math.ceil(partition.bytes / target) for partition in crowded)
    if not dead and fewer < SMALL_FILES - 1:
        return
    reasons = []
    if dead:
        reasons.append(f"{len(dead):,} data files have {DEAD_SHARE:.0%} or more of their rows deleted")
    if fewer >= SMALL_FILES - 1:
        reasons.append(f"{sum(p.data_files for p in crowded):,} small files can be {fewer:,} fewer")
    size = sum(partition.bytes for partition in crowded) if fewer else sum(file.bytes for file in dead)
    yield Advice(
        "compact",
        "; ".join(reasons),
        cost_seconds=size / REWRITE_BYTES_PER_SECOND + COMMIT_SECONDS,
        gain_seconds=max(fewer, 0) * OPEN_SECONDS + debt.scan_seconds * dead_bytes / max(debt.bytes, 1),
        gain_bytes=dead_bytes,
        call="t.compact().execute()",
        command=add_branch(debt, "compact"),
    )


def _advise_expire(debt: Debt, properties: Mapping[str, str]) -> Iterator[Advice]:
    shared = properties.get("gc.enabled", "true").lower() == "false" and "rowdelta.delta.source" not in properties
    old = debt.old_snapshots
    if old.expirable and not shared:
        yield Advice(
            "expire",
            f"{old.expirable:,} of {old.total:,} snapshots are older than the table keeps",
            cost_seconds=COMMIT_SECONDS + old.total * OPEN_SECONDS,
            gain_bytes=old.bytes,
            call="t.expire().execute()",
            command=("expire",),
        )
