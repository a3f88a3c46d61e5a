from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from pyroaring import BitMap64

import rowdelta as rd
from rowdelta.codec import (
    BytesSource,
    DeletionVectorDescriptor,
    decode_deletion_vector,
    encode_deletion_vector,
    read_blob,
    read_puffin,
)
from rowdelta.codec.delta_vector import z85_encode
from rowdelta.delta import vectors as module
from rowdelta.delta.vectors import DeletedRows, VectorCopier


class Files:
    """Storage in memory that counts its reads."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.reads: list[tuple[str, int, int]] = []

    def read(self, path: str, offset: int, length: int) -> bytes:
        self.reads.append((path, offset, length))
        return self.content[path][offset : offset + length]

    def write(self, path: str, data: bytes) -> None:
        assert path not in self.content
        self.content[path] = data

    def delete(self, paths: set[str]) -> None:
        for path in paths:
            del self.content[path]


def _table(files: Files, groups: list[list[BitMap64]]) -> list[DeletedRows]:
    """Delta files of several vectors each; the data files are numbered."""
    deleted: list[DeletedRows] = []
    for group in groups:
        name, content = uuid.uuid4(), bytearray(b"\x01")
        for bitmap in group:
            blob = encode_deletion_vector(bitmap)
            vector = DeletionVectorDescriptor("u", z85_encode(name.bytes), len(content), len(blob) - 8, len(bitmap))
            content += blob + bytes(7)  # other vectors, which are not needed, lie between
            deleted.append(DeletedRows(f"s3://d/{len(deleted)}.parquet", 0, (), 1_000_000, vector))
        files.content[f"s3://t/deletion_vector_{name}.bin"] = bytes(content)
    return deleted


def _copier(files: Files, puffin_bytes: int = module.PUFFIN_BYTES) -> VectorCopier:
    handle: Any = SimpleNamespace(io=files, metadata=SimpleNamespace(format_version=3))
    return VectorCopier(handle, "s3://t", "s3://i/deletion-vectors/", lambda _: None, puffin_bytes)


def _bitmaps(group: int) -> list[BitMap64]:
    return [BitMap64(range(group, 90_000, 97 + number)) for number in range(10)]


def test_many_vectors_become_a_few_puffin_files_of_bounded_size() -> None:
    files = Files()
    groups = [_bitmaps(group) for group in range(20)]
    deleted = _table(files, groups)
    copier = _copier(files, 64 * 1024)
    new = copier.copy(deleted)
    bitmaps = [bitmap for group in groups for bitmap in group]
    assert [entry.file.referenced_data_file for entry in new] == [item.path for item in deleted]
    paths = {entry.file.path for entry in new}
    assert 2 < len(paths) < 20
    assert copier.bytes_copied == sum(len(encode_deletion_vector(bitmap)) for bitmap in bitmaps)
    for entry, bitmap in zip(new, bitmaps, strict=True):
        source = BytesSource(files.content[entry.file.path])
        assert source.size < 80 * 1024
        (blob,) = (b for b in read_puffin(source).blobs if b.offset == entry.file.content_offset)
        assert blob.properties["referenced-data-file"] == entry.file.referenced_data_file
        assert read_blob(source, blob) == encode_deletion_vector(bitmap), "the very bytes"
        assert decode_deletion_vector(read_blob(source, blob)) == bitmap
    assert len(files.reads) == len(groups), "one read for all vectors of a file"


def test_a_large_file_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WINDOW_BYTES", 8 * 1024)
    files = Files()
    deleted = _table(files, [_bitmaps(0)])
    assert len(_copier(files).copy(list(reversed(deleted)))) == len(deleted)
    assert 1 < len(files.reads) <= len(deleted) + 1
    assert max(length for _, _, length in files.reads) <= 8 * 1024


def test_nothing_stays_when_one_of_many_vectors_is_damaged() -> None:
    files = Files()
    deleted = _table(files, [_bitmaps(group) for group in range(5)])
    (last,) = list(files.content)[-1:]
    files.content[last] = files.content[last][:-30] + bytes(30)
    before = set(files.content)
    with pytest.raises(rd.FormatError):
        _copier(files, 1024).copy(deleted)
    assert set(files.content) == before
