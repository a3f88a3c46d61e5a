"""`rd.session()`: starts a local Spark with an Iceberg catalog in a folder."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlparse

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rowdelta.errors import SessionError
from rowdelta.spark import RELEASE, check_spark, find_running_context, launch_spark

if TYPE_CHECKING:
    from collections.abc import Mapping


ICEBERG_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
DELTA_EXTENSIONS = "io.delta.sql.DeltaSparkSessionExtension"
DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
GIB = 1 << 30
_LISTS = ("spark.jars.packages", "spark.sql.extensions")


def session(
    warehouse: str | os.PathLike[str] | None = None,
    catalog: str = "lake",
    *,
    delta: bool = False,
    config: Mapping[str, str | int | bool] | None = None,
) -> SparkSession:
    """Starts a local Spark with an Iceberg catalog of type `hadoop` in a folder.

    If Spark already runs in this process, a new session of it gets the catalog. That Spark must have been started with
    Iceberg (and with Delta, for `delta=True`).

    Args:
        warehouse: The folder (or URI) of the catalog; a missing folder is created. By default there are only the
            catalogs that `config` describes.
        catalog: The catalog's name in SQL, as in `lake.db.orders`.
        delta: Also load Delta Lake into the session.
        config: Further Spark settings, which win over ours. Iceberg's package and extensions are added to the lists
            in these settings, unless the lists contain them.

    Returns:
        The session. `spark.stop()` ends it.

    Raises:
        SessionError: Java cannot be started, a package cannot be loaded, or the running Spark has no Iceberg or Delta.

    Examples:
        >>> spark = rd.session("warehouse")
        >>> _ = spark.sql("CREATE TABLE lake.db.customers (id bigint, name string) USING iceberg")
        >>> rd.table(spark, "lake.db.customers").metadata.format_version
        2
    """
    if not catalog.isidentifier():
        raise SessionError(f"catalog name {catalog!r} is not a plain identifier", hint="use a name such as 'lake'")
    catalog_settings = {} if warehouse is None else _make_catalog_settings(catalog, warehouse)
    settings = catalog_settings | {key: _format_setting(value) for key, value in (config or {}).items()}
    running = find_running_context()
    if running is not None:
        return _join_session(SparkSession(running), settings, delta=delta)
    check_spark(pyspark.__version__)
    return launch_spark(_merge_settings(_make_start_settings(delta=delta), settings))


def _make_catalog_settings(catalog: str, warehouse: str | os.PathLike[str]) -> dict[str, str]:
    location = os.fspath(warehouse)
    if not urlparse(location).scheme:
        folder = Path(location).expanduser().absolute()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SessionError(f"cannot create the warehouse folder {folder}: {error.strerror}") from error
        location = str(folder)
    prefix = f"spark.sql.catalog.{catalog}"
    return {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.type": "hadoop",
        f"{prefix}.warehouse": location,
    }


def _make_start_settings(*, delta: bool) -> dict[str, str]:
    settings = {
        "spark.master": "local[*]",
        "spark.app.name": "rowdelta",
        "spark.jars.packages": ",".join(_list_packages(delta=delta)),
        # On Spark 3.5, Iceberg's rules fail on an UPDATE of a Delta table that Delta's rules have not replaced before.
        "spark.sql.extensions": ",".join([*([DELTA_EXTENSIONS] if delta else []), ICEBERG_EXTENSIONS]),
        "spark.driver.memory": f"{_choose_driver_memory()}g",
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        # Spark keeps what its web interface would show even without it; that grows with every batch of a stream.
        "spark.sql.ui.retainedExecutions": "20",
        "spark.ui.retainedJobs": "20",
        "spark.ui.retainedStages": "20",
        "spark.ui.retainedTasks": "100",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": str(max(4, 2 * (os.cpu_count() or 1))),
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
    }
    if delta:
        settings["spark.sql.catalog.spark_catalog"] = DELTA_CATALOG
    return settings


def _list_packages(*, delta: bool) -> list[str]:
    return [RELEASE.iceberg_package, *([RELEASE.delta] if delta else [])]


def _merge_settings(ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, str]:
    """Merges settings: the caller's win, and their lists get our packages and extensions unless they contain them."""
    merged = {**ours, **theirs}
    provided = " ".join(theirs.get(key, "") for key in ("spark.jars", "spark.driver.extraClassPath", *_LISTS))
    for key in _LISTS:
        if theirs.get(key) != "":  # an empty list says that the cluster has everything
            added = [item for item in ours[key].split(",") if _read_artifact(item) not in provided]
            merged[key] = ",".join([*filter(None, [theirs.get(key)]), *added])
    return merged


def _read_artifact(item: str) -> str:
    """Returns the name of a package without its versions, or the class name of an extension.

    Examples:
        >>> _read_artifact("io.delta:delta-spark_4.1_2.13:4.4.0"), _read_artifact("a.b.Extension")
        ('delta-spark', 'a.b.Extension')
    """
    _, colon, name = item.partition(":")
    return re.split(r"[-_]?\d", name)[0] if colon else item


def _choose_driver_memory() -> int:
    """Returns half of the machine's memory, between 1 and 8 GiB: a local Spark is one process."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):  # Windows has no sysconf
        return 2
    return int(min(max(total // 2 // GIB, 1), 8))


def _join_session(running: SparkSession, settings: Mapping[str, str], *, delta: bool) -> SparkSession:
    extensions = running.conf.get("spark.sql.extensions", "") or ""
    wanted = [ICEBERG_EXTENSIONS, *([DELTA_EXTENSIONS] if delta else [])]
    missing = [name for name in wanted if name not in extensions]
    if missing:
        raise SessionError(
            f"a Spark is already running without {' and '.join(missing)}",
            hint="call spark.stop() first, or start your own with these in spark.sql.extensions and the packages "
            f"{' and '.join(_list_packages(delta=delta))}",
        )
    joined = running.newSession()
    for key, value in settings.items():
        if joined.conf.get(key, None) == value:
            continue
        try:
            joined.conf.set(key, value)
        except PySparkException as error:
            raise SessionError(
                f"{key} cannot be changed to {value!r} while Spark runs", hint="call spark.stop() before rd.session()"
            ) from error
    return joined


def _format_setting(value: str | int | bool) -> str:  # noqa: FBT001 - a setting's value, not a switch
    return str(value).lower() if isinstance(value, bool) else str(value)
