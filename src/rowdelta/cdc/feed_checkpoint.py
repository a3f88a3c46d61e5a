"""Remembers how far a follower has read a change feed."""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rowdelta.errors import InputError

if TYPE_CHECKING:
    from rowdelta.iceberg import TableHandle

_FILE: Final = "follow.json"


@dataclass(frozen=True)
class FeedBatch:
    """A range of snapshots whose changes are handled together. A repeated batch has the same id and the same range.

    Attributes:
        batch_id: The number of the batch, from 0.
        start: The snapshot before the range, which may be gone; None for the first batch if the follower has no start.
        end: The last snapshot of the range.
        snapshots: How many snapshots the range has.
        is_reload: Whether the changes are all rows of the table, as inserts: in the first batch of a follower without a
            start, and after a gap with `on_gap="reload"`.
        is_retry: Whether the batch was handled before, perhaps in part.

    Examples:
        >>> batches = []
        >>> follower = rd.cdc.follow(
        ...     t, lambda changes, batch: batches.append(batch), checkpoint="state", available_now=True
        ... )
        >>> follower.await_termination()
        True
        >>> [(batch.batch_id, batch.start, batch.is_reload) for batch in batches]
        [(0, None, True)]
    """

    batch_id: int
    start: int | None
    end: int
    snapshots: int
    is_reload: bool = False
    is_retry: bool = False


@dataclass(frozen=True)
class FeedPlace:
    """How far a follower has read.

    Attributes:
        follower_id: The id of the checkpoint.
        table_id: The id of the table.
        end: The snapshot up to which changes were handled; None at the start.
        next_id: The number of the next batch.
        batch: The batch that is being handled.
    """

    follower_id: str
    table_id: str | None
    end: int | None = None
    next_id: int = 0
    batch: FeedBatch | None = None

    def begin(self, batch: FeedBatch) -> FeedPlace:
        """Returns the place while a batch is handled."""
        return replace(self, batch=batch)

    def finish(self, end: int) -> FeedPlace:
        """Returns the place after the current batch, if there is one, has been handled."""
        return replace(
            self, end=end, next_id=self.next_id if self.batch is None else self.batch.batch_id + 1, batch=None
        )


class FeedCheckpoint:
    """Stores the place of a follower in a folder: a local one, or one that the table's FileIO can write."""

    def __init__(self, folder: str, handle: TableHandle) -> None:
        self._folder = folder.rstrip("/") or "/"
        self._handle = handle
        self._is_local = "://" not in folder

    def read(self) -> FeedPlace:
        """Reads the place; a new one if there is none.

        Raises:
            InputError: The checkpoint is of another table, or damaged.
        """
        table_id = self._handle.metadata.uuid
        text = self._read_text()
        if text is None:
            return FeedPlace(str(uuid.uuid4()), table_id)
        try:
            content: dict[str, Any] = json.loads(text)
            batch = content.pop("batch")
            place = FeedPlace(**content, batch=None if batch is None else FeedBatch(**batch))
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"{self._folder}/{_FILE} is no checkpoint of a follower: {error}", hint="use another folder"
            ) from error
        if place.table_id != table_id:
            raise InputError(
                f"the checkpoint {self._folder} belongs to another table than {self._handle.name}: it has the id "
                f"{place.table_id}, not {table_id}",
                hint="use another folder for each table",
            )
        return place

    def write(self, place: FeedPlace) -> None:
        """Replaces the place."""
        data = json.dumps(asdict(place), indent=1).encode()
        if not self._is_local:
            self._handle.io.write(f"{self._folder}/{_FILE}", data)
            return
        path = Path(self._folder) / _FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        with fresh.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)

    def _read_text(self) -> str | None:
        if self._is_local:
            path = Path(self._folder) / _FILE
            return path.read_text(encoding="utf-8") if path.exists() else None
        location = f"{self._folder}/{_FILE}"
        return self._handle.io.read(location).decode() if self._handle.io.exists(location) else None
