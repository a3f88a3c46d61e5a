"""Makes a plan in a second thread while a Spark job runs: both mostly wait, and neither needs the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark import inheritable_thread_target

if TYPE_CHECKING:
    from collections.abc import Callable

    from rowdelta.spark.gateway import Gateway

JobResult = TypeVar("JobResult")
Plan = TypeVar("Plan")


def plan_during_job(gateway: Gateway, job: Callable[[], JobResult], plan: Callable[[], Plan]) -> tuple[JobResult, Plan]:
    """Runs a job in this thread, where an interrupt reaches it, and makes a plan in another thread.

    If both fail, it raises the plan's error; an interrupt takes precedence over both.
    """

    def make_plan() -> Plan:
        gateway.activate()
        return plan()

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(_inherit_properties(gateway, make_plan))
        try:
            result = job()
        except Exception:
            future.result()
            raise
        return result, future.result()


def _inherit_properties(gateway: Gateway, plan: Callable[[], Plan]) -> Callable[[], Plan]:
    """Makes the plan's jobs inherit the caller's tags and properties, if Python threads have their own Java threads."""
    inherit: Any = inheritable_thread_target(gateway.spark)
    inheriting: Callable[[], Plan] = inherit(plan) if callable(inherit) else plan
    return inheriting
