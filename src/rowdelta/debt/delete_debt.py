"""`t.debt()`: the delete debt as text, picture and page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console

from rowdelta.debt.measure import Debt
from rowdelta.debt.text import format_debt

if TYPE_CHECKING:
    import os


PIPE_WIDTH: Final = 200


class DeleteDebt(Debt):
    """What the deletes of a table cost its readers, and what to do about it.

    Examples:
        >>> _ = t.delete_keys(changes, key="id").execute()
        >>> debt = t.debt()
        >>> debt.readers, debt.advice[0].action
        ('only rowdelta', 'resolve')
        >>> debt.iceberg is None, debt.rowdelta.memory_bytes  # Iceberg's own reader refuses
        (True, 8192)
    """

    def __str__(self) -> str:
        console = Console(width=120, color_system=None, highlight=False)
        with console.capture() as captured:
            console.print(format_debt(self))
        return captured.get()

    def show(self, console: Console | None = None, *, top: int = 10) -> None:
        """Prints the debt.

        Args:
            console: Where to print; default: the standard output.
            top: How many partitions and data files to list.

        Examples:
            >>> t.debt().show()
            lake.db.orders, branch main: 1 data files, 4 rows, ... B; 0 delete files (0 B) on 0 data files
            readers: v3 engines (the table is of format version 3, and it has no live deletes)
            ...
            advice   because                                                                cost  gain  how
            nothing  the table has no deletes, and few or no old snapshots and small files
            Estimates are for a full scan of 3 columns on 2 cores: use them to compare states of this table.
        """
        if console is None:
            console = Console(highlight=False)
            if not console.is_terminal:  # no line is folded in a pipe or a file
                console.width = max(console.width, PIPE_WIDTH)
        console.print(format_debt(self, top))

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """Draws debt by partition, deletes over time, and size by encoding into a .png, .svg or .pdf file.

        Examples:
            >>> t.debt().plot("debt.svg").name
            'debt.svg'
        """
        from rowdelta.debt.plot import draw_debt  # noqa: PLC0415 - most users never draw, and it is slow to load

        target = Path(path)
        draw_debt(self).savefig(target, dpi=150)
        return target

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Writes the whole report as one page that needs no other file.

        Examples:
            >>> t.debt().to_html("debt.html").read_text(encoding="utf-8")[:15]
            '<!DOCTYPE html>'
        """
        from rowdelta.debt.page import write_page  # noqa: PLC0415 - see above

        target = Path(path)
        target.write_text(write_page(self), encoding="utf-8")
        return target
