"""Run the benchmarks (`make bench`): compare rowdelta with other systems, and write tables, JSON and pictures."""

from __future__ import annotations

import argparse
import logging
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rowdelta as rd
from bench import cdc, changes, churn, codec, delta, equality, growth, maintenance, pictures, report, upserts
from bench.data import SCALES

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from bench.measure import Measure

HERE = Path(__file__).parent
# The docs show the report for this scale, and it is under version control. Reports for other scales are not.
PUBLISHED = "large"


@dataclass
class Run:
    """The settings and the Spark session that the sections of a run share."""

    scale: str
    folder: Path
    rows_up_to: int | None
    ending: ExitStack

    @cached_property
    def spark(self) -> SparkSession:
        """One Spark session for all sections; the first section that needs it starts it."""
        spark = rd.session(self.folder / "warehouse", delta=True, config={"spark.driver.memory": "10g"})
        self.ending.callback(spark.stop)
        return spark


Section = tuple[str, "Callable[[Run], list[Measure]]"]
SECTIONS: dict[str, Section] = {
    "codec": ("Codec", lambda _: codec.run()),
    "equality": ("Equality deletes", lambda run: equality.run(run.spark, run.scale)),
    "changes": ("Changes", lambda run: changes.run(run.spark, run.scale, run.folder)),
    "upserts": ("Upserts that look the old rows up", lambda run: upserts.run(run.spark, run.scale)),
    "churn": ("Churn of hot keys", lambda run: churn.run(run.spark, run.scale)),
    "cdc": ("Change data capture", lambda run: cdc.run(run.spark, run.scale, run.folder)),
    "maintenance": ("Maintenance", lambda run: maintenance.run(run.spark, run.scale)),
    "delta": ("Delta to Iceberg", lambda run: delta.run(run.spark, run.scale, run.folder)),
    "growth": ("Growth", lambda run: growth.run(run.spark, run.scale, run.rows_up_to)),
}
DRAWN: dict[str, Callable[[dict[str, Any], Path], list[Path]]] = {"growth": pictures.draw, "churn": churn.draw}


def main() -> None:
    arguments = _arguments()
    scale, chosen = arguments.scale, arguments.only or list(SECTIONS)
    logging.getLogger("rowdelta").setLevel(logging.ERROR)
    with ExitStack() as ending:
        folder = tempfile.TemporaryDirectory(prefix="rowdelta-bench-", ignore_cleanup_errors=True)
        run = Run(scale, Path(ending.enter_context(folder)), arguments.rows_up_to, ending)
        for name in chosen:
            title, measure = SECTIONS[name]
            measures = measure(run)
            print(f"\n{title}\n\n{report.table([vars(one) for one in measures])}", flush=True)
            # Publish each section at once, so that a later failure does not lose it.
            for path in _publish(scale, name, title, measures):
                print(path)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--scale", choices=SCALES, default="small")
    help_only = f"the sections to run: {', '.join(SECTIONS)}"
    parser.add_argument("--only", choices=SECTIONS, nargs="+", metavar="SECTION", help=help_only)
    help_up_to = f"grow the table of the section `growth` to this size, at most {growth.SIZES[-1]} times the scale"
    parser.add_argument("--rows-up-to", type=int, metavar="ROWS", help=help_up_to)
    return parser.parse_args()


def _publish(scale: str, name: str, title: str, measures: list[Measure]) -> list[Path]:
    """Adds a section to the report for a scale, and writes the report as JSON, text and pictures."""
    folder = HERE if scale == PUBLISHED else HERE / "out" / scale
    images = HERE.parent / "docs" / "images" if scale == PUBLISHED else folder
    results = folder / "results.json"
    scale_report = report.load(results, scale)
    report.add(scale_report, name, title, measures)
    sections = scale_report["sections"]
    scale_report["sections"] = {section: sections[section] for section in SECTIONS if section in sections}
    report.write(scale_report, results)
    text = results.with_suffix(".md")
    text.write_text(report.markdown(scale_report))
    drawn = DRAWN[name](sections[name], images) if name in DRAWN else []
    return [results, text, *drawn]


if __name__ == "__main__":
    main()
