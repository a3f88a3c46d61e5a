"""Reports the progress of a conversion: as a bar in a terminal, or to a callback."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from rich.console import Console
from rich.progress import Progress as Bars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class DeltaProgress:
    """The state of a running conversion.

    Attributes:
        version: The Delta version that is being converted.
        step: What is converted now: `files` or `vectors`.
        done: How many are done.
        total: How many there are.

    Examples:
        >>> print(DeltaProgress(version=7, step="files", done=1, total=3))
        DeltaProgress(version=7, step='files', done=1, total=3)
    """

    version: int
    step: str
    done: int
    total: int


OnDeltaProgress: TypeAlias = "Callable[[DeltaProgress], None]"


@contextmanager
def show_progress(title: str, listener: OnDeltaProgress | None) -> Iterator[OnDeltaProgress]:
    """Passes progress on to the listener, or to a bar if stderr is a terminal and there is no listener."""
    if listener is not None:
        yield listener
    elif sys.stderr.isatty():
        with Bars(console=Console(stderr=True), transient=True) as bars:
            task = bars.add_task(title)

            def show(now: DeltaProgress) -> None:
                bars.update(
                    task, description=f"{title}, version {now.version}, {now.step}", completed=now.done, total=now.total
                )

            yield show
    else:
        yield lambda _: None
