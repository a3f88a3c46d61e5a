"""Which partitions deletes by key apply to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rowdelta.choices import Scope, check_choice
from rowdelta.errors import InputError
from rowdelta.iceberg import may_be_live

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowdelta.iceberg import TableHandle

REMEDY: Final = "use scope='global', or rewrite the old files first: t.compact(options={'rewrite-all': 'true'})"


def choose_scope(handle: TableHandle, key: Sequence[str], scope: str) -> tuple[str, str]:
    """Chooses between deletes for the partitions of keys and for the whole table, and gives the reason.

    A row is in the partition of its key only if the key columns determine the partition, and if the row was written
    under the same spec. Other columns of the input do not help: a delete event may carry the time of the deletion.
    """
    check_scope(handle, scope)
    if handle.metadata.spec.is_unpartitioned:
        return "global", "the table has no partitions"
    if scope == "partition":
        return "partition", "as requested; a key must never move to another partition"
    if scope == "global":
        return "global", "as asked"
    outside = find_sources_outside(handle, key)
    if outside:
        return (
            "global",
            f"the key does not contain {', '.join(outside)}, so it does not determine the partition",
        )
    if has_other_specs(handle):
        return "global", "some rows were written under another partition spec"
    return "partition", "the key contains the partition columns"


def find_sources_outside(handle: TableHandle, key: Sequence[str]) -> list[str]:
    """Finds source columns of partitions that are not in the key."""
    spec, schema, rule = handle.metadata.spec, handle.metadata.schema, handle.name_rule
    sources = {schema.by_id[part.source_id].name for part in spec.fields if part.transform != "void"}
    return sorted(sources - {schema.find(name, rule).name for name in key})


def check_scope(handle: TableHandle, scope: str) -> None:
    """Refuses an unknown scope, and deletes by partition that would not apply to all of its rows."""
    check_choice("scope", scope, Scope)
    if scope == "partition" and not handle.metadata.spec.is_unpartitioned and has_other_specs(handle):
        raise InputError(
            f"some rows of {handle.name} were written under another partition spec, to which deletes of this one do "
            "not apply",
            hint=REMEDY,
        )


def has_other_specs(handle: TableHandle) -> bool:
    """Whether a live data file belongs to another spec than the table's own, by the manifest list."""
    head = handle.snapshot()
    if head is None or head.manifest_list is None or len(handle.metadata.specs) == 1:
        return False
    own_spec = handle.metadata.spec.id
    return any(
        not manifest.get("content") and manifest.get("partition_spec_id") != own_spec and may_be_live(manifest)
        for manifest in handle.manifests.read(head.manifest_list).records
    )
