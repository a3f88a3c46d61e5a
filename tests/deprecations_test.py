"""Old names of the public API and of the command line still work, and say what they are called now."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import rowdelta as rd
from rowdelta.cli.app import app
from rowdelta.debt import ReadCost
from rowdelta.debt.debt_parts import FileDebt, PartitionDebt
from tests.support.tables import create, one_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

# Each call takes the old name or the new one, and the value.
CALLS: dict[tuple[str, str, str], Callable[[rd.Table, DataFrame, dict[str, Any]], rd.Operation[Any]]] = {
    ("resolve", "where", "partitions"): lambda t, _, given: t.resolve(**given),
    ("rewrite_deletes", "where", "delete_files"): lambda t, _, given: t.rewrite_deletes(**given),
    ("compact", "where", "data_files"): lambda t, _, given: t.compact(**given),
    ("where", "condition", "where"): lambda t, _, given: t.update().set("v", "'x'").where(**given),
    ("when_matched_update", "condition", "where"): lambda t, s, given: t.merge(s, "p").when_matched_update(
        {"v": "'x'"}, **given
    ),
    ("when_matched_update_all", "condition", "where"): lambda t, s, given: t.merge(s, "p").when_matched_update_all(
        **given
    ),
    ("when_matched_delete", "condition", "where"): lambda t, s, given: t.merge(s, "p").when_matched_delete(**given),
    ("when_not_matched_insert", "condition", "where"): lambda t, s, given: t.merge(s, "p").when_not_matched_insert(
        {"p": "s.p"}, **given
    ),
    ("when_not_matched_insert_all", "condition", "where"): lambda t, s, given: t.merge(
        s, "p"
    ).when_not_matched_insert_all(**given),
    ("when_not_matched_by_source_update", "condition", "where"): lambda t, s, given: t.merge(
        s, "p"
    ).when_not_matched_by_source_update({"v": "'x'"}, **given),
    ("when_not_matched_by_source_delete", "condition", "where"): lambda t, s, given: t.merge(
        s, "p"
    ).when_not_matched_by_source_delete(**given),
}
VALUES = {
    "rewrite_deletes": "bytes > 0",
    "when_not_matched_insert": "s.p = 1",
    "when_not_matched_insert_all": "s.p = 1",
    "when_not_matched_by_source_update": "t.p = 1",
    "when_not_matched_by_source_delete": "t.p = 1",
    "when_matched_update": "t.p = 1",
    "when_matched_update_all": "t.p = 1",
    "when_matched_delete": "t.p = 1",
}


@pytest.fixture
def table(spark: SparkSession, table_name: str) -> rd.Table:
    table = create(spark, table_name, "p int, v string", "p")
    one_file(spark, [(1, "a"), (1, "b")], "p int, v string").writeTo(table_name).append()
    return table.refresh()


def test_old_arguments_do_what_the_new_ones_do(spark: SparkSession, table: rd.Table) -> None:
    source = one_file(spark, [(1, "c")], "p int, v string")
    for (name, old, new), call in CALLS.items():
        value = VALUES.get(name, "p = 1")
        with pytest.warns(FutureWarning, match=rf"{name}\({old}=\.\.\.\) is now {name}\({new}=\.\.\.\)") as warned:
            before = call(table, source, {old: value}).plan()
        assert warned[0].filename == __file__
        assert str(before) == str(call(table, source, {new: value}).plan())
    with pytest.warns(FutureWarning, match=r"debt\(verify=\.\.\.\) is now debt\(check_deletes=\.\.\.\)"):
        table.debt(verify=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="both partitions= and its old name where="):
        table.resolve("p = 1", where="p = 1", partitions="p = 1")  # type: ignore[call-arg, misc]


def test_a_stream_takes_its_callback_by_the_old_name(spark: SparkSession, table: rd.Table) -> None:
    source = spark.readStream.format("rate").load().selectExpr("int(value) p", "'x' v")
    seen: list[rd.cdc.BatchProgress] = []
    with pytest.warns(FutureWarning, match=r"stream\(on_progress=\.\.\.\) is now stream\(progress=\.\.\.\)"):
        stream = rd.cdc.stream(source, table, "p", on_progress=seen.append)  # type: ignore[call-arg]
    assert seen.append in stream.listeners


def test_old_attributes_of_results_read_the_new_ones(table: rd.Table) -> None:
    cost = ReadCost(1.5, 2)
    for old, new, owner in (
        ("stock", "iceberg", PartitionDebt("p=1", 1, 2, 3, 4, 5, 6, 7, 8, cost, ReadCost())),
        ("stock", "iceberg", FileDebt("f", "p=1", 1, 2, 3, 4, 5, 6, 7, cost, ReadCost())),
        ("left_out", "omitted", rd.ResolveResult(omitted=("because",))),
        ("left", "remaining", rd.RemoveDanglingResult(remaining=3)),
        ("stock", "iceberg", table.debt()),
    ):
        with pytest.warns(FutureWarning, match=rf"^(\w+)\.{old} is now \1\.{new}; it will stop working") as warned:
            value = getattr(owner, old)
        assert warned[0].filename == __file__
        assert value == getattr(owner, new)
        assert value
    for document in (rd.ResolveResult().to_dict(), rd.RemoveDanglingResult().to_dict(), table.debt().to_dict()):
        assert document.keys() & {"stock", "left_out", "left"} == set()


def test_remove_orphans_lists_or_removes_as_dry_run_says(table: rd.Table) -> None:
    with pytest.warns(FutureWarning, match=r"remove_orphans\(dry_run=True\) is deprecated: use \.plan\(\)"):
        listed = table.remove_orphans(dry_run=True).execute()
    with pytest.warns(FutureWarning, match=r"remove_orphans\(dry_run=False\) is deprecated: omit it"):
        removed = table.remove_orphans(dry_run=False).execute()
    assert (listed.dry_run, removed.dry_run) == (True, False)


def test_signatures_show_only_the_new_names() -> None:
    for name, new in (("resolve", "partitions"), ("rewrite_deletes", "delete_files"), ("compact", "data_files")):
        parameters = inspect.signature(getattr(rd.Table, name)).parameters
        assert new in parameters
        assert "where" not in parameters


@pytest.mark.parametrize(
    ("words", "warning"),
    [
        (["resolve", "db.t", "--where", "p = 1"], "--where is now --partitions"),
        (["rewrite-deletes", "db.t", "--where=bytes > 0"], "--where is now --delete-files"),
        (["compact", "db.t", "--where", "id = 1"], "--where is now --data-files"),
        (["debt", "db.t", "--verify"], "--verify is now --check-deletes"),
        (["delete", "db.t", "--where", "id = 1", "--dry-run"], "--dry-run is now --plan"),
        (["remove-orphans", "db.t", "--delete"], "--delete is the default now"),
    ],
)
def test_old_options_are_accepted_with_a_warning(words: list[str], warning: str) -> None:
    result = CliRunner().invoke(app, words)
    assert f"Warning: {warning}" in result.stderr
    assert "say where the tables are" in " ".join(result.stderr.replace("│", " ").split())


def test_options_that_were_not_renamed_do_not_warn() -> None:
    result = CliRunner().invoke(app, ["delete", "db.t", "--where", "id = 1", "--plan"])
    assert "Warning" not in result.stderr
    assert "No such option" in CliRunner().invoke(app, ["read", "db.t", "--dry-run"]).stderr
