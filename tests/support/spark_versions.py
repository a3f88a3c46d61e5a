"""A pytest plugin that skips tests which cannot hold on the running version of Spark, with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from rowdelta.spark import RELEASE

if TYPE_CHECKING:
    from pathlib import Path

SPARK_4_SYNTAX: Final = pytest.mark.spark4("its grammar lacks this syntax")
_OLDEST: Final = (4, 0)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leaves out the module of another version, which cannot be imported."""
    other = "spark_4_1.py" if RELEASE.spark < _OLDEST else "spark_3_5.py"
    return True if collection_path.name == other else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    marker = item.get_closest_marker("spark4")
    if marker is not None and RELEASE.spark < _OLDEST:
        pytest.skip(f"Spark {RELEASE.name}: {marker.args[0]}")
