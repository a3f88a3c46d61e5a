"""A standalone Spark cluster of two workers, from the PySpark of this environment."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from typing import TYPE_CHECKING, Final

from tests.lake.servers.java import JVM_OPTIONS, SPARK_HOME
from tests.lake.servers.server import HOST, Server, find_free_port

if TYPE_CHECKING:
    from pathlib import Path

WORKERS: Final = 2
_EXECUTOR: Final = re.compile(r"CoarseGrainedExecutorBackend .*--executor-id (\d+)")


class Cluster:
    """A master and its workers.

    Attributes:
        address: The URL of the master.
    """

    def __init__(self, folder: Path) -> None:
        port = find_free_port()
        self.address = f"spark://{HOST}:{port}"
        # Nothing of the driver's Python environment: executors need neither Python nor rowdelta.
        env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYSPARK", "SPARK"))}
        env |= {
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": " ".join([*JVM_OPTIONS, "-Dspark.master.rest.enabled=false"]),
            "SPARK_WORKER_OPTS": "-Dspark.worker.cleanup.enabled=true",
        }
        launcher = str(SPARK_HOME / "bin" / "spark-class")
        here = ["--host", HOST, "--webui-port", "0"]
        master = [launcher, "org.apache.spark.deploy.master.Master", *here, "--port", str(port)]
        self.server = Server("master", master, folder, port, env)
        worker = [launcher, "org.apache.spark.deploy.worker.Worker", *here, "--cores", "1", "--memory", "1200m"]
        self.workers = [
            Server(name, [*worker, "--work-dir", str(folder / name), self.address], folder, 0, env)
            for name in (f"worker{number}" for number in range(WORKERS))
        ]

    def wait(self) -> None:
        """Waits for the master, and starts the workers."""
        self.server.wait_for_port()
        for worker in self.workers:
            worker.start()
        for worker in self.workers:
            worker.wait_for_log("registered with master")

    def stop(self) -> None:
        """Stops the workers with their executors, and the master."""
        for server in (*self.workers, self.server):
            server.stop()

    def list_executors(self) -> dict[str, int]:
        """Lists the processes of the executors, by Spark's id of each."""
        groups = {str(worker.process.pid) for worker in self.workers if worker.process is not None}
        listed = subprocess.run(
            ["ps", "-ww", "-eo", "pid=,pgid=,args="], check=True, capture_output=True, text=True
        ).stdout
        found: dict[str, int] = {}
        for line in listed.splitlines():
            pid, group, arguments = line.split(maxsplit=2)
            executor = _EXECUTOR.search(arguments)
            if group in groups and executor is not None:
                found[executor[1]] = int(pid)
        return found

    @staticmethod
    def kill(process: int) -> None:
        """Kills an executor, which gets no chance to clean up."""
        os.kill(process, signal.SIGKILL)
