"""Commands that rewrite deletes and data files, or remove what a table no longer needs. Visible rows stay the same."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rowdelta.choices import CompactStrategy, Encoding
from rowdelta.cli.catalog_options import Place  # noqa: TC001 - typer reads it
from rowdelta.cli.options import (
    MAINTAIN,
    WORD,
    AsJson,
    Branch,
    PlanOnly,
    TableName,
    app,
    check_with,
    choice_option,
    parse_encoding,
)
from rowdelta.errors import InputError
from rowdelta.maintenance import parse_cutoff, parse_memory, parse_size


def _parse_options(texts: list[str]) -> dict[str, str]:
    """Reads options of the form `name=value`.

    Examples:
        >>> _parse_options(["rewrite-all=true"])
        {'rewrite-all': 'true'}
    """
    options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name.strip() and equals):
            raise InputError(f"{text!r} is not an option", hint="write --option name=value")
        options[name.strip()] = value.strip()
    return options


Verify = Annotated[
    bool | None,
    typer.Option(
        "--verify/--no-verify", help="Compare all visible rows before the commit; by default for tables below 1 GB."
    ),
]
OlderThan = Annotated[
    str | None,
    typer.Option(
        "--older-than", help="A time (`2024-01-31`, UTC) or an age (`5d`, `36h`).", callback=check_with(parse_cutoff)
    ),
]
Memory = Annotated[
    str,
    typer.Option(
        help="How much memory the positions of one group of files may take.", callback=check_with(parse_memory)
    ),
]


@app.command(
    epilog="Example: `rowdelta resolve db.orders --warehouse warehouse --plan`",
    rich_help_panel=MAINTAIN,
    new_names={"--where": "--partitions"},
)
def resolve(
    table: TableName,
    place: Place,
    partitions: Annotated[
        str | None, typer.Option(help="Only the deletes of these partitions, as a predicate.")
    ] = None,
    publish: Annotated[str | None, typer.Option(help="A branch to move to the resolved state, such as main.")] = None,
    partial_progress: Annotated[
        bool, typer.Option("--partial-progress", help="Commit each group of files when it is done.")
    ] = False,
    memory: Memory = "512m",
    verify: Verify = None,
    branch: Branch = "main",
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Turn equality deletes and vectors into deletion vectors (format version 3) or position deletes (2)."""
    from rowdelta.cli.connect import open_table

    operation = open_table(table, place, branch).resolve(
        partitions, publish, verify=verify, memory=memory, partial_progress=partial_progress
    )
    _run(operation, _describe_resolve, plan_only=plan, as_json=as_json)


def _describe_resolve(result: Any) -> list[str]:
    counts = (
        f"{result.equality_deletes:,} equality deletes resolved ({result.dangling:,} dangling), "
        f"{result.positions:,} rows found, {result.delete_files_added:,} delete files written, "
        f"{result.files_scanned:,} data files scanned, {result.files_pruned:,} pruned"
    )
    lines = [counts]
    if result.data_files_removed:
        lines.append(f"{result.data_files_removed:,} data files without a live row removed")
    if result.published is not None:
        lines.append(f"branch {result.published} moved to the resolved state")
    return [*lines, *result.omitted]


@app.command(
    "rewrite-deletes",
    epilog="Example: `rowdelta rewrite-deletes db.orders --to equality-delete-vector --delete-files "
    "\"encoding = 'full-row'\" --warehouse warehouse`",
    rich_help_panel=MAINTAIN,
    new_names={"--where": "--delete-files"},
)
def rewrite_deletes(
    table: TableName,
    place: Place,
    to: Annotated[
        Encoding | None,
        typer.Option(
            "--to",
            help="equality-delete-vector, full-row or hash-map; without it encodings stay.",
            metavar=WORD,
            parser=parse_encoding,
        ),
    ] = None,
    delete_files: Annotated[
        str | None, typer.Option(help="Only these delete files, by the columns that `rowdelta delete-files` shows.")
    ] = None,
    min_input_files: Annotated[
        int, typer.Option(min=1, help="Merge only groups of at least this many delete files.")
    ] = 2,
    target_size: Annotated[
        str | None,
        typer.Option(
            help="About how large a file of position deletes may become, such as 64m.",
            callback=check_with(lambda size: parse_size("target_size", size)),
        ),
    ] = None,
    verify: Verify = None,
    branch: Branch = "main",
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Rewrite delete files, in another encoding or as fewer files."""
    from rowdelta.cli.connect import open_table

    operation = open_table(table, place, branch).rewrite_deletes(
        to, delete_files, min_input_files=min_input_files, target_size=target_size, verify=verify
    )
    _run(operation, _describe_rewrite, plan_only=plan, as_json=as_json)


def _describe_rewrite(result: Any) -> list[str]:
    counts = (
        f"{result.equality_deletes:,} equality and {result.position_deletes:,} position deletes rewritten as "
        f"{result.delete_files_added:,}"
    )
    return [counts, *(f"skipped {reason}" for reason in result.skipped)]


@app.command(
    epilog="Example: `rowdelta compact db.orders --option delete-file-threshold=1 --warehouse warehouse`",
    rich_help_panel=MAINTAIN,
    new_names={"--where": "--data-files"},
)
def compact(
    table: TableName,
    place: Place,
    strategy: Annotated[CompactStrategy, choice_option(CompactStrategy, "binpack, sort or zorder.")] = "binpack",
    sort_order: Annotated[str | None, typer.Option(help="Columns to sort by, or to interleave for zorder.")] = None,
    data_files: Annotated[
        str | None, typer.Option(help="Only data files that may hold rows that match this predicate.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            help="An option of Iceberg's rewrite_data_files: `name=value`.",
            callback=check_with(_parse_options),
        ),
    ] = None,
    memory: Memory = "512m",
    verify: Verify = None,
    branch: Branch = "main",
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Rewrite data files with Iceberg's own action, after resolving equality deletes."""
    from rowdelta.cli.connect import open_table

    operation = open_table(table, place, branch).compact(
        strategy,
        sort_order=sort_order,
        data_files=data_files,
        options=_parse_options(option or []),
        verify=verify,
        memory=memory,
    )
    _run(operation, _describe_compact, plan_only=plan, as_json=as_json)


def _describe_compact(result: Any) -> list[str]:
    counts = (
        f"{result.data_files_rewritten:,} data files rewritten as {result.data_files_added:,}, "
        f"{result.equality_deletes:,} equality deletes resolved, {result.delete_files_removed:,} delete files removed"
    )
    return [counts]


def _run(operation: Any, describe: Any, *, plan_only: bool, as_json: bool) -> None:
    """Prints the plan of an operation, or runs it and describes the result."""
    from rowdelta.cli.run_operation import plan_or_execute

    result = plan_or_execute(operation, plan_only=plan_only, as_json=as_json)
    if result is None:
        return
    snapshot = "nothing changed" if result.snapshot_id is None else f"snapshot {result.snapshot_id}"
    for line in [*describe(result), f"{snapshot}{', verified' if getattr(result, 'verified', False) else ''}"]:
        typer.echo(line)


@app.command(
    "remove-dangling",
    epilog="Example: `rowdelta remove-dangling db.orders --warehouse warehouse --plan`",
    rich_help_panel=MAINTAIN,
)
def remove_dangling(
    table: TableName, place: Place, branch: Branch = "main", plan: PlanOnly = False, as_json: AsJson = False
) -> None:
    """Remove delete files that no longer apply to any data file."""
    from rowdelta.cli.connect import open_table
    from rowdelta.cli.run_operation import plan_or_execute

    result = plan_or_execute(open_table(table, place, branch).remove_dangling(), plan_only=plan, as_json=as_json)
    if result is None:
        return
    if result.snapshot_id is not None:
        typer.echo(f"{result.delete_files_removed:,} delete files removed, snapshot {result.snapshot_id}")
    if result.remaining:
        typer.echo(
            f"{result.remaining:,} dangling deletes cannot be removed: the column of their partition was dropped"
        )
    elif result.snapshot_id is None:
        typer.echo("no dangling delete files: nothing changed")


@app.command(
    epilog="Example: `rowdelta expire db.orders --warehouse warehouse --older-than 5d --retain-last 10`",
    rich_help_panel=MAINTAIN,
)
def expire(
    table: TableName,
    place: Place,
    older_than: OlderThan = None,
    retain_last: Annotated[int | None, typer.Option(min=1, help="Snapshots of each branch to keep anyway.")] = None,
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Remove old snapshots, and the files that no other snapshot needs."""
    from rowdelta.cli.connect import open_table
    from rowdelta.cli.run_operation import plan_or_execute

    operation = open_table(table, place).expire(older_than, retain_last)
    result = plan_or_execute(operation, plan_only=plan, as_json=as_json)
    if result is not None:
        metadata = result.manifests_removed + result.manifest_lists_removed
        typer.echo(
            f"{result.snapshots_expired:,} snapshots expired; {result.data_files_removed:,} data files, "
            f"{result.delete_files_removed:,} delete files and {metadata:,} metadata files removed"
        )


@app.command("orphans", hidden=True, new_names={"--delete": None})
@app.command(
    "remove-orphans",
    epilog="Example: `rowdelta remove-orphans db.orders --warehouse warehouse --older-than 7d --plan`",
    rich_help_panel=MAINTAIN,
    new_names={"--delete": None},
)
def remove_orphans(
    table: TableName,
    place: Place,
    older_than: OlderThan = None,
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Remove files in a table's folder that no snapshot refers to, older than 3 days; `--plan` lists them."""
    from rowdelta.cli.connect import open_table
    from rowdelta.cli.run_operation import plan_or_execute

    result = plan_or_execute(open_table(table, place).remove_orphans(older_than), plan_only=plan, as_json=as_json)
    if result is None:
        return
    for path in result.orphan_files:
        typer.echo(path)
    if not result.orphan_files:
        typer.echo("no orphan files")
        return
    left = len(result.orphan_files) - result.files_removed
    typer.echo(f"{result.files_removed:,} orphan files removed" + (f", {left:,} cannot be removed" if left else ""))
