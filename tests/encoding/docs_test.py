"""The documentation agrees with the code: hex examples, properties and defaults."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyroaring import BitMap64

from rowdelta.codec import (
    EqualityDeleteVector,
    decode_deletion_vector,
    decode_hash_map,
    encode_deletion_vector,
    encode_equality_vector_file,
    encode_hash_map,
    get_codec,
)
from rowdelta.codec.deletion_vector import MAX_POSITION
from rowdelta.codec.equality_vector import encode_equality_vector
from rowdelta.codec.set_compression import get_compression
from rowdelta.encoding import properties
from rowdelta.encoding.cost import FIELD_BYTES
from rowdelta.encoding.properties import DeleteProperties
from rowdelta.encoding.vector_fit import MOST_DELTA_VALUES

DOCS = Path(__file__).parents[2] / "docs"
FORMATS = (DOCS / "formats.md").read_text()
ENCODINGS = (DOCS / "encodings.md").read_text()
THREE = BitMap64([100, 500, 1000])

BLOCKS = re.findall(r"```text\n(.*?)```", FORMATS, re.DOTALL)


def shown(block: str) -> str:
    """The bytes of a hex block as one string. Text after two blanks and a word is an explanation."""
    lines = [re.sub(r"^[0-9a-f]{4}  ", "", line) for line in block.splitlines()]
    return "".join("".join(re.findall(r"(?<!\S)[0-9a-f]{2}(?!\S)", _hex_part(line))) for line in lines)


def _hex_part(line: str) -> str:
    match = re.match(r"(\s*[0-9a-f]{2}(?!\S))*", line)
    return match.group() if match else ""


def examples() -> list[str]:
    return [shown(block) for block in BLOCKS]


@pytest.mark.parametrize("values", [[], [1, 2**32], range(100_000), THREE])
def test_the_vectors_in_the_docs_are_what_the_code_writes(values: BitMap64) -> None:
    blob = encode_deletion_vector(BitMap64(values))
    assert blob.hex() in examples()
    assert decode_deletion_vector(blob) == BitMap64(values)


def test_the_file_in_the_docs_is_what_the_code_writes() -> None:
    assert encode_equality_vector_file(EqualityDeleteVector(1, THREE)).hex() in examples()


def test_the_int_keys_in_the_docs_are_what_the_code_writes() -> None:
    encoded = get_codec("int").encode(np.array([-1, 0, 1]))
    assert [f"{value:08x}" for value in encoded] == ["7fffffff", "80000000", "80000001"]
    vector = EqualityDeleteVector(3, BitMap64(encoded.tolist()), codec="int")
    assert encode_equality_vector(vector).payload.hex() in examples()


def test_the_delta_zstd_set_in_the_docs_is_one() -> None:
    (example,) = [bytes.fromhex(text) for text in examples() if text.startswith(b"RDS1".hex())]
    assert get_compression("delta-zstd").decode(example, cardinality=3) == THREE


def test_the_hashed_keys_in_the_docs_start_as_the_code_writes_them() -> None:
    (example,) = [text for text in examples() if text.startswith(b"RDH1".hex())]
    blob = encode_hash_map(np.array([0x0000_0001_0000_0003, 12]), pa.table({"name": ["a", "b"]}))
    bitmap_end = 16 + 20
    # The length of the compressed keys, and so these 8 bytes, depend on the library.
    assert blob[:8].hex() == example[:16]
    assert blob[16 : bitmap_end + 4].hex() == example[32:]
    assert list(decode_hash_map(blob).bitmap) == [2, 12]


def test_the_docs_list_every_table_property_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(write\.[a-z.-]+)` \| (.*?) \|", ENCODINGS, re.MULTILINE))
    default = DeleteProperties()
    assert rows == {
        properties.ENCODING_HINT: f"`{default.hint}`",
        properties.EQUALITY_VECTOR_ENABLED: f"`{str(default.equality_vector_enabled).lower()}`",
        properties.EQUALITY_VECTOR_CODECS: "empty",
        properties.EQUALITY_VECTOR_MAX_SPARSITY: f"`{default.equality_vector_max_sparsity}`",
        properties.HASH_MAP_ENABLED: f"`{str(default.hash_map_enabled).lower()}`",
        properties.VECTOR_COMPRESSION: f"`{default.vector_compression}`",
        properties.DELETE_GRANULARITY: f"`{default.granularity}`",
        properties.UPSERT_RESOLVE: "not set",
        properties.DELETE_STRATEGY: "not set",
    }
    assert default.upsert_resolve is None


def test_the_docs_give_the_limits_and_sizes_of_the_code() -> None:
    assert str(MAX_POSITION) in FORMATS
    assert str(MAX_POSITION) in ENCODINGS
    assert f"{MOST_DELTA_VALUES:,}" in ENCODINGS
    sizes = ENCODINGS.split("## Cost formulas")[1].split("##")[0]
    for types, size in re.findall(r"^\| (`.*`) \| (\d+) \|$", sizes, re.MULTILINE):
        assert {FIELD_BYTES[name] for name in re.findall(r"`(.*?)`", types)} == {int(size)}
