"""Checks of a stream's arguments, which fail before its first batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rowdelta.cdc.debezium import Debezium
from rowdelta.cdc.delta_feed import DeltaFeed
from rowdelta.change import find_sources_outside
from rowdelta.encoding import choose_lane
from rowdelta.errors import InputError
from rowdelta.verbs import check_whole_rows, read_newest_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowdelta.cdc.records import Records
    from rowdelta.choices import Encoding
    from rowdelta.iceberg import TableHandle
    from rowdelta.verbs import ChangeRules


def check_own_order(records: Records, *, is_ordered: bool, keep_newer: bool) -> None:
    """Refuses `order_by` for formats that have their own order, unless changes are compared with the table."""
    if not isinstance(records, (Debezium, DeltaFeed)):
        return
    if keep_newer and isinstance(records, DeltaFeed):
        raise InputError(
            "Delta's change feed arrives in the order of its commits, so keep_newer=True has nothing to compare",
            hint="remove keep_newer",
        )
    if is_ordered and not keep_newer:
        of_debezium = ", or use keep_newer=True to compare changes with rows of the table"
        raise InputError(
            "the format has its own order: with another one, a delete could count as older than what it deletes",
            hint=f"remove order_by{of_debezium if isinstance(records, Debezium) else ''}",
        )


def check_lane(
    handle: TableHandle,
    rules: ChangeRules,
    columns: Sequence[str] | None,
    *,
    resolve: bool | None,
    encoding: Encoding | None,
    **newest: Any,
) -> None:
    """Refuses arguments that contradict each other or the table, so that they fail here, not in the first batch."""
    check_whole_rows(columns, rules, keep_newer=newest["keep_newer"])
    read_newest_rows(handle, rules, **newest)
    needs_rows = "keep_newer=True" if newest["keep_newer"] else None
    choose_lane(handle.metadata.properties, resolve=resolve, encoding=encoding, needs_rows=needs_rows)


def check_key_tells_partition(handle: TableHandle, key: Sequence[str]) -> None:
    """Refuses `scope="partition"` if a delete, which holds only its key, cannot say where its row is."""
    outside = find_sources_outside(handle, key)
    if outside:
        raise InputError(
            f"a delete of Debezium holds only its key, which does not determine the partition: {handle.name} is "
            f"partitioned by {', '.join(outside)}",
            hint="remove scope, or add the column to the key",
        )
