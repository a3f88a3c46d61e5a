"""What was used lately of things that never change, such as the parsed entries of a manifest."""

from __future__ import annotations

import threading
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_CHANGES_KEPT: Final = 8
_MOST: Final = 4096


class Recent(Generic[T]):
    """Values by path. One that is not used while the table changes eight times is let go, so what is live stays.

    Examples:
        >>> footers = Recent[int]()
        >>> footers.put("a", 1)
        >>> footers.get("a"), footers.get("b")
        (1, None)
        >>> for _ in range(9):
        ...     footers.after_change()
        >>> len(footers)
        0
    """

    def __init__(self) -> None:
        self._values: dict[str, tuple[int, T]] = {}  # in the order of their last use
        self._changes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, path: str) -> bool:
        return path in self._values

    def get(self, path: str) -> T | None:
        """The value of a path, which counts as a use; None where it is not known."""
        with self._lock:
            found = self._values.pop(path, None)
            if found is None:
                return None
            self._values[path] = (self._changes, found[1])
            return found[1]

    def put(self, path: str, value: T) -> None:
        """Keeps a value; of too many the one goes that was used longest ago."""
        with self._lock:
            self._values.pop(path, None)
            self._values[path] = (self._changes, value)
            if len(self._values) > _MOST:
                del self._values[next(iter(self._values))]

    def after_change(self) -> None:
        """Lets go of what was not used lately; to be called when the table has changed."""
        with self._lock:
            self._changes += 1
            oldest = self._changes - _CHANGES_KEPT
            while self._values:
                path, (used, _) = next(iter(self._values.items()))
                if used >= oldest:
                    break
                del self._values[path]
