"""Plans that are made while a job runs: either waits for Spark, and neither needs the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from pyspark import inheritable_thread_target

if TYPE_CHECKING:
    from collections.abc import Callable

    from rowdelta.iceberg.gateway import Gateway

X = TypeVar("X")
Y = TypeVar("Y")


def beside(gateway: Gateway, job: Callable[[], X], plan: Callable[[], Y]) -> tuple[X, Y]:
    """Runs a job here, where an interruption reaches it, and makes a plan in another thread.

    Where both fail, the plan's error is raised; an interruption comes before either.
    """

    def made() -> Y:
        gateway.activate()
        return plan()

    with ThreadPoolExecutor(1) as pool:
        as_caller = inheritable_thread_target(gateway.spark)  # any job of it belongs to those of the caller
        future = pool.submit(as_caller(made))
        try:
            found = job()
        except Exception:
            future.result()
            raise
        return found, future.result()
