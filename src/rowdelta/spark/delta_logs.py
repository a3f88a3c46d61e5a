"""The methods of Delta Lake's log whose arguments differ between its versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rowdelta.spark.jvm_packages import is_missing
from rowdelta.spark.versions import SPARK

if TYPE_CHECKING:
    from rowdelta.spark.gateway import Gateway


def read_delta_version(gateway: Gateway) -> str | None:
    """Returns the version of Delta Lake in a session; None if it does not say."""
    delta = gateway.jvm.io.delta
    return None if is_missing(getattr(delta, "package$")) else str(gateway.scala_object(delta, "package").VERSION())


def read_delta_snapshot(gateway: Gateway, log: Any, version: int) -> Any:
    """Returns an older snapshot of a Java log."""
    return SPARK.read_delta_snapshot(log, version, gateway.scala_object(gateway.jvm.scala, "None"))


def list_delta_commits(gateway: Gateway, log: Any, first: int, last: int) -> Any:
    """Returns a Scala iterator over the versions and the files of a range of commits."""
    return SPARK.list_delta_commits(log, first, last, gateway.scala_object(gateway.jvm.scala, "None"))
