"""Old names in the public API: they work for one more release, with a `FutureWarning` that names the new one."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

REMOVED_IN: Final = "0.2"

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


def warn_deprecated(message: str, stacklevel: int = 1) -> None:
    """Warns about an old name at a call of the public API.

    Args:
        message: What is old, and what to write instead.
        stacklevel: How many functions stand between this one and the call, as in `warnings.warn`.
    """
    warnings.warn(f"{message}; it will stop working in rowdelta {REMOVED_IN}", FutureWarning, stacklevel + 1)


def rename_arguments(**new_names: str) -> Callable[[Callable[Arguments, Returned]], Callable[Arguments, Returned]]:
    """Lets a function accept keyword arguments by their old names.

    Args:
        new_names: The new name of each old one.

    Examples:
        >>> @rename_arguments(where="partitions")
        ... def resolve(partitions=None):
        ...     return partitions
        >>> import warnings
        >>> with warnings.catch_warnings(record=True, action="always") as caught:
        ...     resolve(where="p = 1")
        'p = 1'
        >>> print(caught[0].message)
        resolve(where=...) is now resolve(partitions=...); it will stop working in rowdelta 0.2
    """

    def decorate(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
        name = function.__name__

        @functools.wraps(function)
        def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
            for old in new_names.keys() & kwargs.keys():
                new = new_names[old]
                if new in kwargs:
                    raise TypeError(f"{name}() got both {new}= and its old name {old}=")
                warn_deprecated(f"{name}({old}=...) is now {name}({new}=...)", stacklevel=2)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate
