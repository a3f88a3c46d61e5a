"""Creates and drops tables through Iceberg's own catalogs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rowdelta.errors import TableError
from rowdelta.iceberg.metadata_document import make_schema
from rowdelta.spark import Gateway, JavaError, read_java_message, read_java_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession


class NewTable:
    """A table to be created: its location, and the calls that create it."""

    def __init__(self, spark: SparkSession, name: str, fields: Sequence[Mapping[str, Any]]) -> None:
        self._gateway = Gateway(spark)
        self._name = name
        iceberg, session = self._gateway.iceberg, self._gateway.session
        try:
            parsed = iceberg.spark.Spark3Util.catalogAndIdentifier(session, name)
            self._catalog = iceberg.spark.Spark3Util.loadIcebergCatalog(session, parsed.catalog().name())
            self._identifier = iceberg.spark.Spark3Util.identifierToTableIdentifier(parsed.identifier())
            self._schema = iceberg.SchemaParser.fromJson(json.dumps(make_schema(fields)))
        except JavaError as error:
            raise _translate_error(name, error) from error

    def exists(self) -> bool:
        """Whether a table of this name exists."""
        return bool(self._catalog.tableExists(self._identifier))

    def location(self, wanted: str | None = None) -> str:
        """Returns the folder that the catalog would give the table. Nothing is created."""
        try:
            return str(self._make_builder(wanted, {}).createTransaction().table().location())
        except JavaError as error:
            raise _translate_error(self._name, error) from error

    def create(self, location: str | None, properties: Mapping[str, str]) -> None:
        """Creates the table, empty and unpartitioned. Iceberg assigns new column ids."""
        try:
            self._make_builder(location, properties).create()
        except JavaError as error:
            raise _translate_error(self._name, error) from error

    def drop(self) -> None:
        """Removes the table from the catalog. No file is deleted."""
        self._catalog.dropTable(self._identifier, False)

    def _make_builder(self, location: str | None, properties: Mapping[str, str]) -> Any:
        builder = self._catalog.buildTable(self._identifier, self._schema)
        if location is not None:
            builder = builder.withLocation(location)
        return builder.withProperties(self._gateway.string_map(properties))


def _translate_error(name: str, error: Exception) -> TableError:
    error_name, text = read_java_name(error), read_java_message(error)
    if "NoSuchNamespace" in error_name:
        return TableError(f"cannot create {name}: {text}", hint="CREATE NAMESPACE first")
    if "custom location" in text:
        return TableError(
            f"cannot create {name}: {text}",
            hint="its catalog gives each table its own folder: omit location",
        )
    return TableError(
        f"cannot create {name}: {error_name}: {text}", hint="is its catalog an Iceberg catalog of this session?"
    )
