"""Explains why a table cannot be loaded, and suggests the nearest names."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from rowdelta.errors import TableError
from rowdelta.spark import JavaError, list_setting_names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_IMPLICIT_CATALOGS: Final = {"spark_catalog", "default_iceberg", "default_cache_iceberg", "default_rewrite_catalog"}


def explain_load_error(spark: SparkSession, name: str, error: Exception) -> TableError:
    """Translates an error of loading a table, with a hint that suggests what to do."""
    java = getattr(error, "java_exception", None)
    error_name = java.getClass().getSimpleName() if java is not None else type(error).__name__
    text = str((java.getMessage() if java is not None else None) or error).strip().splitlines()[0]
    if "NoSuch" in error_name or "NOT_FOUND" in text or "SINGLE_PART_NAMESPACE" in text:
        return TableError(f"no table {name}", hint=_suggest_table(spark, name))
    if "not an Iceberg table" in text:
        return TableError(f"{name} is not an Iceberg table ({text})", hint="rowdelta changes Iceberg tables only")
    if "ParseException" in error_name:
        return TableError(f"{name!r} is not a table name", hint="quote a part with backticks: lake.db.`my table`")
    return TableError(f"cannot load {name}: {error_name}: {text}")


def _suggest_table(spark: SparkSession, name: str) -> str:
    """Suggests the nearest names: of the table in its namespace, or else of the namespace in its catalog."""
    namespace, _, table = name.rpartition(".")
    tables = _list_names(spark, f"SHOW TABLES IN {namespace}" if namespace else "SHOW TABLES", "tableName")
    if tables is not None:
        near = difflib.get_close_matches(table, tables, n=3)
        return (
            f"did you mean {_join_choices(namespace, near)}?"
            if near
            else f"{namespace or 'it'} has {_join_examples(tables, 'tables')}"
        )
    catalog, _, database = namespace.rpartition(".")
    namespaces = _list_names(spark, f"SHOW NAMESPACES IN {catalog}", "namespace") if catalog else None
    if namespaces is None:
        return _suggest_catalog(name.split("."), _list_catalogs(spark))
    near = difflib.get_close_matches(database, namespaces, n=3)
    return (
        f"did you mean {_join_choices(catalog, near)}?"
        if near
        else f"{catalog} has {_join_examples(namespaces, 'namespaces')}"
    )


def _suggest_catalog(parts: list[str], available: list[str]) -> str:
    if not available:
        return f"is {parts[0]!r} a catalog of this session (spark.sql.catalog.*)?"
    if parts[0] in available:
        return f"catalog {parts[0]!r} does not answer, or has no such namespace"
    if len(parts) == 2:  # noqa: PLR2004 - a namespace and a table
        choices = _join_choices("", [".".join([catalog, *parts]) for catalog in available[:3]])
        return f"names start with a catalog: {choices}"
    catalogs = _join_examples(available, "catalogs")
    return f"{parts[0]!r} is not a catalog of this session, which has {catalogs} (spark.sql.catalog.*)"


def _list_catalogs(spark: SparkSession) -> list[str]:
    """Lists the catalogs of the session, except those that Spark and Iceberg create for themselves."""
    names = {key.split(".")[3] for key in list_setting_names(spark) if key.startswith("spark.sql.catalog.")}
    return sorted(names - _IMPLICIT_CATALOGS)


def _list_names(spark: SparkSession, listing: str, column: str) -> list[str] | None:
    try:
        return [row[column] for row in spark.sql(listing).collect()]
    except JavaError:
        return None


def _join_choices(prefix: str, names: list[str]) -> str:
    return " or ".join(f"{prefix}.{name}" if prefix else name for name in names)


def _join_examples(names: list[str], what: str) -> str:
    examples = ", ".join(sorted(names)[:10])
    return f"the {what} {examples}{', ...' if len(names) > 10 else ''}" if names else f"no {what}"  # noqa: PLR2004
