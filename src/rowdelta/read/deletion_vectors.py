"""Reads deletion vectors as bitmaps, and refuses damaged ones.

Iceberg's reader checks the checksum of a vector, but not its structure: runs that overflow become an empty vector, and
unknown flags of a Puffin file are ignored. Rows that such a vector deletes come back.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Final

from rowdelta.codec import decode_deletion_vector
from rowdelta.errors import FormatError
from rowdelta.iceberg import read_footer, run_in_parallel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyroaring import BitMap64

    from rowdelta.iceberg import DeleteEntry, TableHandle

# Neighbouring vectors are read together: on an object store, skipping so few bytes takes longer than reading them.
_GAP_BYTES: Final = 64 << 10
_READ_BYTES: Final = 8 << 20
_CHECKED_AT_ONCE: Final = 256  # ranges, so that the bitmaps of a large table are not all in memory


def read_vectors(handle: TableHandle, entries: Iterable[DeleteEntry]) -> dict[str, BitMap64]:
    """Reads vectors, by data file; reads several ranges of Puffin files at once, since each waits for storage.

    Raises:
        FormatError: A vector is damaged, or its number of positions differs from that of the manifest.
    """
    vectors: dict[str, BitMap64] = {}
    for of_range in run_in_parallel(partial(_read, handle), _find_ranges(entries)):
        vectors |= of_range
    return vectors


def check_vectors(handle: TableHandle, entries: Iterable[DeleteEntry]) -> int:
    """Reads deletion vectors and refuses damaged ones; ignores other delete files.

    Returns:
        How many vectors were read.

    Raises:
        FormatError: A vector, or the Puffin file that it is in, is damaged; the message names the file.
    """
    ranges = _find_ranges(entry for entry in entries if entry.is_deletion_vector)
    run_in_parallel(partial(_check_file, handle), list({some[0].path: some[0] for some in ranges}.values()))
    for start in range(0, len(ranges), _CHECKED_AT_ONCE):
        run_in_parallel(partial(_check_range, handle), ranges[start : start + _CHECKED_AT_ONCE])
    return sum(map(len, ranges))


def _check_file(handle: TableHandle, entry: DeleteEntry) -> None:
    try:
        read_footer(handle, entry.path, entry.file_size_in_bytes)
    except FormatError as error:
        raise _make_damage_error(entry, error) from error


def _check_range(handle: TableHandle, neighbours: Sequence[DeleteEntry]) -> None:
    _read(handle, neighbours)


def _make_damage_error(entry: DeleteEntry, error: FormatError) -> FormatError:
    return FormatError(
        f"deletion vector {entry.path} at {entry.content_offset}, for {entry.referenced_data_file}: {error.message}",
        hint="it is unknown which rows it deletes: restore the file, or roll back to a snapshot from before it",
    )


def _find_ranges(entries: Iterable[DeleteEntry]) -> list[list[DeleteEntry]]:
    by_file: dict[str, list[DeleteEntry]] = defaultdict(list)
    for entry in entries:
        by_file[entry.path].append(entry)
    return [neighbours for vectors in by_file.values() for neighbours in _split_neighbours(vectors)]


def _split_neighbours(vectors: list[DeleteEntry]) -> Iterator[list[DeleteEntry]]:
    """Splits the vectors of a file into parts that are read at once."""
    part: list[DeleteEntry] = []
    for entry in sorted(vectors, key=lambda one: _measure_span(one)[0]):
        if part:
            start, end = _measure_span(part[0])[0], _measure_span(part[-1])[1]
            if _measure_span(entry)[0] - end > _GAP_BYTES or _measure_span(entry)[1] - start > _READ_BYTES:
                yield part
                part = []
        part.append(entry)
    yield part


def _measure_span(entry: DeleteEntry) -> tuple[int, int]:
    assert entry.content_offset is not None
    assert entry.content_size_in_bytes is not None
    return entry.content_offset, entry.content_offset + entry.content_size_in_bytes


def _read(handle: TableHandle, neighbours: Sequence[DeleteEntry]) -> dict[str, BitMap64]:
    first, last = _measure_span(neighbours[0])[0], max(_measure_span(entry)[1] for entry in neighbours)
    source = handle.io.source(neighbours[0].path, neighbours[0].file_size_in_bytes)
    data = source.read(first, last - first)
    vectors = {}
    for entry in neighbours:
        assert entry.referenced_data_file is not None
        start, end = _measure_span(entry)
        try:
            vector = decode_deletion_vector(data[start - first : end - first], cardinality=entry.record_count)
        except FormatError as error:
            raise _make_damage_error(entry, error) from error
        vectors[entry.referenced_data_file] = vector
    return vectors
