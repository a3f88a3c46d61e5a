"""Commands that change rows, and SQL."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from rowdelta.choices import Tie
from rowdelta.cli.catalog_options import Place  # noqa: TC001 - typer reads it
from rowdelta.cli.options import (
    CHANGE,
    ROW_FILES,
    AsJson,
    Branch,
    Encoding,
    Isolation,
    KeepNewer,
    Mode,
    PlanOnly,
    ResolveLane,
    Scope,
    TableName,
    TombstoneColumn,
    Tombstones,
    app,
    check_rows_file,
    choice_option,
    split_names,
)


@app.command(
    epilog="Example: `rowdelta upsert db.orders --changes changes.json --key id --order-by ts --warehouse warehouse`",
    rich_help_panel=CHANGE,
)
def upsert(
    table: TableName,
    place: Place,
    changes: Annotated[Path, typer.Option(exists=True, callback=check_rows_file, help=f"The changes: {ROW_FILES}.")],
    key: Annotated[str, typer.Option(help="The columns that identify a row, separated by commas.")],
    order_by: Annotated[
        str | None,
        typer.Option(
            help="Columns that grow from older changes to newer ones, separated by commas. They order the changes of "
            "this file alone, unless --keep-newer compares them with the table."
        ),
    ] = None,
    delete_when: Annotated[
        str | None, typer.Option(help="Which changes delete their key, as a SQL predicate: `op = 'D'`.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Set only these columns and keep the rest of each row; separated by commas.")
    ] = None,
    tie: Annotated[Tie, choice_option(Tie, "When two changes of a key are equally new: error, or take any.")] = "error",
    merge_schema: Annotated[
        bool, typer.Option("--merge-schema", help="Add columns to the table that only the changes have.")
    ] = False,
    scope: Scope = "auto",
    encoding: Encoding = None,
    resolve: ResolveLane = None,
    keep_newer: KeepNewer = False,
    tombstones: Tombstones = None,
    tombstone_column: TombstoneColumn = None,
    branch: Branch = "main",
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Replace, insert and delete rows by key from a file of changes."""
    from rowdelta.cli.connect import open_table
    from rowdelta.cli.input_files import read_rows
    from rowdelta.cli.run_operation import describe_ignored, describe_upsert, run_operation
    from rowdelta.verbs import TOMBSTONE_COLUMN

    target = open_table(table, place, branch)
    operation = target.upsert(
        read_rows(changes, target),
        split_names(key),
        None if order_by is None else split_names(order_by),
        delete_when,
        None if columns is None else split_names(columns),
        tie=tie,
        scope=scope,
        encoding=encoding,
        merge_schema=merge_schema,
        resolve=resolve,
        keep_newer=keep_newer,
        tombstones=tombstones or "drop",
        tombstone_column=tombstone_column or TOMBSTONE_COLUMN,
    )
    run_operation(operation, plan_only=plan, as_json=as_json, describe=describe_upsert, nothing=describe_ignored)


@app.command(
    epilog="Example: `rowdelta merge db.orders --source new.csv --on id --warehouse warehouse --plan`",
    rich_help_panel=CHANGE,
)
def merge(
    table: TableName,
    place: Place,
    source: Annotated[
        Path, typer.Option(exists=True, callback=check_rows_file, help=f"The rows to merge: {ROW_FILES}.")
    ],
    on: Annotated[
        str, typer.Option(help="Columns that both have, separated by commas, or a condition: `t.id = s.id`.")
    ],
    values: Annotated[
        list[str] | None,
        typer.Option("--set", help="Update only this column, `amount=s.amount`: the table is `t`, the file `s`."),
    ] = None,
    update: Annotated[bool, typer.Option("--update/--no-update", help="Update matching rows.")] = True,
    insert: Annotated[bool, typer.Option("--insert/--no-insert", help="Insert rows that match none.")] = True,
    mode: Mode = None,
    isolation: Isolation = None,
    branch: Branch = "main",
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Merge the rows of a file into a table: update what matches, insert the rest; `rowdelta sql` runs any MERGE."""
    from rowdelta.cli.connect import open_table
    from rowdelta.cli.input_files import read_rows
    from rowdelta.cli.run_operation import parse_assignments, run_operation

    new = parse_assignments(values or [])  # reports a wrong one before Spark starts
    target = open_table(table, place, branch)
    rule = target._handle.name_rule  # noqa: SLF001 - of its session
    columns = [column.name for column in target.metadata.schema.fields]
    listed = split_names(on)
    is_columns = all(rule.find(name, columns) for name in listed)
    operation = target.merge(read_rows(source, target), listed if is_columns else on, mode=mode, isolation=isolation)
    if new:
        operation = operation.when_matched_update(new)
    elif update:
        operation = operation.when_matched_update_all()
    if insert:
        operation = operation.when_not_matched_insert_all()
    run_operation(operation, plan_only=plan, as_json=as_json)


@app.command(
    "delete-keys",
    epilog="Example: `rowdelta delete-keys db.orders --keys gone.parquet --warehouse warehouse`",
    rich_help_panel=CHANGE,
)
def delete_keys(
    table: TableName,
    place: Place,
    keys: Annotated[Path, typer.Option(exists=True, callback=check_rows_file, help=f"The keys: {ROW_FILES}.")],
    key: Annotated[
        str | None, typer.Option(help="Key columns, separated by commas; all of the file's by default.")
    ] = None,
    scope: Scope = "auto",
    encoding: Encoding = None,
    resolve: ResolveLane = None,
    branch: Branch = "main",
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Delete the rows that have one of the keys in a file."""
    from rowdelta.cli.connect import open_table
    from rowdelta.cli.input_files import read_rows
    from rowdelta.cli.run_operation import describe_key_deletes, describe_no_keys, run_operation

    target = open_table(table, place, branch)
    frame = read_rows(keys, target)
    operation = target.delete_keys(
        frame, frame.columns if key is None else split_names(key), encoding=encoding, scope=scope, resolve=resolve
    )
    run_operation(operation, plan_only=plan, as_json=as_json, describe=describe_key_deletes, nothing=describe_no_keys)


@app.command(
    epilog="Example: `rowdelta sql 'SELECT region, count(*) FROM db.orders GROUP BY region' --warehouse warehouse`",
    rich_help_panel=CHANGE,
)
def sql(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="One statement of Spark SQL.")],
    place: Place,
    limit: Annotated[int, typer.Option(min=1, help="Rows to show at most.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Run SQL: changes by rowdelta, queries with every delete applied, the rest by Spark."""
    from rowdelta.cli.run_operation import run_sql, show_frame

    show_frame(run_sql(text, place), limit, as_json=as_json)


@app.command(
    epilog="Example: `rowdelta delete db.orders --where \"status = 'void'\" --warehouse warehouse`",
    rich_help_panel=CHANGE,
)
def delete(
    table: TableName,
    place: Place,
    where: Annotated[str, typer.Option(help="Rows to delete, as a SQL predicate; `true` for all.")],
    mode: Mode = None,
    isolation: Isolation = None,
    branch: Branch = "main",
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Delete the rows of a table that match a predicate."""
    from rowdelta.cli.connect import open_table
    from rowdelta.cli.run_operation import run_operation

    operation = open_table(table, place, branch).delete(where, mode=mode, isolation=isolation)
    run_operation(operation, plan_only=plan, as_json=as_json)


@app.command(
    epilog="Example: `rowdelta update db.orders --set 'amount=amount * 1.1' --where 'id = 7' --warehouse warehouse`",
    rich_help_panel=CHANGE,
)
def update(
    table: TableName,
    place: Place,
    values: Annotated[list[str], typer.Option("--set", help="A column and its new value: `column=expression`.")],
    where: Annotated[str, typer.Option(help="Rows to update, as a SQL predicate; `true` for all.")],
    mode: Mode = None,
    isolation: Isolation = None,
    branch: Branch = "main",
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Set columns of the rows of a table that match a predicate; repeat `--set` for more columns."""
    from rowdelta.cli.connect import open_table
    from rowdelta.cli.run_operation import parse_assignments, run_operation

    new = parse_assignments(values)  # reports a wrong one before Spark starts
    operation = open_table(table, place, branch).update(mode=mode, isolation=isolation).where(where)
    for column, value in new.items():
        operation = operation.set(column, value)
    run_operation(operation, plan_only=plan, as_json=as_json)
