"""The command line prints days outside the range of Python's dates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.cli.run_operation import show_frame

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession


def test_days_that_python_does_not_know_are_printed(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    frame = spark.sql("SELECT 1 id, DATE'+12345-01-01' d, TIMESTAMP_NTZ'-0001-12-31 01:02:03' n, DATE'2024-01-31' e")
    show_frame(frame, 5, as_json=True)
    show_frame(frame, 5, as_json=False)
    shown = capsys.readouterr().out
    for text in ("+12345-01-01", "-0001-12-31 01:02:03", "2024-01-31"):
        assert shown.count(text) == 2, shown
