"""Runs the code of README and docs from top to bottom, each page in its own folder."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from scripts.support_table import README
from tests.support.examples import DOCS, EVENTS, blocks, inside, run
from tests.support.oracle import assert_same_rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

# What a page assumes: a session, a table `t`, changes of it, and some events.
GIVEN = """
from datetime import timedelta
from pyspark.sql import functions as F
import rowdelta as rd

spark = rd.session("warehouse", delta=True)
spark.sql('''
    CREATE TABLE lake.db.orders (
        id bigint NOT NULL, status string, amount double, region string, tag string, ts timestamp
    ) USING iceberg TBLPROPERTIES ('format-version'='3', 'write.delete.equality-vector.enabled'='true')
''')
rows = spark.range(0, 200, 1, 4).selectExpr(
    "id", "if(id = 150, 'void', 'new') AS status", "id * 10.0D AS amount", "if(id < 150, 'US', 'EU') AS region",
    "'' AS tag", "timestamp'2024-01-01' AS ts",
)
rows.writeTo("lake.db.orders").append()
spark.sql("ALTER TABLE lake.db.orders CREATE BRANCH ingest")
t = rd.table(spark, "lake.db.orders")
changes = spark.sql('''
    SELECT bigint(id) AS id, status, amount, 'EU' AS region, '' AS tag, timestamp(ts) AS ts, op FROM VALUES
    (101, 'paid', 10.0D, '2024-02-01', 'U'), (102, 'new', 0.0D, '2024-02-02', 'D'),
    (700, 'new', 5.0D, '2024-02-03', 'I') AS c(id, status, amount, ts, op)
''')
"""
STANDARD = "spark.sql(\"ALTER TABLE lake.db.orders UNSET TBLPROPERTIES ('write.delete.equality-vector.enabled')\")\n"
# The state in which each page starts.
RUN = {
    "index.md": GIVEN,
    "changes.md": GIVEN,
    "changes-feed.md": GIVEN,
    "equality-deletes.md": GIVEN + STANDARD,
    "sql.md": GIVEN,
    "cdc.md": GIVEN,
    "maintenance.md": GIVEN + "changes = changes.drop('op')\n",
    "delta.md": "import rowdelta as rd\nrd.session('warehouse').range(5).write.format('delta').save('data/orders')\n",
}
# A block of Python, and the output that follows it at once.
CODE = re.compile(r"^```python\n(.*?)^```$(?:\s*^```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
# Code that needs a catalog somewhere else, a scheduler, or a Spark of its own.
NOT_HERE = {"orchestration.md", "own-spark.md", "spark-connect.md"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with Debezium events."""
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "1.json").write_text(EVENTS)
    return tmp_path


def run_text(page: str, text: str, names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Runs the code of a page, and compares what it prints with the output that is shown right below it."""
    capsys.readouterr()
    for source, output in CODE.findall(text):
        run(source, page, names)
        printed = capsys.readouterr().out
        if output:
            assert without_sizes(printed).strip() == without_sizes(output).strip()
    for query in names["spark"].streams.active:
        while query.isActive and query.lastProgress is None:
            time.sleep(0.05)
        assert query.exception() is None
        query.stop()


def without_sizes(text: str) -> str:
    """The size of a Parquet file is another with each version of its writer."""
    return re.sub(r"(?m)^( *bytes +)[\d,]+", r"\1…", text)


def test_all_code_of_the_pages_is_run_or_compiled() -> None:
    pages = {page.name for page in DOCS.glob("*.md") if blocks(page, "python")}
    # docs/api.md is what the doctests start from; examples.md shows examples/, which have tests of their own.
    assert pages == {*RUN, "getting-started.md", "api.md", "examples.md", *NOT_HERE}
    for name in NOT_HERE:
        for _, source in blocks(DOCS / name, "python"):
            compile(source, name, "exec")


@pytest.mark.parametrize("page", RUN)
def test_the_code_of_a_page_runs(
    spark: SparkSession, folder: Path, capsys: pytest.CaptureFixture[str], page: str
) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    # A worked example starts from nothing.
    guide, _, worked = text.partition("## A worked example")
    names: dict[str, Any] = {}
    with inside(spark, folder):
        run(RUN[page], "given", names)
        run_text(page, guide, names, capsys)
    (folder / "worked").mkdir()
    if worked:
        with inside(spark, folder / "worked"):
            run_text(page, worked, {}, capsys)


def test_the_first_steps_print_what_they_show(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = DOCS / "getting-started.md"
    assert len(blocks(page, "text")) >= 3
    with inside(spark, tmp_path):
        run_text(page.name, page.read_text(encoding="utf-8"), {}, capsys)


def test_the_examples_of_the_readme_run(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):  # a notebook is run again and again
        names: dict[str, Any] = {}
        with inside(spark, tmp_path):
            run_text("README.md", README.read_text(encoding="utf-8"), names, capsys)
            own = names["spark"]
            found = own.sql("SELECT id, status, amount FROM lake.db.orders WHERE id IN (1, 2, 3, 5, 7, 1000)")
            assert_same_rows(found, [(1, "shipped", 10.0), (3, "paid", 30.0), (7, "new", 0.0), (1000, "new", 5.0)])
            assert own.table("lake.db.mirror").count() == 1000
    assert not list(tmp_path.iterdir()), "nothing is left in the current folder"
