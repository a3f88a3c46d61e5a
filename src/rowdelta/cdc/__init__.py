"""Change data capture: streams of changes into a table."""

from __future__ import annotations
