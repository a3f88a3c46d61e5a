"""The words that arguments take: one `Literal` for each set, which type checkers and the checks at run time share."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

from rowdelta.errors import InputError

Mode: TypeAlias = Literal["merge-on-read", "copy-on-write"]
Isolation: TypeAlias = Literal["serializable", "snapshot"]
Scope: TypeAlias = Literal["auto", "partition", "global"]
Tie: TypeAlias = Literal["error", "any"]
Tombstones: TypeAlias = Literal["drop", "keep"]
# `deletion-vector` is the name that is stored for `equality-delete-vector`.
Encoding: TypeAlias = Literal["equality-delete-vector", "full-row", "deletion-vector", "hash-map"]
CompactStrategy: TypeAlias = Literal["binpack", "sort", "zorder"]

Images: TypeAlias = Literal["all", "after"]
OutputFormat: TypeAlias = Literal["table", "json", "jsonl"]
OnGap: TypeAlias = Literal["error", "reload"]

SyncMode: TypeAlias = Literal["auto", "full", "incremental"]
MetricsSource: TypeAlias = Literal["log", "footer"]
SnapshotGranularity: TypeAlias = Literal["commit", "range"]

ChangeFormat: TypeAlias = Literal["changes", "debezium", "delta"]
OnBad: TypeAlias = Literal["fail", "quarantine"]
UnknownFields: TypeAlias = Literal["bad", "ignore"]
TimeUnit: TypeAlias = Literal["millis", "micros", "nanos"]
DecimalNotation: TypeAlias = Literal["text", "base64"]


def list_words(choice: Any) -> tuple[str, ...]:
    """Returns the words of a `Literal`.

    Examples:
        >>> list_words(Tie)
        ('error', 'any')
    """
    return get_args(choice)


def check_choice(argument: str, value: object, choice: Any) -> None:
    """Refuses a value that is not one of the words of a `Literal`.

    Examples:
        >>> check_choice("scope", "partition", Scope)
        >>> check_choice("scope", "everywhere", Scope)
        Traceback (most recent call last):
        rowdelta.errors.InputError: unknown scope 'everywhere'
        Hint: use 'auto', 'partition' or 'global'
    """
    words = list_words(choice)
    if value not in words:
        *others, last = map(repr, words)
        raise InputError(f"unknown {argument} {value!r}", hint=f"use {', '.join(others)} or {last}")
