"""Edits the text of a statement by offset; everything else stays as it was written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowdelta.spark import Node


@dataclass(frozen=True, order=True)
class Edit:
    """Text that replaces the range from `start` to `end`."""

    start: int
    end: int
    replacement: str


@dataclass
class EditedText:
    """A text and its edits.

    Examples:
        >>> edited = EditedText("SELECT * FROM a.b, c")
        >>> edited.replace(14, 17, "v")
        >>> edited.replace(17, 17, " AS b")
        >>> edited.apply()
        'SELECT * FROM v AS b, c'
    """

    text: str
    edits: dict[tuple[int, bool], Edit] = field(default_factory=dict)
    taken: list[tuple[int, int]] = field(default_factory=list)  # the parts that `take` returned

    def replace(self, start: int, end: int, replacement: str) -> None:
        """Adds an edit. It replaces an earlier one at the same place; text can also be inserted before an edit."""
        self.edits[start, start == end] = Edit(start, end, replacement)

    def apply(self) -> str:
        """Returns the whole edited text."""
        return self.get_range(0, len(self.text))

    def take(self, node: Node) -> str:
        """Returns the edited text of a node."""
        self.taken.append((node.start, node.end))
        return self.get_range(node.start, node.end)

    def find(self, part: str, start: int, end: int) -> tuple[int, int] | None:
        """Finds the range of the text that is from `start` to `end` in a part that `take` returned.

        The part may be in parentheses since.

        Examples:
            >>> from rowdelta.spark.syntax_tree import Node
            >>> edited = EditedText("a = :x AND b = 1 / :x")
            >>> edited.replace(4, 6, "1000")
            >>> edited.replace(19, 21, "1000")
            >>> edited.take(Node("expression", 11, 21))
            'b = 1 / 1000'
            >>> edited.find("b = 1 / 1000", 4, 12), edited.find("(b = 1 / 1000)", 5, 13), edited.find("b", 0, 1)
            ((15, 21), (15, 21), None)
        """
        for place in self.taken:
            text = self.get_range(*place)
            if part in {text, f"({text})"}:
                shift = int(part != text)
                return self._find_origin(start - shift, place), self._find_origin(end - shift, place, is_end=True)
        return None

    def find_origin(self, offset: int, *, is_end: bool = False) -> int:
        """Converts an offset of the edited text to the offset of the text; of an end, to where it ends.

        Examples:
            >>> edited = EditedText("a = :x AND b")
            >>> edited.replace(4, 6, "1000")
            >>> edited.apply(), edited.find_origin(0), edited.find_origin(13)
            ('a = 1000 AND b', 0, 11)
            >>> edited.find_origin(6), edited.find_origin(6, is_end=True)
            (4, 6)
        """
        return self._find_origin(offset, (0, len(self.text)), is_end=is_end)

    def _find_origin(self, offset: int, place: tuple[int, int], *, is_end: bool = False) -> int:
        moved = -place[0]
        for edit in self._select_edits(*place):
            start = edit.start + moved
            if offset < start + is_end:
                break
            if offset < start + len(edit.replacement) + is_end:
                return edit.end if is_end else edit.start
            moved += len(edit.replacement) - (edit.end - edit.start)
        return offset - moved

    def _select_edits(self, start: int, end: int) -> list[Edit]:
        return [edit for edit in sorted(self.edits.values()) if start <= edit.start and edit.end <= end]

    def get_range(self, start: int, end: int) -> str:
        """Returns a range of the text, edited."""
        pieces, at = [], start
        for edit in self._select_edits(start, end):
            pieces += [self.text[at : edit.start], edit.replacement]
            at = edit.end
        return "".join([*pieces, self.text[at:end]])
