"""Changes to the text of a statement, by offset: all that is not changed stays as it was written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowdelta.iceberg.syntax_tree import Node


@dataclass(frozen=True, order=True)
class Edit:
    """Text that takes the place of what stands from `start` to `end`."""

    start: int
    end: int
    replacement: str


@dataclass
class EditedText:
    """A text and the changes to it.

    Examples:
        >>> edited = EditedText("SELECT * FROM a.b, c")
        >>> edited.replace(14, 17, "v")
        >>> edited.replace(17, 17, " AS b")
        >>> edited.all()
        'SELECT * FROM v AS b, c'
    """

    text: str
    edits: dict[tuple[int, bool], Edit] = field(default_factory=dict)
    taken: list[tuple[int, int]] = field(default_factory=list)  # the parts that `of` gave out

    def replace(self, start: int, end: int, replacement: str) -> None:
        """Notes a change; a later one at the same place takes over, save that text can be put before a change."""
        self.edits[start, start == end] = Edit(start, end, replacement)

    def all(self) -> str:
        """The whole text, changed."""
        return self.between(0, len(self.text))

    def of(self, node: Node) -> str:
        """The text of a part of the statement, changed."""
        self.taken.append((node.start, node.end))
        return self.between(node.start, node.end)

    def find(self, fragment: str, offset: int) -> tuple[int, int] | None:
        """Where in the text a fragment begins and ends, given its offset in a part that `of` gave out.

        The part may have been put in parentheses.

        Examples:
            >>> from rowdelta.iceberg.syntax_tree import Node
            >>> edited = EditedText("a = :x AND b = 1 / a")
            >>> edited.replace(4, 6, "1000")
            >>> edited.of(Node("expression", 11, 20)), edited.find("1 / a", 4), edited.find("1 / a", 5)
            ('b = 1 / a', (15, 20), (15, 20))
            >>> edited.find("1 / a", 7)
        """
        for start, end in self.taken:
            part = self.between(start, end)
            for shift in (0, 1):
                if offset >= shift and part.startswith(fragment, offset - shift):
                    at = len(self.between(0, start)) + offset - shift
                    return self.origin(at), self.origin(at + len(fragment))
        return None

    def origin(self, offset: int) -> int:
        """Where in the text stands what is at an offset of the changed text.

        Examples:
            >>> edited = EditedText("a = :x AND b")
            >>> edited.replace(4, 6, "1000")
            >>> edited.all(), edited.origin(13), edited.origin(6), edited.origin(0)
            ('a = 1000 AND b', 11, 4, 0)
        """
        moved = 0
        for edit in sorted(self.edits.values()):
            start = edit.start + moved
            if offset < start:
                break
            if offset < start + len(edit.replacement):
                return edit.start
            moved += len(edit.replacement) - (edit.end - edit.start)
        return offset - moved

    def between(self, start: int, end: int) -> str:
        """A range of the text, changed."""
        pieces, at = [], start
        for edit in sorted(self.edits.values()):
            if start <= edit.start and edit.end <= end:
                pieces += [self.text[at : edit.start], edit.replacement]
                at = edit.end
        return "".join([*pieces, self.text[at:end]])
