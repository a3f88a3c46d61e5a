"""Keeping a table healthy: what its deletes cost, and the operations that pay for them."""

from __future__ import annotations
