from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from rowdelta.codec import EqualityDeleteVector
from rowdelta.codec import get_codec as get
from rowdelta.codec.deletion_vector import MAX_POSITION
from rowdelta.codec.set_compression import MAX_DELTA_VALUES
from rowdelta.encoding import (
    BatchStatistics,
    DeleteBatch,
    DeleteEncoding,
    DeleteFileFacts,
    EncodingChoice,
    KeyColumn,
    choose_encoding,
    validate,
)
from rowdelta.encoding.properties import CODECS as CODEC_NAMES
from rowdelta.errors import EncodingError

if TYPE_CHECKING:
    from collections.abc import Mapping

FULL_ROW, VECTOR, HASH_MAP = DeleteEncoding.FULL_ROW, DeleteEncoding.DELETION_VECTOR, DeleteEncoding.HASH_MAP
V1, V2, HASHED = "equality-delete-vector-v1", "equality-delete-vector-v2", "equality-delete-hash-v1"

HINT = "write.delete.encoding-hint"
CODECS = "write.delete.equality-vector.codecs"
SPARSITY = "write.delete.equality-vector.max-sparsity"
COMPRESSION = "write.deletion-vector.compression"
GRANULARITY = "write.delete.granularity"
ENABLED = {"write.delete.equality-vector.enabled": "true"}
HASHES = {"write.delete.hash-map.enabled": "true"}
ALL_CODECS = {**ENABLED, CODECS: "int,date,timestamp-micros,long-signed"}

ID = KeyColumn("id", "long")
THREE = BatchStatistics(3, 100, 1000)


def keys(
    *columns: KeyColumn,
    statistics: BatchStatistics = THREE,
    properties: Mapping[str, str] = ENABLED,
    version: int = 3,
) -> DeleteBatch:
    return DeleteBatch("equality", version, statistics, columns or (ID,), properties)


def positions(version: int, properties: Mapping[str, str] | None = None, granularity: str | None = None) -> DeleteBatch:
    return DeleteBatch("position", version, BatchStatistics(10, granularity=granularity), (), properties or {})


# The decision matrix of the requirements. Position deletes follow the table's version, because version 3 allows no new
# position delete files: its partition granularity is a matter of version 2.
@pytest.mark.parametrize(
    ("batch", "encoding"),
    [
        pytest.param(positions(3, granularity="file"), VECTOR, id="positions, file granularity"),
        pytest.param(positions(2, granularity="partition"), FULL_ROW, id="positions, partition granularity"),
        pytest.param(keys(ID), VECTOR, id="one long key"),
        pytest.param(keys(ID, KeyColumn("region", "long")), FULL_ROW, id="several keys"),
        pytest.param(keys(KeyColumn("name", "string")), FULL_ROW, id="a key that is no long"),
        pytest.param(keys(properties={**ENABLED, HINT: "full-row"}), FULL_ROW, id="hint full-row"),
    ],
)
def test_the_decision_matrix(batch: DeleteBatch, encoding: DeleteEncoding) -> None:
    assert choose_encoding(batch).encoding is encoding


def test_a_long_key_becomes_a_vector_of_version_1() -> None:
    assert choose_encoding(keys()) == EncodingChoice(
        VECTOR, V1, None, "roaring", "3 keys of long column 'id' as a bitmap", honoured_hint=True
    )


def test_positions_become_deletion_vectors_on_v3() -> None:
    choice = choose_encoding(positions(3))
    assert (choice.encoding, choice.blob_type, choice.compression) == (VECTOR, "deletion-vector-v1", "roaring")
    assert choice.granularity is None


@pytest.mark.parametrize("granularity", ["file", "partition"])
def test_granularity_does_not_matter_on_v3(granularity: str) -> None:
    assert choose_encoding(positions(3, {GRANULARITY: granularity})) == choose_encoding(positions(3))


@pytest.mark.parametrize(
    ("properties", "batch_granularity", "expected", "words"),
    [
        ({}, None, "file", "one for each data file"),
        ({GRANULARITY: "partition"}, None, "partition", "one for each partition"),
        ({GRANULARITY: "partition"}, "file", "file", "one for each data file"),
    ],
)
def test_positions_become_parquet_on_v2_with_the_tables_granularity(
    properties: dict[str, str], batch_granularity: str | None, expected: str, words: str
) -> None:
    choice = choose_encoding(positions(2, properties, batch_granularity))
    assert (choice.encoding, choice.blob_type, choice.compression) == (FULL_ROW, None, None)
    assert choice.granularity == expected
    assert words in choice.reason


@pytest.mark.parametrize(
    ("batch", "reason"),
    [
        (keys(version=2), "format version 2 has no Puffin delete files"),
        (keys(properties={}), "write.delete.equality-vector.enabled is false"),
        (keys(ID, KeyColumn("region", "int")), "the key has 2 columns ('id', 'region'), and a bitmap holds one"),
        (keys(KeyColumn("name", "string")), "key 'name' is of type string, which a bitmap cannot hold"),
        (keys(KeyColumn("at", "timestamp_ns")), "key 'at' is of type timestamp_ns, which a bitmap cannot hold"),
        (keys(KeyColumn("n", "int")), f"key 'n' is of type int, and {CODECS} does not name int"),
        (keys(KeyColumn("d", "date")), f"key 'd' is of type date, and {CODECS} does not name date"),
        (
            keys(KeyColumn("t", "timestamptz"), properties={**ENABLED, CODECS: "int,date"}),
            f"key 't' is of type timestamptz, and {CODECS} does not name timestamp-micros",
        ),
        (
            keys(statistics=BatchStatistics(3, -5, 10)),
            f"key 'id' has the negative value -5, and {CODECS} does not name long-signed",
        ),
        (
            keys(statistics=BatchStatistics(3, 1, 10, has_null=True)),
            f"key 'id' has a null in the batch, and {CODECS} does not name long-signed",
        ),
        (
            keys(statistics=BatchStatistics(3, 1, 1_000_000_001)),
            f"key 'id' is too sparse: range 1000000000 is more than 1000 times the 3 keys ({SPARSITY})",
        ),
        (
            keys(statistics=BatchStatistics(1, 5, 5 + 11), properties={**ENABLED, SPARSITY: "10"}),
            f"key 'id' is too sparse: range 11 is more than 10 times the 1 key ({SPARSITY})",
        ),
        (
            keys(statistics=BatchStatistics(1, 2**63 - 1, 2**63 - 1)),
            (
                f"key 'id' has the value {2**63 - 1}, which is more than {MAX_POSITION}, "
                f"and {CODECS} does not name long-signed"
            ),
        ),
        (keys(statistics=BatchStatistics(3)), "the smallest and largest values of key 'id' are not known"),
        (keys(statistics=BatchStatistics(0)), "the batch has no keys"),
    ],
)
def test_a_key_that_does_not_fit_falls_back_to_full_row_and_says_why(batch: DeleteBatch, reason: str) -> None:
    assert choose_encoding(batch) == EncodingChoice(FULL_ROW, None, None, None, reason, honoured_hint=True)


@pytest.mark.parametrize(
    ("statistics", "encoding"),
    [
        (BatchStatistics(3, 0, 3000), VECTOR),
        (BatchStatistics(3, 0, 3001), FULL_ROW),
        (BatchStatistics(3, 5000, 8000), VECTOR),
        (BatchStatistics(1, 2**62, 2**62), VECTOR),
        (BatchStatistics(3, 0, 2), VECTOR),
    ],
)
def test_a_vector_may_be_a_thousand_times_as_wide_as_its_keys_are_many(
    statistics: BatchStatistics, encoding: DeleteEncoding
) -> None:
    assert choose_encoding(keys(statistics=statistics)).encoding is encoding


@pytest.mark.parametrize(
    ("type_name", "codec"),
    [
        ("int", "int"),
        ("date", "date"),
        ("timestamp", "timestamp-micros"),
        ("timestamptz", "timestamp-micros"),
    ],
)
@pytest.mark.parametrize(
    "statistics",
    [THREE, BatchStatistics(3, -5, 10), BatchStatistics(3, 1, 9, has_null=True), BatchStatistics(0, has_null=True)],
)
def test_another_type_becomes_a_vector_of_version_2_where_its_codec_is_named(
    type_name: str, codec: str, statistics: BatchStatistics
) -> None:
    batch = keys(KeyColumn("k", type_name), statistics=statistics, properties={**ENABLED, CODECS: codec})
    choice = choose_encoding(batch)
    assert (choice.encoding, choice.blob_type, choice.codec, choice.compression) == (VECTOR, V2, codec, "roaring")


@pytest.mark.parametrize(
    "statistics",
    [BatchStatistics(3, -5, 10), BatchStatistics(3, 1, 10, has_null=True), BatchStatistics(0, has_null=True)],
)
def test_a_long_with_negatives_or_a_null_needs_the_signed_codec(statistics: BatchStatistics) -> None:
    choice = choose_encoding(keys(statistics=statistics, properties={**ENABLED, CODECS: "long-signed"}))
    assert (choice.blob_type, choice.codec) == (V2, "long-signed")


def test_a_plain_long_stays_in_version_1_even_if_codecs_are_named() -> None:
    assert choose_encoding(keys(properties=ALL_CODECS)).blob_type == V1


def test_codecs_alone_do_not_enable_vectors() -> None:
    choice = choose_encoding(keys(KeyColumn("n", "int"), properties={CODECS: "int"}))
    assert choice.reason == "write.delete.equality-vector.enabled is false"


def test_the_sparsity_limit_applies_to_version_2_too() -> None:
    batch = keys(KeyColumn("at", "timestamp"), statistics=BatchStatistics(2, 0, 60_000_000), properties=ALL_CODECS)
    assert "range 60000000 is more than 1000 times the 2 keys" in choose_encoding(batch).reason


def test_delta_zstd_makes_a_vector_of_version_2() -> None:
    choice = choose_encoding(keys(properties={**ALL_CODECS, COMPRESSION: "delta-zstd"}))
    assert (choice.encoding, choice.blob_type, choice.codec, choice.compression) == (VECTOR, V2, "long", "delta-zstd")


def test_delta_zstd_keeps_the_codec_of_the_type() -> None:
    choice = choose_encoding(keys(KeyColumn("d", "date"), properties={**ALL_CODECS, COMPRESSION: "delta-zstd"}))
    assert (choice.codec, choice.compression) == ("date", "delta-zstd")


def test_delta_zstd_without_codecs_falls_back_to_roaring_and_says_why() -> None:
    choice = choose_encoding(keys(properties={**ENABLED, COMPRESSION: "delta-zstd"}))
    assert (choice.blob_type, choice.codec, choice.compression) == (V1, None, "roaring")
    assert f"stored as roaring, not delta-zstd ({COMPRESSION}), because {CODECS} is empty" in choice.reason


def test_more_keys_than_delta_zstd_can_list_are_stored_as_roaring() -> None:
    most = BatchStatistics(MAX_DELTA_VALUES, 0, MAX_DELTA_VALUES)
    more = BatchStatistics(MAX_DELTA_VALUES + 1, 0, MAX_DELTA_VALUES)
    properties = {**ALL_CODECS, COMPRESSION: "delta-zstd"}
    assert choose_encoding(keys(statistics=most, properties=properties)).compression == "delta-zstd"
    choice = choose_encoding(keys(statistics=more, properties=properties))
    assert (choice.blob_type, choice.compression) == (V1, "roaring")
    assert f"because {MAX_DELTA_VALUES + 1} keys are more than {MAX_DELTA_VALUES}" in choice.reason


@pytest.mark.parametrize(("largest", "blob_type"), [(MAX_POSITION, V1), (MAX_POSITION + 1, V2), (2**63 - 1, V2)])
def test_a_long_that_javas_bitmap_refuses_needs_the_signed_codec(largest: int, blob_type: str) -> None:
    statistics = BatchStatistics(1, largest, largest)
    assert choose_encoding(keys(statistics=statistics, properties=ALL_CODECS)).blob_type == blob_type


def test_every_codec_that_can_be_chosen_exists() -> None:
    assert {get(name).name for name in (*CODEC_NAMES, "long")} == {*CODEC_NAMES, "long"}


def test_a_deletion_vector_of_positions_is_always_roaring() -> None:
    choice = choose_encoding(positions(3, {**ALL_CODECS, COMPRESSION: "delta-zstd"}))
    assert choice.compression == "roaring"
    assert "delta-zstd" in choice.reason


@pytest.mark.parametrize(
    "columns",
    [
        (KeyColumn("name", "string"),),
        (ID, KeyColumn("region", "string")),
        (KeyColumn("price", "decimal(10,2)"), KeyColumn("hash", "fixed[16]"), KeyColumn("u", "uuid")),
        (KeyColumn("price", "decimal(10, 2)"),),
        (ID,),
    ],
)
def test_keys_of_any_primitive_type_become_a_hash_map_where_enabled(columns: tuple[KeyColumn, ...]) -> None:
    choice = choose_encoding(keys(*columns, properties=HASHES))
    assert (choice.encoding, choice.blob_type, choice.codec, choice.compression) == (HASH_MAP, HASHED, None, None)
    assert choice.reason.endswith("; write.delete.hash-map.enabled is true")


def test_a_vector_goes_before_a_hash_map() -> None:
    assert choose_encoding(keys(properties={**ENABLED, **HASHES})).encoding is VECTOR


def test_a_hash_map_takes_what_a_vector_cannot() -> None:
    choice = choose_encoding(keys(statistics=BatchStatistics(3, -5, 10), properties={**ENABLED, **HASHES}))
    assert choice.encoding is HASH_MAP
    assert "key 'id' has the negative value -5" in choice.reason


@pytest.mark.parametrize("type_name", ["struct<1: a: optional long>", "list<long>", "map<string, long>", "variant"])
def test_a_nested_key_falls_back_to_full_row(type_name: str) -> None:
    choice = choose_encoding(keys(KeyColumn("k", type_name), properties={**ENABLED, **HASHES}))
    assert choice.encoding is FULL_ROW
    assert f"no hash-map: key 'k' is of type {type_name}, which is not primitive" in choice.reason


def test_a_hash_map_needs_version_3() -> None:
    choice = choose_encoding(keys(properties=HASHES, version=2))
    assert choice.encoding is FULL_ROW
    assert "no hash-map: format version 2 has no Puffin delete files" in choice.reason


@pytest.mark.parametrize(
    ("batch", "encoding", "honoured"),
    [
        (keys(properties={**ENABLED, HINT: "deletion-vector"}), VECTOR, True),
        (keys(properties={HINT: "deletion-vector"}), FULL_ROW, False),
        (keys(ID, ID, properties={**ENABLED, **HASHES, HINT: "deletion-vector"}), HASH_MAP, False),
        (keys(properties={**ENABLED, **HASHES, HINT: "full-row"}), FULL_ROW, True),
        (positions(3, {HINT: "deletion-vector"}), VECTOR, True),
        (positions(3, {HINT: "full-row"}), VECTOR, False),
        (positions(2, {HINT: "deletion-vector"}), FULL_ROW, False),
        (positions(2, {HINT: "full-row"}), FULL_ROW, True),
    ],
)
def test_a_hint_is_followed_where_possible(batch: DeleteBatch, encoding: DeleteEncoding, *, honoured: bool) -> None:
    choice = choose_encoding(batch)
    assert (choice.encoding, choice.honoured_hint) == (encoding, honoured)
    assert choice.reason


def test_the_reason_says_that_the_hint_decided() -> None:
    assert choose_encoding(keys(properties={**ENABLED, HINT: "full-row"})).reason == f"{HINT} is full-row"
    assert choose_encoding(positions(3, {HINT: "full-row"})).reason == (
        f"format version 3 allows no new position delete files, although {HINT} is full-row"
    )


@pytest.mark.parametrize(
    ("batch", "encoding", "reason"),
    [
        (keys(properties={}), "deletion-vector", "write.delete.equality-vector.enabled is false"),
        (keys(statistics=BatchStatistics(1, -5, -5)), "deletion-vector", "key 'id' has the negative value -5"),
        (keys(), "hash-map", "write.delete.hash-map.enabled is false"),
        (positions(2), "deletion-vector", "format version 2 has no Puffin delete files"),
        (positions(3), "full-row", "format version 3 allows no new position delete files"),
        (positions(3, HASHES), "hash-map", "hash-map holds keys, and these are positions"),
    ],
)
def test_a_strict_encoding_that_is_impossible_is_refused_with_the_reason(
    batch: DeleteBatch, encoding: str, reason: str
) -> None:
    with pytest.raises(EncodingError) as error:
        choose_encoding(batch, encoding=encoding)
    shown = DeleteEncoding(encoding).shown(batch.content)
    assert error.value.message.startswith(f"cannot write the deletes as {shown}: {reason}")
    instead = choose_encoding(batch).encoding.shown(batch.content)
    assert error.value.hint == f"omit encoding= to write them as {instead}"


@pytest.mark.parametrize("encoding", list(DeleteEncoding))
def test_a_strict_encoding_that_is_possible_is_used(encoding: DeleteEncoding) -> None:
    batch = keys(properties={**ENABLED, **HASHES})
    by_member, by_name = choose_encoding(batch, encoding=encoding), choose_encoding(batch, encoding=encoding.value)
    assert by_member == by_name
    assert by_member.encoding is encoding


@pytest.mark.parametrize("name", ["deletion-vector", "equality-delete-vector"])
def test_an_equality_delete_vector_is_asked_for_by_its_name_and_by_the_stored_one(name: str) -> None:
    choice = choose_encoding(keys(properties=ENABLED), encoding=name)
    assert (choice.encoding, choice.encoding.value) == (VECTOR, "deletion-vector")
    assert choice.encoding.shown("equality") == "equality-delete-vector"


def test_a_strict_encoding_goes_before_the_hint_and_the_choice_says_so() -> None:
    choice = choose_encoding(keys(properties={**ENABLED, HINT: "full-row"}), encoding="deletion-vector")
    assert (choice.encoding, choice.honoured_hint) == (VECTOR, False)
    assert choice.reason == "encoding='equality-delete-vector' was asked for"


def test_an_unknown_strict_encoding_is_refused() -> None:
    with pytest.raises(EncodingError, match="unknown delete encoding 'bitmap'"):
        choose_encoding(keys(), encoding="bitmap")


def test_the_estimated_bytes_are_stated_if_the_size_of_the_table_is_known() -> None:
    choice = choose_encoding(keys(statistics=BatchStatistics(1000, 1, 1000, total_rows=1_000_000)))
    assert choice.encoding is VECTOR
    assert choice.reason.endswith("; estimated 2666 bytes as full-row, 2024 bytes as equality-delete-vector")


def test_fewer_estimated_bytes_alone_do_not_rule_a_vector_out() -> None:
    choice = choose_encoding(keys(statistics=BatchStatistics(100, 0, 99, total_rows=1_000_000)))
    assert choice.encoding is VECTOR
    assert choice.reason.endswith("; estimated 266 bytes as full-row, 1124 bytes as equality-delete-vector")


def test_deleting_half_of_the_table_or_more_is_full_row() -> None:
    choice = choose_encoding(keys(statistics=BatchStatistics(600_000, 0, 600_000, total_rows=1_000_000)))
    assert choice.encoding is FULL_ROW
    assert choice.reason == (
        "600000 deletes in a table of 1000000 rows are not less than half of it: the cost estimate says full-row"
        "; estimated 1600000 bytes as full-row, 601024 bytes as equality-delete-vector"
    )


def test_an_empty_table_is_full_row() -> None:
    assert choose_encoding(keys(statistics=BatchStatistics(1, 0, 0, total_rows=0))).encoding is FULL_ROW


def test_a_fall_back_also_states_the_estimate() -> None:
    statistics = BatchStatistics(3, total_rows=100)
    choice = choose_encoding(keys(KeyColumn("name", "string"), statistics=statistics))
    assert choice.reason.endswith("; estimated 64 bytes as full-row, no estimate as equality-delete-vector")


def test_the_share_of_the_table_decides_only_under_an_auto_hint() -> None:
    statistics = BatchStatistics(60, 0, 60, total_rows=100)
    hinted = choose_encoding(keys(statistics=statistics, properties={**ENABLED, HINT: "deletion-vector"}))
    strict = choose_encoding(keys(statistics=statistics), encoding="deletion-vector")
    assert hinted.encoding is VECTOR
    assert "estimated" not in hinted.reason
    assert strict.encoding is VECTOR


def test_positions_stay_vectors_on_v3_whatever_their_share() -> None:
    batch = DeleteBatch("position", 3, BatchStatistics(90, total_rows=100))
    choice = choose_encoding(batch)
    assert choice.encoding is VECTOR
    assert choice.reason.endswith("; estimated 7920 bytes as full-row, 1114 bytes as deletion-vector")


def test_the_old_strategy_property_still_works_and_warns_at_the_caller() -> None:
    with pytest.warns(DeprecationWarning, match="write.delete.strategy") as warned:
        choice = choose_encoding(keys(properties={"write.delete.strategy": "equality"}))
    assert (choice.encoding, choice.honoured_hint) == (FULL_ROW, False)
    assert choice.reason == "write.delete.equality-vector.enabled is false"
    assert warned[0].filename == __file__


def test_a_bad_property_is_refused_even_if_it_would_not_matter() -> None:
    with pytest.raises(EncodingError, match=r"write\.delete\.hash-map\.enabled has the value 'maybe'"):
        choose_encoding(positions(2, {"write.delete.hash-map.enabled": "maybe"}))


def test_a_required_key_may_be_a_vector() -> None:
    assert choose_encoding(keys(KeyColumn("id", "long", required=True))).encoding is VECTOR


def test_a_null_in_a_required_key_is_refused() -> None:
    with pytest.raises(EncodingError, match="a null among the keys of the required column 'id'"):
        keys(KeyColumn("id", "long", required=True), statistics=BatchStatistics(1, 1, 1, has_null=True))


def test_format_version_1_is_refused() -> None:
    with pytest.raises(EncodingError, match="format version 1 has no delete files"):
        positions(1)


def test_a_later_format_version_is_like_3() -> None:
    assert choose_encoding(keys(version=4)).encoding is VECTOR
    assert choose_encoding(positions(4)).encoding is VECTOR


def test_equality_deletes_need_a_key_and_positions_have_none() -> None:
    with pytest.raises(EncodingError, match="equality deletes without a key column"):
        DeleteBatch("equality", 3, THREE)
    with pytest.raises(EncodingError, match="position deletes with the key column 'id'"):
        DeleteBatch("position", 3, THREE, (ID,))


def test_invalid_statistics_are_refused() -> None:
    with pytest.raises(EncodingError, match="a batch of -1 deletes"):
        BatchStatistics(-1)
    with pytest.raises(EncodingError, match="in a table of -1 rows"):
        BatchStatistics(1, total_rows=-1)
    with pytest.raises(EncodingError, match="the smallest key is 1, the largest is None"):
        BatchStatistics(1, minimum=1)
    with pytest.raises(EncodingError, match="the smallest key 2 is larger than the largest key 1"):
        BatchStatistics(2, 2, 1)
    with pytest.raises(EncodingError, match="unknown delete granularity 'table'"):
        BatchStatistics(1, granularity="table")


TYPES = ["long", "int", "date", "timestamp", "timestamptz", "string", "decimal(10,2)", "struct<>"]


@given(
    version=st.sampled_from([2, 3]),
    types=st.lists(st.sampled_from(TYPES), min_size=1, max_size=3),
    bounds=st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1)),
    cardinality=st.integers(1, 2**40),
    has_null=st.booleans(),
    total=st.none() | st.integers(0, 2**40),
    hint=st.sampled_from(["auto", "deletion-vector", "full-row"]),
    enabled=st.sampled_from([{}, ENABLED, HASHES, ALL_CODECS, {**ALL_CODECS, **HASHES, COMPRESSION: "delta-zstd"}]),
)
def test_every_choice_keeps_the_rules_and_has_a_reason(
    *,
    version: int,
    types: list[str],
    bounds: tuple[int, int],
    cardinality: int,
    has_null: bool,
    total: int | None,
    hint: str,
    enabled: dict[str, str],
) -> None:
    columns = [KeyColumn(f"k{index}", name) for index, name in enumerate(types)]
    statistics = BatchStatistics(cardinality, min(bounds), max(bounds), has_null, total_rows=total)
    choice = choose_encoding(keys(*columns, statistics=statistics, properties={**enabled, HINT: hint}, version=version))
    file_format = "PARQUET" if choice.encoding is FULL_ROW else "PUFFIN"
    validate(DeleteFileFacts("equality", file_format, choice.encoding, tuple(range(len(types)))))
    assert choice.reason
    if choice.blob_type is None:
        assert choice.encoding is FULL_ROW
    else:
        assert DeleteEncoding.infer("PUFFIN", choice.blob_type) is choice.encoding
    assert (choice.codec is not None) == (choice.blob_type == V2)
    if choice.compression is not None:
        codec, compression = choice.codec or "long", choice.compression
        vector = EqualityDeleteVector(1, BitMap64(), codec, compression, contains_null=has_null)
        assert vector.type == choice.blob_type
