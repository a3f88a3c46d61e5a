"""Avro files keep dates and times as the numbers in their bytes, whatever the year and the logical type."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from rowdelta.errors import FormatError
from rowdelta.iceberg import AvroFile, make_partition_key

KINDS: dict[str, Any] = {
    "day": {"type": "int", "logicalType": "date"},
    "time": {"type": "long", "logicalType": "time-micros"},
    "at": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
    "local": {"type": "long", "logicalType": "local-timestamp-micros"},
    "fine": {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": False},
    "price": {"type": "fixed", "size": 4, "name": "decimal_9_2", "logicalType": "decimal", "precision": 9, "scale": 2},
    "key": {"type": "fixed", "size": 16, "name": "uuid_fixed", "logicalType": "uuid"},
    "date": "int",
}
FAR: dict[str, Any] = {
    "day": -719_529,
    "time": 86_399_999_999,
    "at": 327_403_555_200_000_000,
    "local": -62_167_219_200_000_001,
    "fine": -1,
    "price": Decimal("-1.50"),
    "key": bytes(range(16)),
    "date": 19_000,
}


def schema(*, logical: bool = True) -> dict[str, Any]:
    fields = [
        {
            "name": name,
            "type": ["null", kind if logical or name in {"price", "date"} else kind["type"]],
            "default": None,
        }
        for name, kind in KINDS.items()
        if logical or name != "key"
    ]
    partition = {"name": "partition", "type": {"type": "record", "name": "r102", "fields": fields}}
    return {"type": "record", "name": "entry", "fields": [partition]}


def written(values: dict[str, Any], *, logical: bool = True) -> bytes:
    out = io.BytesIO()
    fastavro.writer(
        out, schema(logical=logical), [{"partition": values}], codec="deflate", metadata={"content": "data"}
    )
    return out.getvalue()


def test_dates_and_times_are_numbers_and_are_written_as_they_were() -> None:
    file = AvroFile.parse("m.avro", written(FAR))
    assert file.records == [{"partition": FAR}]
    assert file.metadata == {"content": "data"}
    again = AvroFile.parse("m.avro", file.to_bytes())
    assert (again.records, again.metadata) == (file.records, file.metadata)
    near = dict.fromkeys(("day", "at", "date"), 1)
    (record,) = fastavro.reader(io.BytesIO(AvroFile(file.schema, [{"partition": near}], {}).to_bytes()))
    found: Any = record
    assert found["partition"]["day"] == dt.date(1970, 1, 2)  # other readers still see what is a date
    assert found["partition"]["at"] == dt.datetime(1970, 1, 1, 0, 0, 0, 1, dt.timezone.utc)


def test_a_partition_is_the_same_with_and_without_its_logical_types() -> None:
    values = {name: value for name, value in FAR.items() if name != "key"}
    files = [AvroFile.parse("m.avro", written(values, logical=logical)) for logical in (True, False)]
    one, other = ([file.records[0]["partition"][name] for name in values] for file in files)
    assert make_partition_key(0, tuple(one)) == make_partition_key(0, tuple(other))


@pytest.mark.parametrize("data", [b"", b"PAR1", b"Obj\x01", written(FAR)[:200], written(FAR)[:-20]])
def test_an_incomplete_avro_file_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError, match=r"m\.avro is not an Avro file"):
        AvroFile.parse("m.avro", data)
