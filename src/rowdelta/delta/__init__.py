"""Delta tables as Iceberg tables over the same data files."""

from __future__ import annotations
