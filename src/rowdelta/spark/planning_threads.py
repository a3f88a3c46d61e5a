"""Makes a plan in a second thread while a Spark job runs: both mostly wait, and neither needs the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from rowdelta.spark.versions import SPARK

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
        future = pool.submit(SPARK.inherit_properties(gateway.spark, make_plan))
        try:
            result = job()
        except Exception:
            future.result()
            raise
        return result, future.result()
