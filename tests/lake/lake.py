"""One Spark session on a cluster, with every component as a catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

import rowdelta as rd
from tests.lake.components import NAMESPACE, Components
from tests.lake.servers.java import JVM_OPTIONS
from tests.lake.servers.server import HOST

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

# A verb that needs Python on an executor fails: there is no such program.
NO_PYTHON: Final = "no-python-for-executors"


class Lake:
    """The components, and a session that uses them.

    Attributes:
        components: The servers.
        spark: The session. Its executors are processes of the cluster.
    """

    def __init__(self, folder: Path) -> None:
        self.components = Components(folder)
        try:
            self.spark = self._start_spark(folder)
        except BaseException:
            self.components.stop()
            raise

    def _start_spark(self, folder: Path) -> SparkSession:
        config: dict[str, str | int | bool] = {
            "spark.master": self.components.cluster.address,
            "spark.driver.host": HOST,
            "spark.driver.memory": "2g",
            "spark.executor.memory": "800m",
            "spark.executor.extraJavaOptions": " ".join(JVM_OPTIONS),
            "spark.pyspark.python": NO_PYTHON,
            "spark.sql.shuffle.partitions": 2,
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": str(folder / "spark"),
            "spark.databricks.delta.snapshotPartitions": 1,
            **self.components.settings,
        }
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("PYSPARK_PYTHON", NO_PYTHON)  # PySpark tells executors this name
            return rd.session(config=config, delta=True)

    def stop(self) -> None:
        """Stops Spark, and then every server, even if Spark does not stop."""
        try:
            self.spark.stop()
        finally:
            self.components.stop()

    def use(self, component: str) -> None:
        """Makes a component ready, or skips the test with the command that gets it."""
        missing = self.components.missing.get(component)
        if missing is not None:
            pytest.skip(str(missing))
        self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {component}.{NAMESPACE}")
