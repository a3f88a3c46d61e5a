"""Computes Spark's `hash` of texts: 32-bit Murmur3, in which each byte after the last whole word is a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Words = npt.NDArray[np.uint32]

_SEED: Final = 42
_WORD: Final = 4
_AT_ONCE: Final = 4096


def compute_spark_hashes(texts: Sequence[str]) -> list[int]:
    """Computes Spark's `hash` of each text.

    Examples:
        >>> compute_spark_hashes(["", "Spark"])
        [142593372, 228093765]
    """
    hashes: list[int] = []
    for start in range(0, len(texts), _AT_ONCE):
        hashes += _compute_hashes([text.encode() for text in texts[start : start + _AT_ONCE]])
    return hashes


def _compute_hashes(texts: list[bytes]) -> list[int]:
    """Hashes all texts at once, one word of each at a time."""
    lengths = np.array([len(text) for text in texts], np.int64)
    words, rest = np.divmod(lengths, _WORD)
    width = (int(words.max()) + 1) * _WORD
    data = np.frombuffer(b"".join(text.ljust(width, b"\0") for text in texts), np.uint8).reshape(len(texts), width)
    state = np.full(len(texts), _SEED, np.uint32)
    for index, word in enumerate(data.view("<u4").T):
        state = np.where(index < words, _mix(state, word), state)
    for index in range(_WORD - 1):
        byte = np.take_along_axis(data, (words * _WORD + index)[:, None], axis=1)[:, 0].view(np.int8)
        state = np.where(index < rest, _mix(state, byte.astype(np.int32).view(np.uint32)), state)
    hashes: list[int] = _finish(state ^ lengths.astype(np.uint32)).view(np.int32).tolist()
    return hashes


def _mix(state: Words, words: Words) -> Words:
    scrambled = _rotate(words * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    return _rotate(state ^ scrambled, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _finish(state: Words) -> Words:
    state = (state ^ (state >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    state = (state ^ (state >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return state ^ (state >> np.uint32(16))


def _rotate(words: Words, bits: int) -> Words:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))
