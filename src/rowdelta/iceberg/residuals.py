"""Evaluates a predicate on whole partitions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rowdelta.iceberg.content_files import to_java
from rowdelta.spark import JavaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowdelta.iceberg.content_files import ContentFile
    from rowdelta.iceberg.row_filter import RowFilter
    from rowdelta.iceberg.table_handle import TableHandle


def evaluate_partitions(handle: TableHandle, files: Sequence[ContentFile], condition: RowFilter) -> list[bool | None]:
    """Whether a predicate is true for all rows of each file's partition (True), for none (False), or undecided (None).

    Each partition is evaluated once, however many files it has.
    """
    evaluators: dict[int, Any] = {}
    by_partition: dict[str, bool | None] = {}
    answers = []
    for file in files:
        key = json.dumps([file.spec_id, *file.partition], default=str)
        if key not in by_partition:
            by_partition[key] = _evaluate_partition(handle, file, condition, evaluators)
        answers.append(by_partition[key])
    return answers


def _evaluate_partition(
    handle: TableHandle, file: ContentFile, condition: RowFilter, evaluators: dict[int, Any]
) -> bool | None:
    try:
        if file.spec_id not in evaluators:
            spec = handle.java_table.specs().get(file.spec_id)
            evaluators[file.spec_id] = handle.gateway.iceberg.expressions.ResidualEvaluator.of(
                spec, condition.expression, True
            )
        left = str(evaluators[file.spec_id].residualFor(to_java(handle, file).partition()).op().name())
    except JavaError:
        return None
    return {"TRUE": True, "FALSE": False}.get(left)
