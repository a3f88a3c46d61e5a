"""Plans that are made while a job runs: either waits for Spark, and neither needs the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark import inheritable_thread_target

if TYPE_CHECKING:
    from collections.abc import Callable

    from rowdelta.spark.gateway import Gateway

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
        future = pool.submit(_as_caller(gateway, made))
        try:
            found = job()
        except Exception:
            future.result()
            raise
        return found, future.result()


def _as_caller(gateway: Gateway, plan: Callable[[], Y]) -> Callable[[], Y]:
    """Any job of the plan belongs to those of the caller, as far as Python's threads have their own in Java."""
    inherit: Any = inheritable_thread_target(gateway.spark)
    found: Callable[[], Y] = inherit(plan) if callable(inherit) else plan
    return found
