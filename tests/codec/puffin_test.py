from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowdelta.codec import Blob, BytesSource, PathSource, PuffinWriter, read_blob, read_puffin
from rowdelta.codec.frame_compression import compress, decompress
from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from pathlib import Path

BLOB = {"type": "note", "fields": [1], "snapshot-id": 2, "sequence-number": 3, "offset": 4, "length": 5}


def puffin(footer: Any, *, body: bytes = b"hello", flags: int = 0, size: int | None = None) -> BytesSource:
    payload = footer if isinstance(footer, bytes) else json.dumps(footer).encode()
    tail = (len(payload) if size is None else size).to_bytes(4, "little", signed=True) + flags.to_bytes(4, "little")
    return BytesSource(b"PFA1" + body + b"PFA1" + payload + tail + b"PFA1")


def blob(**changes: Any) -> dict[str, Any]:
    renamed = {name.replace("_", "-"): value for name, value in changes.items()}
    return {"blobs": [{name: value for name, value in (BLOB | renamed).items() if value is not ...}]}


class CountingSource(BytesSource):
    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.reads: list[tuple[int, int]] = []

    def read(self, offset: int, length: int) -> bytes:
        self.reads.append((offset, length))
        return super().read(offset, length)


def test_well_formed_footer_is_read() -> None:
    (only,) = read_puffin(puffin(blob())).blobs
    assert (only.type, only.fields, only.snapshot_id, only.sequence_number) == ("note", (1,), 2, 3)
    assert read_blob(puffin(blob()), only) == b"hello"


@pytest.mark.parametrize(
    ("footer", "message"),
    [
        (b"{", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"blobs":[' + b"9" * 5000 + b"]}", "is not JSON|as a blob"),
        ([], "is a JSON list"),
        ({}, "None as its blobs"),
        ({"blobs": {}}, "as its blobs"),
        ({"blobs": [1]}, "1 as a blob"),
        ({"blobs": [], "properties": []}, "as properties"),
        ({"blobs": [], "properties": {"a": 1}}, "1 as 'a', not a string"),
        (b'{"blobs": [], "properties": {"a": "\\ud800"}}', "not Unicode text"),
        (blob(type=...), "None as 'type'"),
        (blob(type=7), "7 as 'type'"),
        (blob(fields=...), "None as its fields"),
        (blob(fields=["1"]), "'1' as 'fields'"),
        (blob(fields=[2**31]), "does not fit 32 bits"),
        (blob(fields=[True]), "True as 'fields'"),
        (blob(snapshot_id=...), "None as 'snapshot-id'"),
        (blob(snapshot_id=1.0), "1.0 as 'snapshot-id'"),
        (blob(sequence_number=2**63), "does not fit 64 bits"),
        (blob(offset=-1), "offset -1"),
        (blob(offset=3), "offset 3"),
        (blob(length=-1), "length -1"),
        (blob(length=6), "length 6"),
        (blob(length=2**62), "length 4611686018427387904"),
        (blob(compression_codec=1), "1 as 'compression-codec'"),
        (blob(properties={"a": None}), "None as 'a'"),
        ({"blobs": [BLOB, BLOB]}, "at 4 and 4 overlap"),
        ({"blobs": [BLOB | {"offset": 6, "length": 2}, BLOB | {"length": 3}]}, "at 4 and 6 overlap"),
    ],
)
def test_impossible_footer_is_refused(footer: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_puffin(puffin(footer))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (BytesSource(b""), "has 0 bytes"),
        (BytesSource(b"PFA1" * 4), "has 16 bytes"),
        (puffin({"blobs": []}, flags=2), "unknown flags 0x00000002"),
        (puffin({"blobs": []}, flags=1 << 31), "unknown flags 0x80000000"),
        (puffin({"blobs": []}, size=-1), "payload of -1 bytes"),
        (puffin({"blobs": []}, size=2**31 - 1), "payload of 2147483647 bytes"),
        (puffin({"blobs": []}, size=11), "at the start of its footer"),
        (puffin({"blobs": []}, flags=1), "lz4 frame starts with"),
    ],
)
def test_impossible_file_is_refused(source: BytesSource, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_puffin(source)


@pytest.mark.parametrize("at", [0, -1, -17])
def test_every_magic_is_checked(at: int) -> None:
    data = bytearray(PuffinWriter().finish())
    data[at if at >= -1 else data.rfind(b"PFA1{")] ^= 1
    with pytest.raises(FormatError, match="not b'PFA1'"):
        read_puffin(BytesSource(bytes(data)))


def test_unknown_compression_is_refused_when_the_blob_is_read() -> None:
    source = puffin(blob(compression_codec="snappy"))
    (only,) = read_puffin(source).blobs
    with pytest.raises(FormatError, match="unknown compression codec 'snappy'"):
        read_blob(source, only)


def test_null_compression_is_none() -> None:
    assert read_puffin(puffin(blob(compression_codec=None))).blobs[0].compression_codec is None


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("compress_footer", [False, True])
def test_written_file_is_read_back(compression: str | None, compress_footer: bool, tmp_path: Path) -> None:  # noqa: FBT001
    payloads = [b"", b"x", b"some text " * 1000, bytes(range(256)) * 300]
    writer = PuffinWriter(created_by="test ü", properties={"k": "v"}, compress_footer=compress_footer)
    written = [
        writer.add(Blob("note", payload, (1, 2), {"é": "\n"}, 5, 6, compression_codec=compression))
        for payload in payloads
    ]
    path = tmp_path / "file.puffin"
    path.write_bytes(writer.finish())
    for source in (PathSource(path), BytesSource(path.read_bytes())):
        file = read_puffin(source)
        assert file.blobs == tuple(written)
        assert file.properties == {"k": "v", "created-by": "test ü"}
        assert [read_blob(source, each) for each in file.blobs] == payloads


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Blob("note", b"", fields=(2**31,)), "does not fit 32 bits"),
        (Blob("note", b"", properties={"a": "\ud800"}), "not Unicode text"),
        (Blob("note", b"", snapshot_id=2**63), "does not fit 64 bits"),
        (Blob("note", b"", compression_codec="snappy"), "unknown compression codec 'snappy'"),
    ],
)
def test_blob_that_no_reader_would_take_is_not_written(wrong: Blob, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        PuffinWriter().add(wrong)


def test_footer_of_a_large_file_takes_one_read_from_the_end_and_one_of_the_magic() -> None:
    writer = PuffinWriter()
    writer.add(Blob("note", bytes(10**6)))
    source = CountingSource(writer.finish())
    read_puffin(source)
    assert [length for _, length in source.reads] == [8192, 4]


def test_long_footer_takes_two_reads_from_the_end() -> None:
    writer = PuffinWriter()
    for _ in range(500):
        writer.add(Blob("note", bytes(1000)))
    source = CountingSource(writer.finish())
    assert len(read_puffin(source).blobs) == 500
    assert len(source.reads) == 3
    assert sum(length for _, length in source.reads) < 100_000


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_compressed_bomb_is_refused(codec: str) -> None:
    bomb = compress(codec, bytes(50_000_000))
    with pytest.raises(FormatError, match="50000000 bytes of content, more than the limit of 1000000"):
        decompress(codec, bomb, limit=1_000_000)


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_bomb_that_does_not_say_its_size_is_refused(codec: str) -> None:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        for _ in range(50):
            stream.write(bytes(10**6))
    with pytest.raises(FormatError, match="gives more than 1000000 bytes"):
        decompress(codec, sink.getvalue().to_pybytes(), limit=1_000_000)


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_frame_without_its_size_is_read_within_the_limit(codec: str) -> None:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(b"some text")
    assert decompress(codec, sink.getvalue().to_pybytes()) == b"some text"


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_damaged_frame_is_refused(codec: str) -> None:
    frame = compress(codec, b"some text " * 100)
    for data in (b"", frame[:3], frame[:-1], frame[:12], frame + b"x", frame + frame, b"abcdefgh"):
        with pytest.raises(FormatError):
            decompress(codec, data)


def test_zstd_frame_with_a_huge_window_is_refused() -> None:
    with pytest.raises(FormatError, match="window of 2147483648 bytes"):
        decompress("zstd", bytes.fromhex("28b52ffd00a8010000"), limit=1000)


def test_lz4_frame_states_its_content_size_as_the_puffin_spec_requires() -> None:
    frame = compress("lz4", b"abc" * 1000)
    assert frame[4] & 0x08
    assert int.from_bytes(frame[6:14], "little") == 3000


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(["lz4", "zstd"]), st.binary(max_size=2000), st.integers(1, 100))
def test_any_content_is_decompressed_as_it_was(codec: str, data: bytes, times: int) -> None:
    assert decompress(codec, compress(codec, data * times)) == data * times
