"""Delta's change data feed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.cdc.records import (
    AT,
    BAD,
    DELETED,
    EXTRA,
    ORDER,
    RAW,
    SKIP,
    check_values,
    find_first_reason,
    write_row_as_json,
)
from rowdelta.errors import InputError
from rowdelta.spark import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rowdelta.cdc.records import Shape

_WRITES: Final = ("insert", "update_postimage")
_DELETES: Final = ("delete", "update_preimage")
_COLUMNS: Final = ("_change_type", "_commit_version", "_commit_timestamp")


@dataclass(frozen=True)
class DeltaFeed:
    """Rows of `spark.readStream.format("delta").option("readChangeFeed", "true")`.

    The image of a row before an update deletes its key, and the image after it writes the row, so that keys may change.
    Within a commit, deletes come first.

    Examples:
        >>> feed = changes.selectExpr(
        ...     "id",
        ...     "if(op = 'D', 'delete', 'insert') AS _change_type",
        ...     "bigint(seq) AS _commit_version",
        ...     "now() AS _commit_timestamp",
        ... )
        >>> from rowdelta.cdc.records import Shape
        >>> records = rd.cdc.DeltaFeed().read(feed, Shape(t.read().schema, key=("id",)))
        >>> records.where("_rd_deleted").first().id
        2
    """

    @property
    def aside(self) -> tuple[str, ...]:
        """Columns of the source that only the reader uses: the records have none of them."""
        return ()

    def read(self, frame: DataFrame, shape: Shape) -> DataFrame:
        """Reads the records of a batch; see `Records.read`."""
        missing = [name for name in _COLUMNS if name not in frame.columns]
        if missing:
            raise InputError(
                f"the source has no column {', '.join(missing)}, so it is not a change data feed",
                hint="read it with option('readChangeFeed', 'true')",
            )
        change_type = F.col("_change_type")
        is_old = F.coalesce(change_type.isin(*_DELETES), F.lit(False))
        deleted = shape.test_delete(is_old)
        is_unknown = ~F.coalesce(change_type.isin(*_WRITES, *_DELETES), F.lit(False))
        message = F.concat(F.lit("unknown change type "), F.coalesce(change_type, F.lit("null")))
        reason = find_first_reason((is_unknown, message), *check_values(frame, shape, deleted))
        return frame.select(
            *(F.col(quote(name)) for name in frame.columns if name not in _COLUMNS),
            deleted.alias(DELETED),
            F.struct(F.col("_commit_version"), F.when(is_old, 0).otherwise(1).alias("step")).alias(ORDER),
            reason.alias(BAD),
            write_row_as_json().alias(RAW),
            F.col("_commit_timestamp").alias(AT),
            F.lit(False).alias(SKIP),
            F.lit(False).alias(EXTRA),
        )
