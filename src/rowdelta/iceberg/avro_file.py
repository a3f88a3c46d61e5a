"""An Avro file in memory. Manifest lists and manifests are Avro files.

Dates and times stay numbers, as in the file, so that rewriting a file changes nothing.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any, Final

import fastavro

from rowdelta.errors import FormatError

# The start of every Avro file, and the logical types that fastavro would convert to Python's dates and times.
_HEADER: Final = fastavro.parse_schema(
    {
        "type": "record",
        "name": "header",
        "fields": [
            {"name": "magic", "type": {"type": "fixed", "name": "magic", "size": 4}},
            {"name": "meta", "type": {"type": "map", "values": "bytes"}},
            {"name": "sync", "type": {"type": "fixed", "name": "sync", "size": 16}},
        ],
    }
)
_MAGIC: Final = b"Obj\x01"
_SCHEMA: Final = "avro.schema"
_TIMES: Final = ("date", "time-", "timestamp-", "local-timestamp-")
_SIGNS_OF_TIMES: Final = (b'"date"', b'"time-', b"timestamp-")


@dataclass(frozen=True)
class AvroFile:
    """An Avro file in memory: its records, its schema, and the key-value metadata of its writer.

    Dates and times are the numbers that the file holds: days, and micro- or nanoseconds.
    """

    schema: dict[str, Any]
    records: list[dict[str, Any]]
    metadata: dict[str, str]

    def to_bytes(self) -> bytes:
        """Returns the file's bytes, with the same schema and metadata."""
        out = io.BytesIO()
        fastavro.writer(
            out, self.schema, self.records, codec="deflate", metadata=dict(self.metadata)
        )  # it adds its own
        return out.getvalue()

    @classmethod
    def parse(cls, path: str, data: bytes) -> AvroFile:
        """Reads a file's bytes.

        Raises:
            FormatError: The bytes are not an Avro file. The message names `path`.
        """
        try:
            with_times, stream = _remove_times(data)
            reader = fastavro.reader(stream)
            schema: Any = reader.writer_schema if with_times is None else with_times
            records: list[Any] = list(reader)
            keep = {key: value for key, value in reader.metadata.items() if not key.startswith("avro.")}
        except (ValueError, EOFError, TypeError, KeyError, IndexError, StopIteration) as error:
            raise FormatError(f"{path} is not an Avro file: {error}", hint="the metadata file is damaged") from error
        return cls(schema, records, keep)


def _remove_times(data: bytes) -> tuple[Any, io.BytesIO]:
    """Replaces dates and times in the schema of a file by numbers.

    Returns:
        The original schema, or None if it has no dates or times; and the file with the replaced schema.
    """
    if not data.startswith(_MAGIC):
        raise ValueError("it does not start with the magic bytes of Avro")
    stream = io.BytesIO(data)
    header: Any = fastavro.schemaless_reader(stream, _HEADER, None)
    written = header["meta"].get(_SCHEMA, b"")
    if not any(sign in written for sign in _SIGNS_OF_TIMES):
        return None, io.BytesIO(data)
    schema = json.loads(written)
    header["meta"][_SCHEMA] = json.dumps(_remove_logical_times(schema)).encode()
    replaced = io.BytesIO()
    fastavro.schemaless_writer(replaced, _HEADER, header)
    replaced.write(memoryview(data)[stream.tell() :])
    replaced.seek(0)
    return schema, replaced


def _remove_logical_times(schema: Any) -> Any:
    """Returns an Avro schema without the logical types of dates and times."""
    if isinstance(schema, list):
        return [_remove_logical_times(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    is_time = str(schema.get("logicalType", "")).startswith(_TIMES)
    return {
        key: _remove_logical_times(value) for key, value in schema.items() if not (is_time and key == "logicalType")
    }
