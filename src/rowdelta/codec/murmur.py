"""Spark's `hash` of texts: Murmur3 of 32 bits, with the bytes after the last whole word taken as words of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

_SEED: Final = 42
_WORD: Final = 4


def spark_hashes(texts: Sequence[str]) -> list[int]:
    """What Spark's `hash` gives for each text, computed for all of them a word at a time."""
    data = [text.encode() for text in texts]
    words = [_words(one) for one in data]
    counts = np.array([len(one) for one in words], np.int64)
    table = np.zeros((len(data), int(counts.max(initial=0))), np.uint32)
    for row, one in zip(table, words, strict=True):
        row[: len(one)] = one
    found = np.full(len(data), _SEED, np.uint32)
    for index, word in enumerate(_scrambled(table).T):
        mixed = _rotated(found ^ word, 13) * np.uint32(5) + np.uint32(0xE6546B64)
        found = np.where(index < counts, mixed, found)
    return [int(one) for one in _finished(found ^ np.array([len(one) for one in data], np.uint32)).view(np.int32)]


def _words(data: bytes) -> npt.NDArray[np.uint32]:
    whole = len(data) // _WORD * _WORD
    rest = np.frombuffer(data[whole:], np.int8).astype(np.int32).view(np.uint32)
    return np.concatenate([np.frombuffer(data[:whole], "<u4"), rest])


def _scrambled(words: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    return _rotated(words * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)


def _finished(found: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    found = (found ^ (found >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    found = (found ^ (found >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return found ^ (found >> np.uint32(16))


def _rotated(words: npt.NDArray[np.uint32], bits: int) -> npt.NDArray[np.uint32]:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))
