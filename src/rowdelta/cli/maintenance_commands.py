"""Commands that write deletes and data files anew; what a table shows stays the same."""

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
    accepted_by,
    app,
    choice_option,
    parse_encoding,
)
from rowdelta.errors import InputError
from rowdelta.maintenance import memory_bytes, size_in_bytes


def _options(texts: list[str]) -> dict[str, str]:
    """Reads `name=value`, none or more.

    Examples:
        >>> _options(["rewrite-all=true"])
        {'rewrite-all': 'true'}
    """
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name.strip() and equals):
            raise InputError(f"{text!r} is not an option", hint="write --option name=value")
        found[name.strip()] = value.strip()
    return found


Verify = Annotated[
    bool | None,
    typer.Option(
        "--verify/--no-verify", help="Compare all visible rows before the commit; by default for tables below 1 GB."
    ),
]
Memory = Annotated[
    str,
    typer.Option(
        help="How much memory the positions of one group of files may take.", callback=accepted_by(memory_bytes)
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
    _run(operation, _resolved, plan_only=plan, as_json=as_json)


def _resolved(result: Any) -> list[str]:
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
    return [*lines, *result.left_out]


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
        int, typer.Option(min=1, help="Merge where there are at least so many delete files.")
    ] = 2,
    target_size: Annotated[
        str | None,
        typer.Option(
            help="About how large a file of position deletes may become, such as 64m.",
            callback=accepted_by(lambda size: size_in_bytes("target_size", size)),
        ),
    ] = None,
    verify: Verify = None,
    branch: Branch = "main",
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Write delete files anew, in another encoding or as fewer files."""
    from rowdelta.cli.connect import open_table

    operation = open_table(table, place, branch).rewrite_deletes(
        to, delete_files, min_input_files=min_input_files, target_size=target_size, verify=verify
    )
    _run(operation, _rewritten, plan_only=plan, as_json=as_json)


def _rewritten(result: Any) -> list[str]:
    counts = (
        f"{result.equality_deletes:,} equality and {result.position_deletes:,} position deletes written anew as "
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
            callback=accepted_by(_options),
        ),
    ] = None,
    memory: Memory = "512m",
    verify: Verify = None,
    branch: Branch = "main",
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Rewrite data files with Iceberg's own action, after resolving what it should not apply itself."""
    from rowdelta.cli.connect import open_table

    operation = open_table(table, place, branch).compact(
        strategy,
        sort_order=sort_order,
        data_files=data_files,
        options=_options(option or []),
        verify=verify,
        memory=memory,
    )
    _run(operation, _compacted, plan_only=plan, as_json=as_json)


def _compacted(result: Any) -> list[str]:
    counts = (
        f"{result.data_files_rewritten:,} data files rewritten as {result.data_files_added:,}, "
        f"{result.equality_deletes:,} equality deletes resolved, {result.delete_files_removed:,} delete files removed"
    )
    return [counts]


def _run(operation: Any, told: Any, *, plan_only: bool, as_json: bool) -> None:
    """Prints the plan of an operation, or runs it and prints what it did."""
    from rowdelta.cli.run_operation import executed

    result = executed(operation, plan_only=plan_only, as_json=as_json)
    if result is None:
        return
    snapshot = "nothing changed" if result.snapshot_id is None else f"snapshot {result.snapshot_id}"
    for line in [*told(result), f"{snapshot}{', verified' if getattr(result, 'verified', False) else ''}"]:
        typer.echo(line)
