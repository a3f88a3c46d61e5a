"""Turns keys into delete files: chooses an encoding for each partition, and writes the files."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rowdelta.change.key_batches import (
    NULL_KEY_HINT,
    HashedBatch,
    IntegerBatch,
    collect_hashed_batches,
    collect_integer_batches,
    has_many_keys,
    measure_integer_keys,
)
from rowdelta.change.key_files import estimate_full_size, stage_key_rows, write_hashed, write_rows, write_vector
from rowdelta.change.row_errors import translate_row_errors
from rowdelta.encoding import (
    BatchStatistics,
    DeleteBatch,
    DeleteEncoding,
    EncodingChoice,
    FileContent,
    KeyColumn,
    choose_encoding,
)
from rowdelta.read import is_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowdelta.change.key_input import KeyInput
    from rowdelta.iceberg import NewDelete, TableHandle

log: Final = logging.getLogger("rowdelta")
_warned: set[str] = set()


@dataclass(frozen=True)
class KeyDeletes:
    """Keys whose encoding has been chosen: arrays in memory, or a frame that Spark writes itself."""

    chosen: tuple[tuple[IntegerBatch | HashedBatch | None, EncodingChoice], ...]

    @property
    def are_distinct(self) -> bool:
        """Whether it is certain that every key occurs once."""
        return all(isinstance(keys, IntegerBatch) and keys.rows == keys.count for keys, _ in self.chosen)

    @property
    def are_collected(self) -> bool:
        """Whether all keys are in memory; otherwise Spark computes them when it writes them."""
        return all(keys is not None for keys, _ in self.chosen)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Every reason once."""
        return tuple(dict.fromkeys(choice.reason for _, choice in self.chosen))


class KeyWriter:
    """Turns keys into delete files: `prepare` chooses encodings, `write` writes the files."""

    def __init__(self, handle: TableHandle, keys: KeyInput, encoding: str | None) -> None:
        self._handle = handle
        self._keys = keys
        self._encoding = encoding

    def prepare(self) -> KeyDeletes:
        """Collects the keys, or counts them, and chooses an encoding for each partition; writes nothing."""
        single = len(self._keys.columns) == 1 and is_integer(self._keys.columns[0])
        if single and self._encoding != DeleteEncoding.HASH_MAP.value:
            if has_many_keys(self._keys):
                choices = self._choose_without_keys()
                if all(choice.encoding is DeleteEncoding.FULL_ROW for choice in choices):
                    return KeyDeletes(tuple((None, choice) for choice in choices[:1]))
            batches = collect_integer_batches(self._keys)
            chosen = [(batch, self._choose(batch.statistics)) for batch in batches]
            if all(choice.encoding is not DeleteEncoding.HASH_MAP for _, choice in chosen):
                return KeyDeletes(tuple(chosen))
        choice = self._choose(BatchStatistics(0))
        if choice.encoding is not DeleteEncoding.HASH_MAP:
            return KeyDeletes(((None, choice),))
        hashed = collect_hashed_batches(self._keys)
        return KeyDeletes(tuple((batch, self._choose(BatchStatistics(batch.keys.num_rows))) for batch in hashed))

    def _choose_without_keys(self) -> list[EncodingChoice]:
        """Chooses for each partition without collecting keys; once for all if no key could be in a vector."""
        best = self._choose(BatchStatistics(1, 0, 0))
        if best.encoding is DeleteEncoding.FULL_ROW:
            return [best]
        return [self._choose(statistics) for statistics in measure_integer_keys(self._keys)]

    def _choose(self, statistics: BatchStatistics) -> EncodingChoice:
        batch = DeleteBatch(
            FileContent.EQUALITY,
            self._handle.metadata.format_version,
            statistics,
            tuple(KeyColumn(column.name, column.type_name, column.required) for column in self._keys.columns),
            self._handle.metadata.properties,
        )
        return choose_encoding(batch, encoding=self._encoding)

    def write(self, deletes: KeyDeletes) -> list[NewDelete]:
        """Writes the delete files. On failure, none is left. Without keys, nothing is written or changed."""
        written: list[NewDelete] = []
        if not deletes.chosen or (self._keys.adds_spec and self._is_empty(deletes)):
            return written
        self._keys = self._keys.with_spec(self._handle)
        try:
            for batch, choice in deletes.chosen:
                written += self._write(batch, choice)
        except BaseException:
            self._handle.io.discard([new.file.path for new in written])
            raise
        self._report(deletes, written)
        return written

    def _is_empty(self, deletes: KeyDeletes) -> bool:
        """Whether there are no keys, even if Spark has not computed them yet."""
        with translate_row_errors(NULL_KEY_HINT):
            return all(batch is None for batch, _ in deletes.chosen) and self._keys.frame.isEmpty()

    def _write(self, batch: IntegerBatch | HashedBatch | None, choice: EncodingChoice) -> list[NewDelete]:
        if batch is None:
            with translate_row_errors(NULL_KEY_HINT):
                return stage_key_rows(self._handle, self._keys)
        if isinstance(batch, HashedBatch):
            return [write_hashed(self._handle, self._keys, batch)]
        if choice.encoding is DeleteEncoding.DELETION_VECTOR:
            return [write_vector(self._handle, self._keys, batch, choice)]
        return [write_rows(self._handle, self._keys, batch)]

    def _report(self, deletes: KeyDeletes, written: list[NewDelete]) -> None:
        names = ", ".join(f"{column.name!r} ({column.type_name})" for column in self._keys.columns)
        count = sum(new.file.record_count for new in written)
        log.info("Writing equality deletes of %s on %s, %d keys", self._handle.name, names, count)
        for reason in deletes.reasons:
            log.info("Encoding: %s", reason)
        for new in written:
            full = estimate_full_size(self._handle, new.file.record_count)
            log.info(
                "%s file: %s (%d bytes; whole rows would take about %s)",
                new.encoding.shown(FileContent.EQUALITY),
                new.file.path,
                new.file.file_size_in_bytes,
                "an unknown size" if full is None else f"{full} bytes",
            )
        if any(new.file.file_format == "PUFFIN" for new in written):
            _warn_once(self._handle)


def describe_encodings(deletes: KeyDeletes) -> tuple[tuple[str, str], ...]:
    """Says which encodings were chosen, as steps of a plan; each reason once."""
    choices = {choice.reason: choice for _, choice in deletes.chosen}.values()
    return tuple(("encoding", f"{choice.encoding.shown(FileContent.EQUALITY)}: {choice.reason}") for choice in choices)


def _warn_once(handle: TableHandle) -> None:
    if handle.branch == "main" and handle.name not in _warned:
        _warned.add(handle.name)
        log.warning(
            "%s now has equality delete vectors on main: other engines refuse to read it until t.resolve()", handle.name
        )


def summarise_key_deletes(handle: TableHandle, written: Sequence[NewDelete]) -> dict[str, str]:
    """Counts new equality deletes for the summary of the snapshot."""
    vectors = [new for new in written if new.file.file_format == "PUFFIN"]
    full = estimate_full_size(handle, sum(new.file.record_count for new in written))
    return {
        "equality-delete-vectors": str(len(vectors)),
        "equality-delete-files": str(len(written) - len(vectors)),
        "edv-size-bytes": str(sum(new.file.file_size_in_bytes for new in vectors)),
        **({} if full is None else {"full-row-size-bytes-estimate": str(full)}),
    }
