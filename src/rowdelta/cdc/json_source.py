"""JSON objects in a frame, before they are converted to rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.spark import quote

if TYPE_CHECKING:
    from pyspark.sql import Column

CORRUPT: Final = "_rd_corrupt"
OPTIONS: Final = {"columnNameOfCorruptRecord": CORRUPT}


def is_one_object(text: Column) -> Column:
    """Tests for one JSON object and nothing else: Spark's reader takes the first of several, or of an array."""
    alone = F.json_array_length(F.concat(F.lit("["), text, F.lit("]"))) == 1
    return starts_object(text) & F.coalesce(alone, F.lit(False))


def starts_object(text: Column) -> Column:
    """Tests whether text begins like a JSON object."""
    return F.coalesce(F.ltrim(text).startswith("{"), F.lit(False))


def check_fields(text: Column, types: T.StructType) -> list[tuple[Column, Column]]:
    """Returns tests for fields that are not columns, each with its reason."""
    return [
        (F.size(unknown) > 0, F.concat(F.lit("the table has no column "), F.array_join(unknown, ", ")))
        for unknown in _find_unknown_fields(text, types)
    ]


def _find_unknown_fields(text: Column, types: T.StructType, path: str = "$", prefix: str = "") -> list[Column]:
    """Returns the names of fields that are not columns: one array for the object and for each struct inside it."""
    columns = F.array(*map(F.lit, types.names))
    here = F.array_except(F.json_object_keys(text if path == "$" else F.get_json_object(text, path)), columns)
    unknown = [F.transform(here, lambda name: F.concat(F.lit(prefix), name)) if prefix else here]
    for part in types.fields:
        if isinstance(part.dataType, T.StructType) and "'" not in part.name:
            unknown += _find_unknown_fields(text, part.dataType, f"{path}['{part.name}']", f"{prefix}{part.name}.")
    return unknown


@dataclass(frozen=True)
class JsonObject:
    """A JSON object in a frame.

    Attributes:
        name: The column with the result of `JsonRow.parse`.
        text: The object as it arrived.
        declared: A map from columns to their types in the message's schema: the `name`, and the `scale` of a decimal.
            Null without a schema.
    """

    name: str
    text: Column
    declared: Column

    def raw(self, column: str) -> Column:
        """Returns a value as Spark read it, before its conversion."""
        return F.col(f"{self.name}.{quote(column)}")

    def is_quoted(self, column: str) -> Column:
        """Tests whether a value is in quotes: after reading, text of digits looks like a number."""
        return self.text.rlike(rf'"\Q{column}\E"\s*:\s*"')
