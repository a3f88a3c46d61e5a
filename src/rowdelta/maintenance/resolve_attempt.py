"""One try of `resolve`: a snapshot, the equality deletes that are to go, and the change that takes their place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

from rowdelta.change import FILE, LINEAGE_VERSION, POSITION, as_content_file, collect_positions_in, write_positions
from rowdelta.iceberg import RowChange, Validation, build_row_filter
from rowdelta.maintenance.conflict_checks import all_of, same_reasons, steady_files
from rowdelta.maintenance.file_groups import in_groups
from rowdelta.maintenance.verify import same_rows
from rowdelta.read import MAX_BROADCAST_BYTES, live_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from rowdelta.change import FilePositions
    from rowdelta.iceberg import DeleteEntry, LiveData, SnapshotFiles, TableHandle
    from rowdelta.maintenance.affected_files import Candidates
    from rowdelta.maintenance.partition_filter import Covered

_ROWS_OF_KEY: Final = 2  # most keys have one row, and a row that two deletes hit counts twice


@dataclass(frozen=True)
class Resolution:
    """One snapshot, its equality deletes that are to go, and the data files to look at."""

    handle: TableHandle
    files: SnapshotFiles
    covered: Covered
    found: Candidates
    memory: int

    @property
    def deletes(self) -> tuple[DeleteEntry, ...]:
        """The equality deletes that are to go."""
        return self.covered.deletes

    def steps(self) -> tuple[tuple[str, str], ...]:
        """What would be done, as steps of a plan."""
        found = self.found
        rows, size = (sum(getattr(file, name) for file in found.files) for name in ("records", "size_in_bytes"))
        vectors = sum(entry.is_vector for entry in self.deletes)
        counts = {"in Puffin files": vectors, "in standard files": len(self.deletes) - vectors}
        told = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        new = "deletion vectors" if self.handle.metadata.format_version >= LINEAGE_VERSION else "position deletes"
        return (
            ("equality deletes", f"{told or 'none'}; {sum(entry.record_count for entry in self.deletes):,} keys"),
            ("dangling", f"{len(found.dangling)} of them apply to no data file any more"),
            ("files", f"{len(found.files):,} to scan, {found.total - len(found.files):,} pruned"),
            ("rows", f"{rows:,} in these files, of which only key columns are read"),
            ("bytes", f"{size:,}"),
            ("groups", f"{len(in_groups(found.files, self.memory)):,}"),
            ("writes", new),
            *(("left out", reason) for reason in self.covered.left_out),
        )

    def vectors(self) -> list[DeleteEntry]:
        """The deletion vectors of the files to look at."""
        paths = {file.path for file in self.found.files}
        return [entry for entry in self.files.position_deletes if entry.referenced_data_file in paths]

    def positions(self, group: Sequence[LiveData]) -> list[FilePositions]:
        """Where the deleted rows of some files are."""
        keys = sum(entry.record_count for entry in self.deletes)
        return collect_positions_in(
            self.handle, self.deleted_rows(group), group, expected=_ROWS_OF_KEY * keys, most_bytes=self.memory // 2
        )

    def deleted_rows(self, group: Sequence[LiveData]) -> DataFrame:
        """The rows of some files that equality deletes delete, by file and position; reads the key columns alone."""
        dangling = {entry.path for entry in self.found.dangling}
        deletes = tuple(entry for entry in self.deletes if entry.path not in dangling)
        only = {file.path for file in group}
        schema_id = self.handle.metadata.current_schema_id
        found = live_rows(
            self.handle, self.files, schema_id, (FILE, POSITION), only=only, deletes=deletes, as_bits=True
        )
        # A row that several deletes hit is found several times, at the same position.
        most = min(self.memory // 2, MAX_BROADCAST_BYTES)
        hits = [keys.keep_in(found.rows, most).select(FILE, POSITION) for keys in found.deleted]
        return reduce(lambda one, other: one.unionAll(other), hits)

    def change(
        self, touched: Sequence[FilePositions], group: Sequence[LiveData] | None, *, verify: bool
    ) -> RowChange | None:
        """The change that deletes rows by position and removes the equality deletes.

        A data file whose rows are all deleted goes itself. Others may delete rows of it or remove it meanwhile: it has
        none that anyone could miss, as long as the deletes are there.

        Args:
            touched: The rows.
            group: With partial progress, the files that they were looked for in; the equality deletes then stay.
            verify: Whether to compare the visible rows before the commit.
        """
        if group is not None and not touched:
            return None
        gone = [] if group is not None else [as_content_file(self.handle, entry) for entry in self.deletes]
        condition = build_row_filter(self.handle, None)
        known = {file.path: file for file in self.found.files}
        records = {path: file.records for path, file in known.items()}
        written = write_positions(self.handle, self.files, touched, records)
        emptied = {file.path: known[file.path].sequence_number for file in written.emptied}
        paths = {file.path for file in touched} - emptied.keys()
        newest = max(entry.sequence_number for entry in self.deletes)
        checks = [
            steady_files(self.files, paths, newest if group is None else 0),
            same_reasons(self.files, {entry.path for entry in self.deletes}, emptied),
        ]
        if verify:
            checks.append(same_rows(None if group is None else {file.path for file in group}))
        validation = Validation(
            snapshot_id=self.files.snapshot.id,
            row_filter=condition,
            data_files=sorted(paths),
            further=all_of(checks),
        )
        return RowChange(
            deletes=written.deletes,
            contents=written.contents,
            removed_deletes=[*written.replaced, *gone],
            removed_rows=[file.data_file for file in written.emptied],
            validation=validation,
            operation="delete" if written.emptied and not written.deletes else None,
        )
