"""The cache for data of a table that never changes: parsed manifests, footers, keys of delete files, frames."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

K = TypeVar("K", bound="Hashable")
V = TypeVar("V")

_CHANGES_WITHOUT_USE: Final = 8
_CAPACITY: Final = 4096


class _Entry(NamedTuple, Generic[V]):
    value: V
    size: int
    last_change: int


class LruCache(Generic[K, V]):
    """Values by key, for any number of threads. The least recently used value is evicted first.

    A value is evicted when the cache is full, or when it is not used while the table changes eight times. So live data
    stays cached, and the memory of a stream of changes does not grow over time.

    Args:
        capacity: The total size of the values. One value stays even if it is larger.
        measure: The size of a value; default: 1, so that `capacity` is a number of values.
        capacity_after_change: The total size that a change of the table leaves; default: `capacity`.

    Examples:
        >>> footers = LruCache[str, int](capacity=2)
        >>> footers.put("a", 1)
        >>> footers.put("b", 2)
        >>> footers.get("a")
        1
        >>> footers.put("c", 3)
        >>> "a" in footers, "b" in footers
        (True, False)
        >>> for _ in range(9):
        ...     footers.after_change()
        >>> len(footers)
        0
    """

    def __init__(
        self,
        capacity: int = _CAPACITY,
        measure: Callable[[V], int] | None = None,
        capacity_after_change: int | None = None,
    ) -> None:
        self._entries: dict[K, _Entry[V]] = {}  # in the order of their last use
        self._capacity = capacity
        self._capacity_after_change = capacity_after_change
        self._measure = measure
        self._size = 0
        self._changes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: K) -> bool:
        return key in self._entries

    @property
    def size(self) -> int:
        """The total size of the values."""
        return self._size

    def get(self, key: K) -> V | None:
        """Returns the value of a key, which counts as a use; None if the cache does not have it."""
        with self._lock:
            entry = self._entries.pop(key, None)
            if entry is None:
                return None
            self._entries[key] = entry._replace(last_change=self._changes)
            return entry.value

    def put(self, key: K, value: V) -> None:
        """Adds or replaces a value."""
        size = 1 if self._measure is None else self._measure(value)
        with self._lock:
            self._remove(key)
            self._entries[key] = _Entry(value, size, self._changes)
            self._size += size
            while self._size > self._capacity and len(self._entries) > 1:
                self._remove_oldest()

    def remove(self, key: K) -> None:
        """Removes a value, if the cache has it."""
        with self._lock:
            self._remove(key)

    def after_change(self) -> None:
        """Removes values that were not used recently. Call it after each change of the table."""
        with self._lock:
            self._changes += 1
            oldest_change = self._changes - _CHANGES_WITHOUT_USE
            while self._entries and next(iter(self._entries.values())).last_change < oldest_change:
                self._remove_oldest()
            if self._capacity_after_change is not None:
                while self._size > self._capacity_after_change:
                    self._remove_oldest()

    def _remove(self, key: K) -> None:
        entry = self._entries.pop(key, None)
        self._size -= 0 if entry is None else entry.size

    def _remove_oldest(self) -> None:
        self._remove(next(iter(self._entries)))
