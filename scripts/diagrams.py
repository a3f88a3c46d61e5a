"""Draw the diagrams of docs/concepts.md as SVG files: run `.venv/bin/python scripts/diagrams.py` to update them.

A diagram consists of shapes and text on a light card. It looks the same on GitHub and in both colour schemes of the
site, and needs no network.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Final

IMAGES: Final = Path(__file__).resolve().parent.parent / "docs" / "images"
INK, GREY = "#263238", "#78909c"
# The fill and the line of each colour.
COLOURS: Final = {
    "data": ("#e8eaf6", "#3f51b5"),
    "position": ("#e0f2f1", "#00796b"),
    "key": ("#fff3e0", "#ef6c00"),
    "deleted": ("#ffebee", "#c62828"),
    "good": ("#e8f5e9", "#2e7d32"),
    "step": ("#ffffff", "#78909c"),
}


@dataclass
class Drawing:
    """A diagram, and the SVG elements that were added to it."""

    title: str
    width: int
    height: int
    parts: list[str] = field(default_factory=list)

    def text(self, x: int, y: int, text: str, *, size: int = 14, anchor: str = "middle", look: str = "") -> None:
        """Adds a line of text; `look` is any of `bold`, `mono`, `grey` and `struck`."""
        style = f'font-size="{size}" text-anchor="{anchor}" fill="{GREY if "grey" in look else INK}"'
        style += ' font-weight="600"' if "bold" in look else ""
        style += ' font-family="ui-monospace, Menlo, Consolas, monospace"' if "mono" in look else ""
        style += ' text-decoration="line-through"' if "struck" in look else ""
        self.parts.append(f'<text x="{x}" y="{y}" {style} xml:space="preserve">{escape(text)}</text>')

    def box(self, place: tuple[int, int, int, int], colour: str, *lines: str, look: str = "") -> None:
        """Adds a box with centred lines of text; `place` is x, y, width and height."""
        x, y, width, height = place
        fill, line = COLOURS[colour]
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{fill}" stroke="{line}"/>'
        )
        top = y + height // 2 + 5 - 10 * (len(lines) - 1)
        for number, text in enumerate(lines):
            first = "bold" if number == 0 and len(lines) > 1 else ""
            self.text(x + width // 2, top + 20 * number, text, size=13, look=f"{look} {first}")

    def arrow(self, *points: tuple[int, int], colour: str = "step", dashed: bool = False) -> None:
        """Adds a line through points, with an arrowhead at its end."""
        path = " L ".join(f"{x} {y}" for x, y in points)
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        line = COLOURS[colour][1]
        self.parts.append(
            f'<path d="M {path}" fill="none" stroke="{line}" stroke-width="1.6"{dashes} marker-end="url(#{colour})"/>'
        )

    def svg(self) -> str:
        """Renders the diagram as an SVG document."""
        heads = "".join(
            f'<marker id="{colour}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
            f'orient="auto-start-reverse"><path d="M 0 0 L 10 5 L 0 10 z" fill="{line}"/></marker>'
            for colour, (_, line) in COLOURS.items()
            if f"url(#{colour})" in "".join(self.parts)
        )
        size = f'width="{self.width}" height="{self.height}"'
        fonts = "system-ui, Segoe UI, Roboto, Helvetica, Arial, sans-serif"
        opening = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" {size} role="img"'
        card = f'<rect x="0.5" y="0.5" width="{self.width - 1}" height="{self.height - 1}" rx="8" fill="#fafbfc"'
        lines = [
            f'{opening} aria-label="{escape(self.title)}" font-family="{fonts}">',
            f"<title>{escape(self.title)}</title>",
            f"<defs>{heads}</defs>",
            f'{card} stroke="#cfd8dc"/>',
            *self.parts,
            "</svg>",
        ]
        return "\n".join(lines) + "\n"


def four_ways() -> Drawing:
    """Shows the four forms of deletes, by position and by key."""
    drawing = Drawing("Four ways to delete one row of a data file", 760, 300)
    drawing.text(120, 36, "data file a.parquet", look="bold")
    drawing.text(372, 36, "by position", look="bold")
    drawing.text(622, 36, "by key", look="bold")
    drawing.box((30, 56, 180, 216), "data")
    for number, row in enumerate(["pos   id   status", "  0    5   new   ", "  1    7   paid  ", "  2    9   new   "]):
        look = "mono grey" if number == 0 else "mono"
        if number == 2:  # noqa: PLR2004 - the deleted row
            drawing.box((38, 158, 164, 30), "deleted")
        drawing.text(120, 94 + 42 * number, row, look=look)
    drawing.box(
        (262, 56, 220, 98), "position", "position delete file (v2)", "file_path   pos", "a.parquet     1", look="mono"
    )
    drawing.box((262, 174, 220, 98), "position", "deletion vector (v3)", "a bitmap for a.parquet", "{ 1 }", look="mono")
    drawing.box((512, 56, 220, 98), "key", "equality delete file", "id", " 7", look="mono")
    drawing.box((512, 174, 220, 98), "key", "equality delete vector", "a bitmap of the keys", "{ 7 }", look="mono")
    drawing.arrow((262, 105), (236, 105), (236, 173), (204, 173), colour="position")
    drawing.arrow((262, 223), (236, 223), (236, 173), (204, 173), colour="position")
    return drawing


def upsert_and_merge() -> Drawing:
    """Shows that MERGE reads the table and an upsert does not."""
    drawing = Drawing("MERGE joins the changes with the table; an upsert writes rows and keys", 760, 300)
    drawing.text(190, 36, "MERGE", size=15, look="bold")
    drawing.text(570, 36, "upsert", size=15, look="bold")
    drawing.box((30, 60, 120, 44), "step", "changes")
    drawing.box((30, 130, 120, 90), "data", "the table", "all files that", "may match")
    drawing.box((190, 100, 60, 60), "deleted", "join")
    drawing.box((286, 60, 80, 50), "data", "new rows")
    drawing.box((286, 150, 80, 50), "position", "positions")
    drawing.arrow((150, 82), (170, 82), (170, 120), (190, 120))
    drawing.arrow((150, 175), (170, 175), (170, 140), (190, 140), colour="deleted")
    drawing.arrow((250, 120), (268, 120), (268, 85), (286, 85))
    drawing.arrow((250, 140), (268, 140), (268, 175), (286, 175))
    drawing.text(190, 262, "costs a scan of the table", look="grey")
    drawing.parts.append(f'<line x1="396" y1="24" x2="396" y2="276" stroke="{GREY}" stroke-dasharray="2 4"/>')
    drawing.box((426, 60, 120, 44), "step", "changes")
    drawing.box((426, 130, 120, 90), "data", "the table", "is not read")
    drawing.box((620, 60, 110, 50), "data", "new rows")
    drawing.box((620, 150, 110, 50), "key", "keys", "as a bitmap")
    drawing.arrow((546, 82), (620, 82))
    drawing.arrow((546, 82), (584, 82), (584, 175), (620, 175))
    drawing.text(576, 262, "costs only the changes", look="grey")
    return drawing


def sequence() -> Drawing:
    """Follows one key through three commits."""
    drawing = Drawing("A delete by key applies to rows of older commits only", 760, 270)
    for number, (title, rows, keys, seen) in enumerate(
        [
            ("commit 1", "insert 7", "", "7"),
            ("commit 2: an upsert", "insert 7 (new)", "delete key 7", "7 (new)"),
            ("commit 3: a delete", "", "delete key 7", "nothing"),
        ]
    ):
        x = 40 + 240 * number
        drawing.text(x + 100, 34, title, look="bold")
        if rows:
            drawing.box((x, 56, 200, 40), "data", rows)
        if keys:
            drawing.box((x, 122, 150, 40), "key", keys)
            drawing.arrow((x, 142), (x - 62, 142), (x - 62, 98), colour="key")
        drawing.text(x + 100, 206, f"visible: {seen}", look="mono")
    drawing.text(380, 246, "The new rows of an upsert have the sequence number of its keys, so they stay.", look="grey")
    return drawing


def scope() -> Drawing:
    """Shows the scopes of a delete: one partition, and the whole table."""
    drawing = Drawing("A delete of one partition, and a delete of the whole table", 760, 230)
    for number, region in enumerate(["EU", "US"]):
        y = 30 + 100 * number
        drawing.box((30, y, 330, 80), "step")
        drawing.text(46, y + 22, f"region={region}", anchor="start", look="mono")
        for file in range(3):
            drawing.box((50 + 100 * file, y + 34, 86, 34), "data", "data file")
    drawing.box((470, 36, 260, 54), "key", "in partition region=EU", 'scope="partition"')
    drawing.box((470, 136, 260, 54), "key", "in no partition", 'scope="global"')
    drawing.arrow((470, 63), (362, 63), colour="key")
    drawing.arrow((470, 163), (362, 163), colour="key")
    drawing.arrow((470, 163), (416, 163), (416, 82), (362, 82), colour="key")
    return drawing


def choice() -> Drawing:
    """Shows how the encoding for a batch of keys is chosen."""
    drawing = Drawing("How the keys of a batch are written", 760, 320)
    questions = [
        ("one column, of a type that fits a bitmap?", "long, or a type with a codec"),
        ("vectors enabled, format version 3?", "write.delete.equality-vector.enabled"),
        ("no null, not negative, dense enough?", "write.delete.equality-vector.max-sparsity"),
    ]
    for number, (question, detail) in enumerate(questions):
        y = 24 + 76 * number
        drawing.box((30, y, 330, 52), "step", question, detail)
        drawing.arrow((195, y + 52), (195, y + 76))
        drawing.text(208, y + 68, "yes", size=12, anchor="start", look="grey")
        drawing.arrow((360, y + 26), (410, y + 26), (410, 126), (440, 126))
        drawing.text(366, y + 20, "no", size=12, anchor="start", look="grey")
    drawing.box((60, 252, 270, 46), "key", "equality-delete-vector", "only for rowdelta, until resolve")
    drawing.box((440, 94, 150, 64), "step", "hash maps", "enabled?")
    drawing.arrow((590, 112), (610, 112), (610, 62), (630, 62))
    drawing.text(594, 56, "yes", size=12, anchor="start", look="grey")
    drawing.arrow((590, 140), (610, 140), (610, 190), (630, 190))
    drawing.text(594, 206, "no", size=12, anchor="start", look="grey")
    drawing.box((630, 36, 104, 52), "key", "hash-map", "rowdelta")
    drawing.box((630, 164, 104, 52), "good", "full-row", "standard file")
    return drawing


def branches() -> Drawing:
    """Shows vectors on a branch, and resolved states on main."""
    drawing = Drawing("Upserts on a branch; resolve publishes to main", 760, 200)
    drawing.text(30, 62, "main", anchor="start", look="mono bold")
    drawing.text(30, 142, "ingest", anchor="start", look="mono bold")
    drawing.arrow((110, 58), (708, 58), colour="good")
    drawing.arrow((132, 66), (176, 138), colour="key")
    drawing.arrow((176, 138), (560, 138), colour="key")
    drawing.arrow((612, 128), (648, 68), colour="good")
    for x in (120, 660):
        drawing.parts.append(f'<circle cx="{x}" cy="58" r="9" fill="#e8f5e9" stroke="#2e7d32" stroke-width="2"/>')
    for x in (190, 280, 370, 460):
        drawing.parts.append(f'<circle cx="{x}" cy="138" r="9" fill="#fff3e0" stroke="#ef6c00" stroke-width="2"/>')
    drawing.box((560, 120, 110, 36), "good", "resolve")
    drawing.text(325, 178, "upserts with vectors: only rowdelta reads them", look="grey")
    drawing.text(390, 36, "resolved states only: every engine that supports the format version reads them", look="grey")
    return drawing


DRAWINGS: Final = {
    "deletes": four_ways,
    "upsert": upsert_and_merge,
    "sequence": sequence,
    "scope": scope,
    "choice": choice,
    "branches": branches,
}


def main() -> None:
    """Writes every diagram to docs/images."""
    for name, draw in DRAWINGS.items():
        (IMAGES / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
