"""Commands that bring the rows of a file into a table."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from rowdelta.choices import Tie
from rowdelta.cli.catalog_options import Place  # noqa: TC001 - typer reads it
from rowdelta.cli.options import (
    CHANGE,
    KINDS,
    AsJson,
    Branch,
    Encoding,
    Isolation,
    Mode,
    PlanOnly,
    Scope,
    TableName,
    app,
    choice_option,
    names,
    rows_file,
)


@app.command(
    epilog="Example: `rowdelta upsert db.orders --changes changes.json --key id --order-by ts --warehouse warehouse`",
    rich_help_panel=CHANGE,
)
def upsert(
    table: TableName,
    place: Place,
    changes: Annotated[Path, typer.Option(exists=True, callback=rows_file, help=f"The changes: {KINDS}.")],
    key: Annotated[str, typer.Option(help="The columns that identify a row, separated by commas.")],
    order_by: Annotated[
        str | None,
        typer.Option(
            help="Columns that grow from older changes to newer ones, separated by commas. They order the changes of "
            "this file alone."
        ),
    ] = None,
    delete_when: Annotated[
        str | None, typer.Option(help="Which changes delete their key, as a SQL predicate: `op = 'D'`.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Set these alone and keep the rest of a row; separated by commas.")
    ] = None,
    tie: Annotated[Tie, choice_option(Tie, "When two changes of a key are equally new: error, or take any.")] = "error",
    merge_schema: Annotated[
        bool, typer.Option("--merge-schema", help="Add columns to the table that only the changes have.")
    ] = False,
    scope: Scope = "auto",
    encoding: Encoding = None,
    branch: Branch = "main",
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Replace, insert and delete rows by key, as a file of changes says, without scanning the table."""
    from rowdelta.cli.connect import open_table
    from rowdelta.cli.input_files import read_rows
    from rowdelta.cli.run_operation import run_operation, upsert_counts

    target = open_table(table, place, branch)
    operation = target.upsert(
        read_rows(changes, target),
        names(key),
        None if order_by is None else names(order_by),
        delete_when,
        None if columns is None else names(columns),
        tie=tie,
        scope=scope,
        encoding=encoding,
        merge_schema=merge_schema,
    )
    run_operation(operation, plan_only=plan, as_json=as_json, tell=upsert_counts, nothing="no changes")


@app.command(
    epilog="Example: `rowdelta merge db.orders --source new.csv --on id --warehouse warehouse --plan`",
    rich_help_panel=CHANGE,
)
def merge(
    table: TableName,
    place: Place,
    source: Annotated[Path, typer.Option(exists=True, callback=rows_file, help=f"The rows to merge: {KINDS}.")],
    on: Annotated[
        str, typer.Option(help="Columns that both have, separated by commas, or a condition: `t.id = s.id`.")
    ],
    values: Annotated[
        list[str] | None,
        typer.Option("--set", help="Update this column alone, `amount=s.amount`: the table is `t`, the file `s`."),
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
    from rowdelta.cli.run_operation import assignments, run_operation

    new = assignments(values or [])  # a wrong one is found before Spark starts
    target = open_table(table, place, branch)
    rule = target._handle.name_rule  # noqa: SLF001 - of its session
    columns = [column.name for column in target.metadata.schema.fields]
    listed = names(on)
    is_columns = all(rule.find(name, columns) for name in listed)
    operation = target.merge(read_rows(source, target), listed if is_columns else on, mode=mode, isolation=isolation)
    if new:
        operation = operation.when_matched_update(new)
    elif update:
        operation = operation.when_matched_update_all()
    if insert:
        operation = operation.when_not_matched_insert_all()
    run_operation(operation, plan_only=plan, as_json=as_json)
