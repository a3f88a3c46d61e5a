"""Sources of bytes: anything that has a size and reads a range."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from os import PathLike

Buffer: TypeAlias = bytes | bytearray | memoryview


class Source(Protocol):
    """A file, or part of one, that is read in byte ranges."""

    @property
    def size(self) -> int:
        """How many bytes there are."""

    def read(self, offset: int, length: int) -> bytes:
        """Reads `length` bytes from `offset` on."""


class BytesSource:
    """A source over bytes in memory.

    Examples:
        >>> BytesSource(b"PFA1 and more").read(0, 4)
        b'PFA1'
    """

    def __init__(self, data: Buffer) -> None:
        self._data = memoryview(data)

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return len(self._data)

    def read(self, offset: int, length: int) -> bytes:
        """Reads `length` bytes from `offset` on."""
        return bytes(self._data[offset : offset + length])


class PathSource:
    """A source over a local file. It keeps no file open between reads."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path)

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self._path.stat().st_size

    def read(self, offset: int, length: int) -> bytes:
        """Reads `length` bytes from `offset` on."""
        with self._path.open("rb") as file:
            file.seek(offset)
            return file.read(length)


def read_exactly(source: Source, offset: int, length: int) -> bytes:
    """Reads a range that must lie wholly inside the source.

    Examples:
        >>> read_exactly(BytesSource(b"abcdef"), 2, 3)
        b'cde'
        >>> read_exactly(BytesSource(b"abcdef"), 2, 30)
        Traceback (most recent call last):
        ...
        rowdelta.errors.FormatError: bytes 2 to 32 were requested from a file of 6 bytes
    """
    if offset < 0 or length < 0 or offset + length > source.size:
        raise FormatError(f"bytes {offset} to {offset + length} were requested from a file of {source.size} bytes")
    data = source.read(offset, length)
    if len(data) != length:
        raise FormatError(f"a read of {length} bytes at {offset} gave {len(data)} bytes")
    return data
