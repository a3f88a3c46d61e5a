"""Old names in the public API: they work for one more release, with a `FutureWarning` that names the new one."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

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


class RenamedAttribute:
    """An old attribute of a class, which reads the new one.

    Args:
        new_name: The new name.

    Examples:
        >>> class Result:
        ...     omitted = 2
        ...     left_out = RenamedAttribute("omitted")
        >>> import warnings
        >>> with warnings.catch_warnings(record=True, action="always") as caught:
        ...     Result().left_out
        2
        >>> print(caught[0].message)
        Result.left_out is now Result.omitted; it will stop working in rowdelta 0.2
    """

    def __init__(self, new_name: str) -> None:
        self._new_name = new_name

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner.__name__, name

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            return self
        old, new = (f"{self._owner}.{name}" for name in (self._name, self._new_name))
        warn_deprecated(f"{old} is now {new}", stacklevel=2)
        return getattr(instance, self._new_name)
