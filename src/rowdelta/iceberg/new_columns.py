"""Opens a table with columns that it does not have yet, so that a change can be planned before the schema changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rowdelta.errors import InputError
from rowdelta.iceberg.table_state import TableState
from rowdelta.spark import JavaError, get_java_schema, read_java_message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from rowdelta.iceberg.table_handle import TableHandle


def open_with_new_columns(
    handle: TableHandle, changes: DataFrame, new: Sequence[str], wider: Sequence[str]
) -> TableHandle:
    """Opens the table with more and wider columns, in memory only. It can be read and planned with, not committed to.

    Args:
        handle: The table.
        changes: The frame that has the columns.
        new: Columns of the frame to add.
        wider: Columns of the table that get the type of the frame.

    Raises:
        InputError: Iceberg cannot add such a column.
    """
    gateway, base = handle.gateway, handle.state.current
    iceberg = gateway.iceberg
    try:
        wanted = iceberg.spark.SparkSchemaUtil.convert(get_java_schema(changes)).asStruct()
        update: Any = handle.java_table.updateSchema()
        rule = handle.name_rule
        for name in wider:
            update.updateColumn(name, wanted.field(rule.find(name, changes.columns)[0]).type())
        for name in new:
            update.addColumn(None, name, wanted.field(name).type())
        schema = update.apply()
        highest = max(int(base.lastColumnId()), int(schema.highestFieldId()))
        metadata = iceberg.TableMetadata.buildFrom(base).setCurrentSchema(schema, highest).build()
    except JavaError as error:
        raise InputError(
            f"{handle.name} cannot add or widen the columns {', '.join([*new, *wider])} of the changes: "
            f"{read_java_message(error)}",
            hint="cast or drop them in the changes",
        ) from error
    operations = iceberg.StaticTableOperations(metadata, handle.java_table.io(), handle.java_table.locationProvider())
    table = iceberg.BaseTable(operations, handle.java_table.name())
    return handle.with_state(table, TableState(gateway, metadata, None))
