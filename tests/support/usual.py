"""Cases of a slow module that every test run has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable


def usual(cases: Iterable[Any], *some: Any) -> list[Any]:
    """Cases for `pytest.mark.parametrize`, some of them (or the first) marked as usual.

    Examples:
        >>> [bool(case.marks) for case in usual(["a", "b"], "b")]
        [False, True]
    """
    found = list(cases)
    chosen = some or found[:1]
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)), marks=[pytest.mark.usual] if case in chosen else []
        )
        for case in found
    ]
