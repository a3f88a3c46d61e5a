"""Numbers as text, pictures and pages."""

from __future__ import annotations

from rowdelta.report.advice_text import advice_text, commands
from rowdelta.report.delete_debt import DeleteDebt

__all__ = ["DeleteDebt", "advice_text", "commands"]
