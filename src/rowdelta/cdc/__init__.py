"""Change data capture: applies streams of changes to a table, and follows its changes."""

from __future__ import annotations

from rowdelta.cdc.change_stream import ChangeStream, stream
from rowdelta.cdc.debezium import Debezium
from rowdelta.cdc.delta_feed import DeltaFeed
from rowdelta.cdc.feed_checkpoint import FeedBatch
from rowdelta.cdc.follow_progress import FollowProgress
from rowdelta.cdc.follow_table import follow
from rowdelta.cdc.follower import Follower
from rowdelta.cdc.json_rows import JsonRows
from rowdelta.cdc.op_column import OpColumn
from rowdelta.cdc.progress import BatchProgress
from rowdelta.cdc.records import Records
from rowdelta.cdc.records import Shape as Shape  # for the demo; not part of the API
from rowdelta.cdc.running_stream import RunningStream

__all__ = [
    "BatchProgress",
    "ChangeStream",
    "Debezium",
    "DeltaFeed",
    "FeedBatch",
    "FollowProgress",
    "Follower",
    "JsonRows",
    "OpColumn",
    "Records",
    "RunningStream",
    "follow",
    "stream",
]
