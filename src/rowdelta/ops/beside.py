"""Plans that are made while a job runs: either waits for Spark, and neither needs the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from rowdelta.iceberg.gateway import Gateway

X = TypeVar("X")
Y = TypeVar("Y")


def beside(gateway: Gateway, job: Callable[[], X], plan: Callable[[], Y]) -> tuple[X, Y]:
    """Runs a job here, where an interruption reaches it, and makes a plan in another thread; its error comes first."""

    def made() -> Y:
        gateway.activate()
        return plan()

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(made)
        try:
            found = job()
        finally:
            planned = future.result()
        return found, planned
