"""JSON objects in a frame, before anything is made of them."""

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
    """Whether text is a JSON object and nothing else: Spark's reader takes the first of several, or of an array."""
    alone = F.json_array_length(F.concat(F.lit("["), text, F.lit("]"))) == 1
    return starts_object(text) & F.coalesce(alone, F.lit(False))


def starts_object(text: Column) -> Column:
    """Whether text begins as a JSON object does."""
    return F.coalesce(F.ltrim(text).startswith("{"), F.lit(False))


def unknown_field_tests(text: Column, types: T.StructType) -> list[tuple[Column, Column]]:
    """Tests for fields that are not columns, each with its reason."""
    return [
        (F.size(unknown) > 0, F.concat(F.lit("the table has no column "), F.array_join(unknown, ", ")))
        for unknown in _strange_fields(text, types)
    ]


def _strange_fields(text: Column, types: T.StructType, path: str = "$", prefix: str = "") -> list[Column]:
    """The names of fields that are not columns, in an array for the object and for each struct inside it."""
    known = F.array(*map(F.lit, types.names))
    here = F.array_except(F.json_object_keys(text if path == "$" else F.get_json_object(text, path)), known)
    found = [F.transform(here, lambda name: F.concat(F.lit(prefix), name)) if prefix else here]
    for part in types.fields:
        if isinstance(part.dataType, T.StructType) and "'" not in part.name:
            found += _strange_fields(text, part.dataType, f"{path}['{part.name}']", f"{prefix}{part.name}.")
    return found


@dataclass(frozen=True)
class JsonObject:
    """A JSON object that a frame holds.

    Attributes:
        name: The column with what `JsonRow.parsed` gave.
        text: The object as it came.
        declared: A map from columns to what the message's schema says of them: the `name` of the type, and the
            `scale` of a decimal. Null without a schema.
    """

    name: str
    text: Column
    declared: Column

    def raw(self, column: str) -> Column:
        """A value as it was read, not converted yet."""
        return F.col(f"{self.name}.{quote(column)}")

    def is_quoted(self, column: str) -> Column:
        """Whether a value stands in quotes: text of digits looks like a number once it has been read."""
        return self.text.rlike(rf'"\Q{column}\E"\s*:\s*"')
