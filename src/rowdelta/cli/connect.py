"""Starts Spark and opens tables for the catalog options of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from rowdelta._session import session
from rowdelta._table import table
from rowdelta.cli.catalog_options import CATALOG
from rowdelta.errors import TableError
from rowdelta.spark import remove_at_exit_if_empty, split_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rowdelta._table import Table
    from rowdelta.cli.catalog_options import Place


def open_spark(place: Place, *, delta: bool = False, make: bool = False) -> SparkSession:
    """Starts Spark with the catalogs of a place.

    Args:
        place: Where the tables are.
        delta: Also load Delta Lake.
        make: Create the folder of the warehouse if it is missing; it is removed at the end if it stays empty.
    """
    if place.warehouse is None and not place.settings:
        raise typer.BadParameter("say where the tables are: --warehouse FOLDER, --catalog-config FILE or --conf")
    if place.warehouse is not None and not place.warehouse.is_dir():
        if not make:
            raise TableError(
                f"no warehouse at {place.warehouse}",
                hint="name the folder that holds the namespaces; rowdelta sql 'CREATE ...' makes a new one",
            )
        remove_at_exit_if_empty(place.warehouse.absolute())
    return session(place.warehouse, CATALOG, delta=delta, config=place.settings)


def open_table(name: str, place: Place, branch: str = "main") -> Table:
    """Opens a table; the name of the default catalog is optional."""
    spark = open_spark(place)
    return table(spark, full_name(spark, name, place), branch)


def full_name(spark: SparkSession, name: str, place: Place) -> str:
    """Completes the name of a table with its catalog."""
    parts = split_name(name)
    catalog = parts[0]
    default = place.default_catalog
    if catalog == "spark_catalog" or spark.conf.get(f"spark.sql.catalog.{catalog}", None) is not None:
        return name
    if default is not None and (default == CATALOG or len(parts) <= 2):  # noqa: PLR2004 - namespace and table
        return f"{default}.{name}"
    raise TableError(
        f"catalog {catalog!r} is not configured" if len(parts) > 1 else f"{name!r} does not say which catalog it is in",
        hint="a table is catalog.namespace.table, and a catalog needs the setting "
        "spark.sql.catalog.<catalog>=org.apache.iceberg.spark.SparkCatalog and its type and address",
    )
