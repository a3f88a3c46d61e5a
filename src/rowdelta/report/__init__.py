"""Numbers as pictures and pages."""

from __future__ import annotations
