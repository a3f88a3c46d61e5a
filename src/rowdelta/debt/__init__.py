"""The delete debt: what deletes cost readers, and what to do about it."""

from __future__ import annotations

from rowdelta.debt.advice import Advice
from rowdelta.debt.costs import ReadCost
from rowdelta.debt.delete_debt import DeleteDebt
from rowdelta.debt.measure import Debt, measure_debt
from rowdelta.debt.recommendation import Recommendation
from rowdelta.debt.schedule import TableAdvice, advise
from rowdelta.debt.schedule_text import format_advice, list_commands

__all__ = [
    "Advice",
    "Debt",
    "DeleteDebt",
    "ReadCost",
    "Recommendation",
    "TableAdvice",
    "advise",
    "format_advice",
    "list_commands",
    "measure_debt",
]
