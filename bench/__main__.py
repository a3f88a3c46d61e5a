"""`make bench`: every benchmark in one run."""

from __future__ import annotations

import argparse
import logging
import tempfile
from pathlib import Path

import rowdelta as rd
from bench import codec, equality, report
from bench.data import SCALES

RESULTS = Path(__file__).with_name("results.json")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--scale", choices=SCALES, default="small")
    scale = parser.parse_args().scale
    logging.getLogger("rowdelta").setLevel(logging.ERROR)
    codec.main()
    with tempfile.TemporaryDirectory(prefix="rowdelta-bench-", ignore_cleanup_errors=True) as folder:
        spark = rd.session(folder, config={"spark.driver.memory": "10g"})
        sections = {"equality deletes": equality.run(spark, scale)}
        spark.stop()
    for name, measures in sections.items():
        print(f"\n{name}, {SCALES[scale]:,} rows x 8 columns\n{report.markdown(measures)}")
    report.write(RESULTS, scale, sections)


if __name__ == "__main__":
    main()
