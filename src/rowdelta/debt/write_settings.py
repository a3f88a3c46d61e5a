"""Recommends the encoding of new deletes and the mode of row-level changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rowdelta.debt.advice import EQUALITY_READERS, EQUALITY_REFUSERS
from rowdelta.debt.costs import REWRITE_BYTES_PER_SECOND
from rowdelta.debt.recommendation import Recommendation
from rowdelta.encoding import DeleteEncoding, EncodingCostEstimator, FileContent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowdelta.debt.history import Commit
    from rowdelta.debt.measure import Debt
    from rowdelta.debt.pace import Pace
    from rowdelta.iceberg import TableMetadata

EQUALITY_VECTOR_ENABLED: Final = "write.delete.equality-vector.enabled"
MODES: Final = ("write.delete.mode", "write.update.mode", "write.merge.mode")
_MERGE_ON_READ: Final = "merge-on-read"
_HOUR: Final = 3600
_V3: Final = 3
_OFTEN: Final = 10


def recommend_encoding(debt: Debt, metadata: TableMetadata, pace: Pace) -> Recommendation:
    """Recommends how to write new deletes: by position or by key, as they were written recently."""
    enabled = metadata.properties.get(EQUALITY_VECTOR_ENABLED, "false").strip().lower() == "true"
    if pace.keys:
        return _recommend_key_encoding(debt, metadata, pace, enabled=enabled)
    if debt.format_version < _V3:
        return Recommendation(
            "encoding",
            "format version 3, deletion vectors",
            "deletes by position are files of paths and positions on version 2; readers open every one of them",
            "deletion vectors cost readers nothing that could be measured, and there is one for each data file at most",
            (f"ALTER TABLE {debt.table} SET TBLPROPERTIES ('format-version'='3')",),
        )
    return Recommendation(
        "encoding", "as it is: deletion vectors", "on version 3, deletes by position are always deletion vectors"
    )


def _recommend_key_encoding(debt: Debt, metadata: TableMetadata, pace: Pace, *, enabled: bool) -> Recommendation:
    """Recommends the encoding of the keys of equality deletes."""
    keys = pace.keys // max(pace.key_commits, 1)
    types = [[_find_type(metadata, name) for name in columns] for columns in debt.key_columns]
    # Without live deletes the type of the keys is unknown.
    fits = debt.format_version >= _V3 and bool(types) and all(key == ["long"] for key in types)
    estimator = EncodingCostEstimator()
    sizes = [
        f"{estimator.estimate_full_row_cost(keys, key_types):,} bytes as a file of {' and '.join(columns)}"
        for columns, key_types in zip(debt.key_columns, types, strict=True)
    ]
    if fits:
        size = estimator.estimate_deletion_vector_cost(FileContent.EQUALITY, keys, ["long"])
        sizes.append(f"{size:,} bytes as a vector")
    estimate = f"a commit adds {keys:,} keys{': about ' if sizes else ''}{', '.join(sizes)}"
    often = pace.interval_seconds is not None and pace.interval_seconds * _OFTEN < _HOUR
    if enabled:
        return Recommendation(
            "encoding",
            "equality delete vectors, resolved on schedule",
            f"{EQUALITY_VECTOR_ENABLED} is true: only rowdelta reads the table between two resolves",
            estimate,
        )
    if fits and often:
        branch = "ingest" if debt.branch == "main" else debt.branch
        return Recommendation(
            "encoding",
            "equality delete vectors on a branch, published by resolve",
            f"there are more than {_OFTEN} commits an hour; on a branch, vectors do not affect readers of main",
            estimate,
            (
                *([f"ALTER TABLE {debt.table} CREATE BRANCH IF NOT EXISTS {branch}"] if debt.branch == "main" else []),
                f"ALTER TABLE {debt.table} SET TBLPROPERTIES ('{EQUALITY_VECTOR_ENABLED}'='true')",
            ),
            (("resolve", "--branch", branch, "--publish", "main"),),
        )
    return Recommendation(
        "encoding",
        f"standard equality delete files ({DeleteEncoding.FULL_ROW})",
        f"{EQUALITY_READERS} read them ({EQUALITY_REFUSERS} do not), and they are resolved on schedule",
        estimate,
    )


def _find_type(metadata: TableMetadata, column: str) -> str:
    return next((field.type_name for field in metadata.schema.by_id.values() if field.name == column), "unknown")


def recommend_mode(debt: Debt, metadata: TableMetadata, pace: Pace, recent: Sequence[Commit]) -> Recommendation:
    """Recommends copy-on-write or merge-on-read, by what recent changes of rows have cost."""
    modes = {name: metadata.properties.get(name) for name in MODES}
    if not pace.row_level:
        return Recommendation("mode", "as it is", "no recent commit changed single rows")
    if pace.rewritten_commits and any(mode != _MERGE_ON_READ for mode in modes.values()):
        size = pace.rewritten_bytes // pace.rewritten_commits
        properties = ", ".join(f"'{name}'='{_MERGE_ON_READ}'" for name in MODES)
        return Recommendation(
            "mode",
            _MERGE_ON_READ,
            f"{pace.rewritten_commits} of the last {pace.commits} commits rewrote whole files to change some rows",
            f"each wrote {size:,} bytes, about {size / REWRITE_BYTES_PER_SECOND:.1f} s; a deletion vector is some KB",
            (f"ALTER TABLE {debt.table} SET TBLPROPERTIES ({properties})",),
        )
    changed = sum(c.positions_added + c.keys_added for c in recent)
    return Recommendation(
        "mode",
        f"as it is: {_MERGE_ON_READ}",
        f"{pace.row_level} of the last {pace.commits} commits changed {changed:,} rows without rewriting files",
    )
