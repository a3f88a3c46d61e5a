"""Delete encodings: what they are, their rules, their size, and the choice for a batch of deletes."""

from __future__ import annotations

from rowdelta.encoding.choice import EncodingChoice, choose_encoding
from rowdelta.encoding.cost import EncodingCostEstimator
from rowdelta.encoding.delete_batch import BatchStatistics, DeleteBatch, KeyColumn
from rowdelta.encoding.delete_encoding import DELETION_VECTOR_V1, DeleteEncoding
from rowdelta.encoding.file_content import FileContent
from rowdelta.encoding.lane import Lane, choose_lane
from rowdelta.encoding.properties import GRANULARITY_FILE, DeleteProperties, read_granularity
from rowdelta.encoding.validation import DeleteFileFacts, validate

__all__ = [
    "DELETION_VECTOR_V1",
    "GRANULARITY_FILE",
    "BatchStatistics",
    "DeleteBatch",
    "DeleteEncoding",
    "DeleteFileFacts",
    "DeleteProperties",
    "EncodingChoice",
    "EncodingCostEstimator",
    "FileContent",
    "KeyColumn",
    "Lane",
    "choose_encoding",
    "choose_lane",
    "read_granularity",
    "validate",
]
