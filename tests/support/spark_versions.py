"""A pytest plugin that skips tests which cannot hold on the running version of Spark, with the reason."""

from __future__ import annotations

from typing import Final

import pytest

from rowdelta.spark import RELEASE

SPARK_4_SYNTAX: Final = pytest.mark.spark4("its grammar lacks this syntax")
_OLDEST: Final = (4, 0)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    marker = item.get_closest_marker("spark4")
    if marker is not None and RELEASE.spark < _OLDEST:
        pytest.skip(f"Spark {RELEASE.name}: {marker.args[0]}")
