"""Where a table's new files go: asks Iceberg, and explains why it does not accept the table's properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rowdelta.errors import TableError
from rowdelta.spark import JavaError, quote_string, read_java_message

if TYPE_CHECKING:
    from collections.abc import Mapping

_DATA_PATH: Final = "write.data.path"
_OWN_PROVIDER: Final = "write.location-provider.impl"
# Iceberg 1.12 refuses both, unless the new property is there as well.
_OLD_PROPERTIES: Final = ("write.object-storage.path", "write.folder-storage.path")
_LOCATION_PROPERTIES: Final = {_OWN_PROVIDER, *_OLD_PROPERTIES}


def get_location_provider(java_table: Any, name: str, properties: Mapping[str, str]) -> Any:
    """Returns what decides where new data and delete files go.

    Raises:
        TableError: Iceberg does not accept the table's properties. Such a table can be read, but not written.
    """
    try:
        return java_table.locationProvider()
    except JavaError as error:
        raise _explain_location_error(name, properties, error) from error


def may_refuse_location(properties: Mapping[str, str]) -> bool:
    """Whether a table has properties for the location of new files that Iceberg may not accept."""
    return bool(_LOCATION_PROPERTIES & properties.keys())


def _explain_location_error(name: str, properties: Mapping[str, str], error: Exception) -> TableError:
    """Names the property that Iceberg no longer accepts, in the order in which Iceberg checks them."""
    text = f"cannot write to {name}: {read_java_message(error)}"
    old = next((old for old in _OLD_PROPERTIES if old in properties and old in text), None)
    if old is None:
        return TableError(text, hint=f"check the table property {_OWN_PROVIDER}")
    return TableError(
        text,
        hint=f"ALTER TABLE {name} SET TBLPROPERTIES ('{_DATA_PATH}'={quote_string(properties[old])}); "
        f"ALTER TABLE {name} UNSET TBLPROPERTIES ('{old}')",
    )
