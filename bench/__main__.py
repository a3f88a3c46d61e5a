"""`make bench`: every benchmark in one run."""

from __future__ import annotations

import argparse
import logging
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import rowdelta as rd
from bench import cdc, changes, codec, delta, equality, maintenance, report
from bench.data import SCALES

if TYPE_CHECKING:
    from bench.measure import Measure

RESULTS = Path(__file__).with_name("results.json")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--scale", choices=SCALES, default="small")
    sections_known = ("codec", "equality", "changes", "cdc", "maintenance", "delta")
    parser.add_argument("--only", choices=sections_known, help="one benchmark instead of all")
    arguments = parser.parse_args()
    scale, only = arguments.scale, arguments.only
    logging.getLogger("rowdelta").setLevel(logging.ERROR)
    if only in {None, "codec"}:
        codec.main()
    with tempfile.TemporaryDirectory(prefix="rowdelta-bench-", ignore_cleanup_errors=True) as folder:
        sections: dict[str, list[Measure]] = {}
        spark = rd.session(Path(folder) / "warehouse", delta=True, config={"spark.driver.memory": "10g"})
        if only in {None, "equality"}:
            sections["equality deletes"] = equality.run(spark, scale)
        if only in {None, "changes"}:
            sections["changes"] = changes.run(spark, scale, Path(folder))
        if only in {None, "cdc"}:
            sections["change data capture"] = cdc.run(spark, scale, Path(folder))
        if only in {None, "maintenance"}:
            sections["maintenance"] = maintenance.run(spark, scale)
        if only in {None, "delta"}:
            sections["Delta to Iceberg"] = delta.run(spark, scale, Path(folder))
        spark.stop()
    for name, measures in sections.items():
        print(f"\n{name}, {SCALES[scale]:,} rows x 8 columns\n{report.markdown(measures)}")
    report.write(RESULTS, scale, sections)


if __name__ == "__main__":
    main()
