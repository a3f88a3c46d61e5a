"""New position deletes, as a commit takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rowdelta.iceberg import RowChange

if TYPE_CHECKING:
    from rowdelta.change.file_positions import FilePositions
    from rowdelta.iceberg import ContentFile, NewDelete, StagedFiles, TableHandle, Validation


class WrittenDeletes(NamedTuple):
    """New delete files, and what they make obsolete.

    Attributes:
        deletes: The new delete files.
        replaced: Old delete files that the new ones replace.
        emptied: Data files that have no live row any more.
        contents: The bytes of new files that are not on storage yet, by path; the commit writes them.
    """

    deletes: list[NewDelete]
    replaced: list[ContentFile]
    emptied: list[FilePositions]
    contents: dict[str, bytes]

    def change(self, validation: Validation, rows: StagedFiles | None = None) -> RowChange:
        """Makes the change that deletes the positions and adds new rows, if any."""
        return RowChange(
            deletes=self.deletes,
            rows=rows,
            contents=self.contents,
            removed_deletes=self.replaced,
            validation=validation,
        )

    def save(self, handle: TableHandle) -> None:
        """Writes the contents to storage now."""
        for path, data in self.contents.items():
            handle.io.write(path, data)
