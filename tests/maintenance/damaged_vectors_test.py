"""Deletion vectors that Iceberg's reader treats as empty are rejected, so that no deleted row comes back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import pytest
from typer.testing import CliRunner

import rowdelta as rd
from rowdelta.cli.app import app
from rowdelta.errors import FormatError
from rowdelta.iceberg import read_snapshot_files
from tests.support.oracle import assert_same_ids
from tests.support.tables import create, head, keys, one_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from rowdelta.iceberg import DeleteEntry

ROWS = [(number, number % 2) for number in range(20)]
FAULTS = {"runs": "run", "flags": "unknown flags"}


def make(spark: SparkSession, name: str, *, equality: bool = True) -> rd.Table:
    """Two partitions of ten rows, each with a vector of four rows in a run, and an equality delete of two rows."""
    table = create(spark, name, "id bigint, p int", "p")
    one_file(spark, ROWS, "id bigint, p int").sortWithinPartitions("p", "id").writeTo(name).append()
    table.delete("id < 8").execute()
    if equality:
        table.delete_keys(keys(spark, 18, 19), "id", encoding="full-row", scope="global").execute()
    return table


def vector_of(table: rd.Table, partition: int) -> DeleteEntry:
    """The deletion vector of a partition."""
    snapshot = table.refresh().metadata.head("main")
    assert snapshot is not None
    files = read_snapshot_files(table._handle, snapshot)
    assert files is not None
    return next(entry for entry in files.position_deletes if entry.partition == (partition,))


def damage(entry: DeleteEntry, fault: str) -> None:
    """Extends a run beyond the last position of its container, or sets a flag of an unknown version."""
    path = Path(entry.path.removeprefix("file:"))
    data = bytearray(path.read_bytes())
    if fault == "flags":
        data[-5] |= 0x80
    else:
        start = entry.content_offset or 0
        end = start + (entry.content_size_in_bytes or 0)
        data[end - 8 : end - 6] = b"\xff\xff"
        data[end - 4 : end] = crc32(data[start + 4 : end - 4]).to_bytes(4, "big")
    path.write_bytes(data)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_vector_that_cannot_be_trusted_is_refused(
    spark: SparkSession, table_name: str, warehouse: Path, fault: str
) -> None:
    table = make(spark, table_name)
    broken = vector_of(table, 1)
    damage(broken, fault)
    table = rd.table(spark, table_name)
    before = head(table)
    verbs: dict[str, Callable[[], object]] = {
        "read": lambda: table.read(check_deletes=True),
        "an older state": lambda: table.read(snapshot_id=before, check_deletes=True),
        "debt": lambda: table.debt(check_deletes=True),
        "resolve": lambda: table.resolve(verify=False).execute(),
        "rewrite_deletes": lambda: table.rewrite_deletes(min_input_files=1, verify=False).execute(),
        "compact": lambda: table.compact(options={"rewrite-all": "true"}, verify=False).execute(),
        "compact of its partition": lambda: table.compact(data_files="p = 1", verify=False).execute(),
    }
    for verb, run in verbs.items():
        with pytest.raises(FormatError, match=FAULTS[fault]) as caught:
            run()
        assert broken.path in str(caught.value), verb
    assert head(table.refresh()) == before
    assert table.debt().positions == 8
    for command in (["read", "--check-deletes"], ["debt", "--check-deletes"]):
        asked = [command[0], table_name.removeprefix("lake."), "--warehouse", str(warehouse), *command[1:]]
        refused = CliRunner().invoke(app, asked)
        assert isinstance(refused.exception, FormatError)
        assert broken.path in refused.exception.message


def test_only_the_vectors_of_touched_partitions_are_read(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name, equality=False)
    broken = vector_of(table, 1)
    damage(broken, "runs")
    table = rd.table(spark, table_name)
    table.compact(data_files="p = 0", options={"rewrite-all": "true"}, verify=False).execute()
    assert_same_ids(table.read("p = 0"), [8, 10, 12, 14, 16, 18])
