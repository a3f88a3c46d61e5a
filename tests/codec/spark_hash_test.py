"""Hashes of texts, compared with a plain implementation of the algorithm."""

from __future__ import annotations

import importlib
import random

import pytest

from rowdelta.codec import compute_spark_hashes

MASK = 0xFFFFFFFF


def rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & MASK


def plain(text: str) -> int:
    data, found = text.encode(), 42
    whole = len(data) // 4 * 4
    words = [int.from_bytes(data[i : i + 4], "little") for i in range(0, whole, 4)]
    words += [(byte - 256 if byte > 127 else byte) & MASK for byte in data[whole:]]
    for word in words:
        scrambled = rotated(word * 0xCC9E2D51 & MASK, 15) * 0x1B873593 & MASK
        found = (rotated(found ^ scrambled, 13) * 5 + 0xE6546B64) & MASK
    found ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        found = (found ^ found >> shift) * factor & MASK
    return found - 2**32 if found >= 2**31 else found


@pytest.mark.parametrize("at_once", [1, 7, 4096])
def test_hashes_are_those_of_a_plain_reading(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(importlib.import_module("rowdelta.codec.spark_hash"), "_AT_ONCE", at_once)
    chance = random.Random(5)
    letters = "ab/-0é日\0\U0001f600"
    texts = ["", *("".join(chance.choices(letters, k=chance.randrange(40))) for _ in range(300)), "x" * 5000]
    assert compute_spark_hashes(texts) == [plain(text) for text in texts]


def test_no_text_has_no_hash() -> None:
    assert compute_spark_hashes([]) == []
