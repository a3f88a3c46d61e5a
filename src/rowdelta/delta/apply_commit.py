"""One change of a Delta table as one snapshot of the Iceberg table."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from rowdelta.change import apply
from rowdelta.delta.data_files import FileConverter
from rowdelta.delta.existing_files import all_deletes, held_files
from rowdelta.delta.log import hadoop_reads
from rowdelta.delta.paths import by_place
from rowdelta.delta.progress import DeltaProgress
from rowdelta.delta.table_layout import Layout, current_layout, next_layout
from rowdelta.delta.vectors import INLINE, DeletedRows, VectorCopier
from rowdelta.errors import FormatError, RowDeltaError, TableError
from rowdelta.iceberg import (
    ContentFile,
    RowChange,
    Validation,
    build_row_filter,
    held_deletes,
    held_paths,
    snapshot_files,
    update_table,
)
from rowdelta.maintenance import restore_vector_offsets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from rowdelta.codec import DeletionVectorDescriptor
    from rowdelta.delta.actions import AddFile, DeltaCommit, RemoveFile
    from rowdelta.delta.progress import OnDeltaProgress
    from rowdelta.iceberg import NewDelete, TableHandle, TableMetadata, TableUpdate, Uncommitted

SOURCE: Final = "rowdelta.delta.source"
TABLE_ID: Final = "rowdelta.delta.id"
VERSION: Final = "rowdelta.delta.version"
TIMESTAMP: Final = "rowdelta.delta.timestamp"
OPERATION: Final = "rowdelta.delta.operation"
SNAPSHOT_VERSION: Final = "rowdelta.delta.snapshot-version"
FOLDER: Final = "rowdelta.delta.delete-folder"
DEFAULT_FOLDER: Final = "deletion-vectors"
# How many files of the log are read ahead, at the least, to look for them all at once.
_AHEAD: Final = 10_000


@dataclass(frozen=True)
class Settings:
    """How to convert.

    Attributes:
        root: The Delta table's folder.
        zone: The time zone of partition values that carry none.
        stats: `log` or `footer`: where the metrics of data files come from.
        verify_files: Whether every new data file must be there, with the columns that it should have.
    """

    root: str
    zone: str
    stats: str = "log"
    verify_files: bool = False


@dataclass(frozen=True)
class Counts:
    """What a change came to."""

    snapshot_ids: tuple[int, ...] = ()
    rows_inserted: int = 0
    data_files_added: int = 0
    data_files_removed: int = 0
    delete_files_added: int = 0
    delete_files_removed: int = 0
    deletion_vectors: int = 0
    inline_deletion_vectors: int = 0
    deleted_rows: int = 0
    bytes_copied: int = 0
    bytes_added: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class Difference:
    """What a commit does to the files of the table, by the paths that Iceberg has.

    Attributes:
        new: Files that come.
        gone: Files that go.
        vectors: Files that stay or come, with the rows that are deleted from now on.
        replaced: Files whose delete files go, because they go or have others, with the vector that Delta says they had.
    """

    new: Mapping[str, AddFile] = field(repr=False)
    gone: Mapping[str, RemoveFile] = field(repr=False)
    vectors: Mapping[str, AddFile] = field(repr=False)
    replaced: Mapping[str, DeletionVectorDescriptor | None] = field(repr=False)


class HeldFiles:
    """Which data files the table holds. Its manifests are read once for several commits, not for each."""

    def __init__(self, handle: TableHandle) -> None:
        self._handle = handle
        self._asked: AbstractSet[str] = frozenset()
        self._held: AbstractSet[str] = frozenset()
        self._snapshot_id: int | None = None

    def look_up(self, paths: AbstractSet[str]) -> None:
        """Looks for files, so that later questions about them cost nothing."""
        self._snapshot_id = self._head_id()
        self._asked, self._held = paths, held_paths(self._handle, paths)

    def among(self, paths: AbstractSet[str]) -> AbstractSet[str]:
        """Which of some files the newest snapshot holds."""
        if paths and (self._snapshot_id != self._head_id() or not paths <= self._asked):
            self.look_up(paths)
        return self._held & paths

    def follow(self, snapshot_id: int, added: AbstractSet[str], removed: AbstractSet[str]) -> None:
        """Takes in what a snapshot of ours did; the files of another writer's, on top of it, are looked for again."""
        self._snapshot_id, self._held = snapshot_id, (self._held - removed) | (added & self._asked)

    def _head_id(self) -> int | None:
        head = self._handle.snapshot()
        return None if head is None else head.id


def difference(table: HeldFiles, root: str, commit: DeltaCommit) -> Difference:
    """Sorts the actions of a commit: a file that is removed and added at once is the same file with other deletes."""
    adds, removes = by_place(root, commit.adds), by_place(root, commit.removes)
    unsure = {path for path, remove in removes.items() if remove.uncertain}
    held = table.among(unsure | (adds.keys() - removes.keys()))
    for path in unsure - held:
        del removes[path]
    # A file that the table has already may be added again, for instance with better statistics.
    again = held & (adds.keys() - removes.keys())
    stays = again | (adds.keys() & removes.keys())
    changed = {path for path in stays if path in again or removes[path].vector != adds[path].vector}
    replaced = changed | (removes.keys() - adds.keys())
    return Difference(
        new={path: add for path, add in adds.items() if path not in stays},
        gone={path: remove for path, remove in removes.items() if path not in adds},
        vectors={p: add for p, add in adds.items() if add.vector is not None and (p not in stays or p in changed)},
        replaced={path: (removes[path] if path in removes else adds[path]).vector for path in replaced},
    )


@dataclass(frozen=True)
class _Known:
    """What is known of files that the table holds: those that stay, those that go, and the delete files that go."""

    staying: Mapping[str, ContentFile]
    removed: Sequence[ContentFile]
    old_deletes: Sequence[ContentFile]


class Mirror:
    """Applies changes of one Delta table to one Iceberg table."""

    def __init__(self, handle: TableHandle, settings: Settings, progress: OnDeltaProgress) -> None:
        self._handle = handle
        self._settings = settings
        self._progress = progress
        self._folder = delete_folder(handle.metadata)
        self._before = current_layout(handle, settings.zone)
        self._held = HeldFiles(handle)

    def apply_all(self, commits: Iterable[DeltaCommit]) -> Counts:
        """Makes one snapshot of each commit, in order."""
        counts = Counts()
        for some in _in_batches(commits):
            if len(some) > 1:
                self._held.look_up(_added(self._settings.root, some))
            for commit in some:
                counts += self.apply(commit)
        return counts

    def apply(self, commit: DeltaCommit, properties: Mapping[str, str] | None = None) -> Counts:
        """Makes one snapshot of a commit, with the table's description changed in the same step.

        Args:
            commit: What Delta did.
            properties: Further properties to set.
        """
        layout = self._layout(commit)
        return self._commit(commit, layout, difference(self._held, self._settings.root, commit), properties or {})

    def replace_all(self, commit: DeltaCommit, properties: Mapping[str, str] | None = None) -> Counts:
        """Makes the table hold exactly the files of a commit, whatever it holds now, in one snapshot."""
        head = self._handle.snapshot()
        files = None if head is None else snapshot_files(self._handle, head)
        if files is not None:
            restore_vector_offsets(self._handle, files)
        held, old = held_files(self._handle), all_deletes(self._handle)
        adds = by_place(self._settings.root, commit.adds)
        stays = adds.keys() & held.keys()
        found = Difference(
            new={path: add for path, add in adds.items() if path not in stays},
            gone={},
            vectors={path: add for path, add in adds.items() if add.vector is not None},
            replaced={},
        )
        removed = [held[path] for path in sorted(held.keys() - adds.keys())]
        # A foreign snapshot on top is followed by one of ours even if it changed nothing, or it would be in the way of
        # every later call.
        known = _Known({path: held[path] for path in stays}, removed, old)
        foreign = not is_own(self._handle)
        return self._commit(commit, self._layout(commit), found, properties or {}, known, always=foreign)

    def _layout(self, commit: DeltaCommit) -> Layout:
        if commit.metadata is None:
            return self._before
        return next_layout(self._handle, commit.metadata, self._settings.zone)

    def _commit(
        self,
        commit: DeltaCommit,
        layout: Layout,
        found: Difference,
        properties: Mapping[str, str],
        known: _Known | None = None,
        *,
        always: bool = False,
    ) -> Counts:
        handle = self._handle
        added = self._convert(commit, layout, found.new)
        known = known or _Known({}, self._removed(found.gone), self._old_deletes(commit.version, found))
        removed, old = known.removed, known.old_deletes
        update, validation = self._update(commit, layout, properties), self._validation(len(removed))
        deleted = self._deleted_rows(found, layout, {file.path: file for file in added} | dict(known.staying))
        count = self._counting(commit, len(found.vectors), "vectors")
        copier = VectorCopier(handle, self._settings.root, self._folder, count)
        # Nothing that could fail comes between writing the delete files and the commit, which removes them if it fails.
        deletes = copier.copy(deleted)
        if not (added or removed or deletes or old or always):
            self._describe(update)
            return Counts()
        change = RowChange(
            deletes=deletes,
            removed_deletes=old,
            removed_rows=removed,
            kept_files=added,
            validation=validation,
            summary={VERSION: str(commit.version), TIMESTAMP: str(commit.timestamp), OPERATION: commit.operation},
            update=replace(update, properties={**update.properties, SNAPSHOT_VERSION: str(commit.version)}),
            operation=_operation(commit, added, removed, deletes, old),
        )
        snapshot = apply(handle, change)
        self._held.follow(snapshot.id, found.new.keys(), {file.path for file in removed})
        self._before = replace(layout, changed=False)
        return self._counts(snapshot.id, change, found, copier.bytes_copied)

    def _convert(self, commit: DeltaCommit, layout: Layout, new: Mapping[str, AddFile]) -> list[ContentFile]:
        count = self._counting(commit, len(new), "files")
        converter = FileConverter(self._handle, layout, count, stats=self._settings.stats)
        # Files with foreign ids are rare, and reading all footers is expensive: one is looked at always.
        some = new if self._settings.verify_files else dict(islice(new.items(), 1))
        try:
            files = converter.convert(new)
            converter.check(some, {file.path: file for file in files})
        except TableError as error:
            if new:
                self._check_reach(next(iter(new)), error)
            raise
        return files

    def _check_reach(self, path: str, error: TableError) -> None:
        """Says so where Delta Lake can read a file and the Iceberg table's FileIO cannot: it knows other storage."""
        io = self._handle.io
        try:
            io.size(path)
        except TableError:
            if hadoop_reads(self._handle.spark, path):
                raise TableError(
                    f"{self._handle.name} cannot read the files of the Delta table where they are: {error.message}",
                    hint=f"its FileIO is {io.kind}; choose a catalog with the setting io-impl="
                    "org.apache.iceberg.io.ResolvingFileIO, which opens each path by its scheme",
                ) from error

    def _old_deletes(self, version: int, found: Difference) -> list[ContentFile]:
        """The delete files that go: they must be those of the vectors that Delta says the files had.

        To Delta, a file with another vector is another file, and an action for one does nothing to the other.
        """
        old = held_deletes(self._handle, found.replaced.keys())
        rows = Counter[str]()
        for file in old:
            rows[file.referenced_data_file or ""] += file.record_count
        for path, vector in found.replaced.items():
            wanted = 0 if vector is None else vector.cardinality
            if rows[path] != wanted:
                raise TableError(
                    f"version {version} of the Delta log changes {path} as a file with {wanted:,} deleted rows, and "
                    f"{self._handle.name} has it with {rows[path]:,}",
                    hint="convert again with mode='full', which asks Delta Lake itself which files the table has",
                )
        return old

    def _removed(self, gone: Mapping[str, RemoveFile]) -> list[ContentFile]:
        """Files to remove, in the partitions that they were added with."""
        layout = self._before
        unknown = {path for path, remove in gone.items() if not remove.partition_values}
        held = held_files(self._handle, unknown) if unknown and layout.partition else {}
        return [
            held[path]
            if path in held
            else ContentFile(
                path=path,
                file_format="PARQUET",
                record_count=0,
                file_size_in_bytes=0,
                spec_id=layout.spec_id,
                partition=layout.partition_values(remove.partition_values or {}),
            )
            for path, remove in gone.items()
        ]

    def _deleted_rows(self, found: Difference, layout: Layout, files: dict[str, ContentFile]) -> list[DeletedRows]:
        staying = {path: add for path, add in found.vectors.items() if path not in files}
        converter = FileConverter(self._handle, layout, lambda _: None, stats="log")
        files |= {file.path: file for file in converter.convert(staying)}
        return [
            DeletedRows(path, files[path].spec_id, files[path].partition, files[path].record_count, add.vector)
            for path, add in found.vectors.items()
            if add.vector is not None
        ]

    def _update(self, commit: DeltaCommit, layout: Layout, properties: Mapping[str, str]) -> TableUpdate:
        metadata = self._handle.metadata
        wanted = {VERSION: str(commit.version), **properties}
        if commit.metadata is not None:
            wanted[TABLE_ID] = commit.metadata.id
        update = layout.update(self._handle, wanted, exact=self._settings.stats == "footer")
        return replace(
            update, requires={VERSION: metadata.properties.get(VERSION)}, snapshot_id=metadata.current_snapshot_id
        )

    def _describe(self, update: TableUpdate) -> None:
        """Changes the table's description alone."""
        update_table(self._handle, update)
        self._before = current_layout(self._handle, self._settings.zone)

    def _validation(self, removed: int) -> Validation:
        head = self._handle.snapshot()

        def check(made: Uncommitted) -> None:
            """Every file that Delta removed must have been there."""
            newest = max(record["sequence_number"] for record in made.listing.records)
            mine = [r for r in made.listing.records if not r["content"] and r["sequence_number"] == newest]
            found = sum(record["deleted_files_count"] for record in mine)
            if found != removed:
                raise TableError(
                    f"Delta removed {removed} files, and {self._handle.name} holds {found} of them",
                    hint="convert again with mode='full'",
                )

        return Validation(
            snapshot_id=None if head is None else head.id,
            row_filter=build_row_filter(self._handle, None),
            further=check if removed else None,
        )

    def _counts(self, snapshot_id: int, change: RowChange, found: Difference, copied: int) -> Counts:
        vectors = [add.vector for add in found.vectors.values() if add.vector is not None]
        return Counts(
            snapshot_ids=(snapshot_id,),
            rows_inserted=sum(file.record_count for file in change.kept_files),
            data_files_added=len(change.kept_files),
            data_files_removed=len(change.removed_rows),
            delete_files_added=len(change.deletes),
            delete_files_removed=len(change.removed_deletes),
            deletion_vectors=len(vectors),
            inline_deletion_vectors=sum(vector.storage_type == INLINE for vector in vectors),
            deleted_rows=sum(vector.cardinality for vector in vectors),
            bytes_copied=copied,
            bytes_added=change.size_in_bytes,
        )

    def _counting(self, commit: DeltaCommit, total: int, step: str) -> Callable[[int], None]:
        done = 0

        def count(more: int) -> None:
            nonlocal done
            done += more
            self._progress(DeltaProgress(commit.version, step, done, total))

        return count


def _in_batches(commits: Iterable[DeltaCommit]) -> Iterator[list[DeltaCommit]]:
    """Commits in groups of bounded size. What is wrong with one is an error once those before it have been given."""
    some: list[DeltaCommit] = []
    files = 0
    try:
        for commit in commits:
            some.append(commit)
            files += len(commit.adds) + len(commit.removes)
            if files >= _AHEAD:
                yield some
                some, files = [], 0
    except RowDeltaError:
        if some:
            yield some
        raise
    if some:
        yield some


def _added(root: str, commits: Iterable[DeltaCommit]) -> set[str]:
    """The files that commits add; a path that cannot be read is an error when the turn of its commit comes."""
    found: set[str] = set()
    for commit in commits:
        with suppress(FormatError):
            found |= by_place(root, commit.adds).keys()
    return found


def is_own(handle: TableHandle) -> bool:
    """Whether the newest snapshot is the one that the last conversion made."""
    head = handle.snapshot()
    made_of = None if head is None else head.summary.get(VERSION, "")
    return made_of == handle.metadata.properties.get(SNAPSHOT_VERSION)


def delete_folder(metadata: TableMetadata) -> str:
    """Where the delete files of a table go."""
    return metadata.properties.get(FOLDER, f"{metadata.location.rstrip('/')}/{DEFAULT_FOLDER}")


def _operation(
    commit: DeltaCommit,
    added: Sequence[ContentFile],
    removed: Sequence[ContentFile],
    deletes: Sequence[NewDelete],
    old: Sequence[ContentFile],
) -> str:
    """The snapshot's operation in the words of the Iceberg spec."""
    if commit.replaces or not (added or removed or deletes or old):
        return "replace"
    if added:
        return "overwrite" if removed or deletes or old else "append"
    # Without new files, deletes that are taken back bring rows back.
    deleted, restored = sum(new.file.record_count for new in deletes), sum(file.record_count for file in old)
    return "delete" if removed or deleted >= restored else "overwrite"
