"""The `rowdelta` command."""

from __future__ import annotations

from rowdelta.cli.app import main

__all__ = [
    "main",
]
