from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from rich.console import Console

from rowdelta.debt import DeleteDebt, TableAdvice, format_advice, list_commands
from rowdelta.debt.advice import Advice
from rowdelta.debt.costs import ReadCost
from rowdelta.debt.debt_parts import FileDebt, KindDebt, PartitionDebt
from rowdelta.debt.history import Commit, OldSnapshots
from rowdelta.debt.pace import Pace
from rowdelta.debt.recommendation import Recommendation

if TYPE_CHECKING:
    from pathlib import Path


def debt(**changes: Any) -> DeleteDebt:
    iceberg, ours = ReadCost(6.6, 4 << 30), ReadCost(0.65, 3 << 20)
    numbers: dict[str, Any] = {
        "table": "lake.db.<orders>",
        "branch": "main",
        "snapshot_id": 7,
        "format_version": 3,
        "data_files": 30,
        "rows": 20_000_000,
        "bytes": 1 << 30,
        "files_with_deletes": 20,
        "delete_files": 8,
        "dangling_files": 2,
        "delete_bytes": 5 << 20,
        "positions": 1_000,
        "keys": 1_000_000,
        "key_columns": (("id",),),
        "oldest_delete_ms": 0,
        "readers": "v3 engines",
        "readers_reason": "all is standard",
        "scan_seconds": 0.6,
        "iceberg": iceberg,
        "rowdelta": ours,
        "kinds": (
            KindDebt("deletion vectors", "position", "deletion-vector", 3, 1_000, 1 << 20, 3, 0, 0, 0),
            KindDebt("equality delete files", "equality", "full-row", 5, 1_000_000, 4 << 20, 60, 2, 9, 0),
        ),
        "partitions": tuple(
            PartitionDebt(f"region=<r{n}>", 1, 10, 10, 1, 1, n, 1_000 * n, 5, iceberg, ours) for n in range(30, 0, -1)
        ),
        "files": tuple(FileDebt(f"w/data/f{n}", "p", 9, 9, 1, 0, 1, 2, 3, None, ours) for n in range(300)),
        "commits": tuple(
            Commit(n, n * 3_600_000, "append", 1, 0, 1, 0, 1, 0, 0, 9, 1, 1, n, 0, 9 * n) for n in range(20)
        ),
        "old_snapshots": OldSnapshots(20, 0, 0),
        "taken_at_ms": 86_400_000 * 3,
        "advice": (Advice("resolve", "<many> keys", 3.0, 6.6, 1 << 30, 0, "t.resolve().execute()", ("resolve",)),),
    }
    return DeleteDebt(**{**numbers, **changes})


def empty() -> DeleteDebt:
    nothing = {"kinds": (), "partitions": (), "files": (), "commits": (), "delete_files": 0, "dangling_files": 0}
    return debt(**nothing, keys=0, positions=0, oldest_delete_ms=None, advice=(Advice("nothing", "all is well"),))


def printed(found: DeleteDebt, width: int = 160) -> str:
    console = Console(width=width, color_system=None, highlight=False)
    with console.capture() as captured:
        found.show(console, top=3)
    return captured.get()


def test_the_text_names_cost_readers_partitions_and_advice() -> None:
    text = printed(debt())
    assert "lake.db.<orders>, branch main: 30 data files" in text
    assert "25% dangling" in text
    assert "the oldest 3.0 days old" in text
    assert re.search(r"Iceberg's reader +\+6\.6 s +4\.0 GiB", text)
    assert re.search(r"rowdelta +\+650 ms +3\.0 MiB", text)
    assert "partitions, 3 of 30" in text
    assert "data files with deletes, 3 of 300" in text
    assert re.search(r"resolve +<many> keys +about 3\.0 s +6\.6 s a scan, 1\.0 GiB of memory a reader", text)
    assert "region=<r27>" not in text
    assert "all is well" in printed(empty())
    assert "refuses to read" in printed(debt(iceberg=None))
    assert "t.resolve().execute()" in str(debt())
    long = replace(debt(), files=(replace(debt().files[0], path="w/" + "n" * 100, keys=123_456_789),))
    assert re.search(r"n… +9 +1 +1 +123,456,789 +refuses to read +\+650 ms", printed(long, 100))


def test_the_picture_is_drawn_in_the_format_of_its_name(tmp_path: Path) -> None:
    assert debt().plot(tmp_path / "debt.png").read_bytes().startswith(b"\x89PNG")
    drawn = ET.fromstring(empty().plot(str(tmp_path / "empty.svg")).read_text())
    assert drawn.tag.endswith("svg")


def test_the_page_stands_alone_and_escapes_what_it_shows(tmp_path: Path) -> None:
    for number, found in enumerate((debt(), empty())):
        page = found.to_html(tmp_path / f"{number}.html").read_text(encoding="utf-8")
        # Namespaces are names, not addresses to load from.
        links = re.findall(r"""(?:src|href)\s*=\s*["']?(?!#)[^"'> ]+|@import|url\((?!#)""", page)
        assert [link for link in links if not link.startswith("xlink")] == []
        assert "<script" not in page
        assert "<orders>" not in page
        assert "lake.db.&lt;orders&gt;" in page
        assert page.count("<svg") == page.count("</svg>") == 1
    page = (tmp_path / "0.html").read_text(encoding="utf-8")
    for expected in (
        "Deletes by partition",
        "Deletes over time",
        "Size by encoding",
        "&lt;many&gt; keys",
        "200 of 300",
    ):
        assert expected in page


def test_advice_is_printed_with_commands_that_a_shell_understands() -> None:
    item = Recommendation(
        "encoding", "vectors [fast]", "often", "small", ("ALTER TABLE t SET ('a'='b')",), (("resolve", "--plan"),)
    )
    advice = TableAdvice("db.t", Pace(3, 20.0, 2, 5, 2, 0, 0, 0), (item,))
    assert list_commands("db.t", item, ("--warehouse", "w")) == [
        """rowdelta sql 'ALTER TABLE t SET ('"'"'a'"'"'='"'"'b'"'"')' --warehouse w""",
        "rowdelta resolve db.t --plan --warehouse w",
    ]
    console = Console(width=200, color_system=None, highlight=False)
    with console.capture() as captured:
        console.print(format_advice(advice, ("--warehouse", "w")))
    text = captured.get()
    assert "the last 3 commits, one every 10.0 s; 2 changed single rows (5 keys, 0 positions)" in text
    assert "encoding: vectors [fast]" in text
    assert "  rowdelta resolve db.t --plan --warehouse w" in text
