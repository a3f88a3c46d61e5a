"""Maintenance: resolve and rewrite deletes, compact, expire snapshots, and remove dangling deletes and orphans."""

from __future__ import annotations

from rowdelta.maintenance.compact import Compact, CompactResult
from rowdelta.maintenance.compact_options import CompactOptions
from rowdelta.maintenance.expire import Expire, ExpireResult
from rowdelta.maintenance.file_groups import DEFAULT_MEMORY, parse_memory, parse_size
from rowdelta.maintenance.older_than import OlderThan, parse_cutoff
from rowdelta.maintenance.progress import OnProgress, Progress
from rowdelta.maintenance.remove_dangling import RemoveDangling, RemoveDanglingResult
from rowdelta.maintenance.remove_orphans import OrphansPlan, OrphansResult, RemoveOrphans
from rowdelta.maintenance.resolve import Resolve, ResolveResult
from rowdelta.maintenance.restore_offsets import restore_vector_offsets
from rowdelta.maintenance.rewrite_deletes import DEFAULT_MIN_INPUT_FILES, RewriteDeletes, RewriteDeletesResult

__all__ = [
    "DEFAULT_MEMORY",
    "DEFAULT_MIN_INPUT_FILES",
    "Compact",
    "CompactOptions",
    "CompactResult",
    "Expire",
    "ExpireResult",
    "OlderThan",
    "OnProgress",
    "OrphansPlan",
    "OrphansResult",
    "Progress",
    "RemoveDangling",
    "RemoveDanglingResult",
    "RemoveOrphans",
    "Resolve",
    "ResolveResult",
    "RewriteDeletes",
    "RewriteDeletesResult",
    "parse_cutoff",
    "parse_memory",
    "parse_size",
    "restore_vector_offsets",
]
