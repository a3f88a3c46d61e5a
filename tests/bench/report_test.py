from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bench import growth, pictures, report
from bench.measure import Measure, Timing, ratio

if TYPE_CHECKING:
    from pathlib import Path


def growing() -> list[Measure]:
    """A growth section of two sizes and two numbers of keys."""
    found = []
    charts = {name: growth.Chart(name, name) for name in ("upsert", "read", "resolve", "deletes")}
    for size in (10, 20):
        quick, slow = Timing((0.1, 0.2)), Timing((0.3 * size, 0.4 * size))
        found += [
            charts["upsert"].point(size, "upsert", ("Iceberg MERGE", slow), ("rowdelta upsert", quick)),
            charts["read"].point(size, "read", (growth.ICEBERG, slow), ("rowdelta", quick)),
            charts["resolve"].point(size, "resolve", ("resolve", slow), ("Iceberg's scan of the keys", quick)),
            charts["deletes"].point(size, "read", (growth.ICEBERG, slow), ("rowdelta, vectors", quick)),
        ]
    return found


def test_a_run_of_one_section_keeps_the_others_of_its_scale(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    first = report.load(path, "large")
    report.add(first, "cdc", "Change data capture", [Measure("upsert", 4.0)])
    report.add(first, "codec", "Codec", [Measure("build", 14.0, unit="ms")])
    report.write(first, path)
    second = report.load(path, "large")
    report.add(second, "cdc", "Change data capture", [Measure("upsert", 5.0)])
    assert {name: [m["value"] for m in some["measures"]] for name, some in second["sections"].items()} == {
        "cdc": [5.0],
        "codec": [14.0],
    }
    assert report.load(path, "small")["sections"] == {}


@pytest.mark.parametrize(
    ("goal", "value", "met"),
    [
        (">= 5", 5.0, True),
        (">= 5", 4.99, False),
        ("<= 1.2", 1.2, True),
        ("<= 1.2", 1.21, False),
        ("none", 0.0, True),
        ("none", 0.1, False),
        ("bounded", 3.0, None),
        ("", 3.0, None),
    ],
)
def test_a_goal_is_met_or_not_or_left_to_the_reader(goal: str, value: float, met: bool | None) -> None:  # noqa: FBT001
    assert report.met_goal(vars(Measure("x", value, goal))) is met


def test_a_table_shows_ratio_range_goal_times_and_runs() -> None:
    measure = ratio("MERGE / upsert", Timing((6.0, 5.0, 8.0), 3), Timing((1.0, 2.0, 2.0), 3), ">= 10")
    line = report.table([vars(measure)]).splitlines()[-1]
    assert line == "| MERGE / upsert | 5.0 | 2.5 to 6.0 | >= 10 | **no** | 5.00 / 1.00 | 3 + 3 |"


def test_the_text_counts_the_goals_and_names_the_versions_of_the_peers(tmp_path: Path) -> None:
    found = report.load(tmp_path / "none", "small")
    report.add(found, "cdc", "Change data capture", [Measure("a", 4.0, ">= 5"), Measure("b", 1.0, "<= 2")])
    text = report.markdown(found)
    assert "1 of 2 goals are met" in text
    for name in ("cores", "java", "pyspark", "iceberg", "delta-spark", "pyiceberg", "deltalake", "duckdb"):
        assert name in text


def test_both_pictures_are_drawn_from_the_growth_section(tmp_path: Path) -> None:
    found: dict[str, Any] = report.load(tmp_path / "none", "small")
    report.add(found, "growth", "Growth", growing())
    drawn = pictures.draw(found["sections"]["growth"], tmp_path)
    assert [path.name for path in drawn] == ["bench.png", "growth.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)


def test_an_upsert_that_is_resolved_at_once_costs_both_times() -> None:
    charts = pictures.charts_of([vars(measure) for measure in growing()])
    both = pictures.with_resolve(charts["upsert"], charts["resolve"])
    assert both.lines["rowdelta upsert, then resolve"][20] == pytest.approx([6.1, 8.2])
