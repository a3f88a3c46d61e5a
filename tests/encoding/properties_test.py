from __future__ import annotations

import pytest

from rowdelta.encoding.properties import DeleteProperties
from rowdelta.errors import EncodingError

HINT = "write.delete.encoding-hint"
ENABLED = "write.delete.equality-vector.enabled"
CODECS = "write.delete.equality-vector.codecs"
SPARSITY = "write.delete.equality-vector.max-sparsity"
HASH_MAP = "write.delete.hash-map.enabled"
COMPRESSION = "write.deletion-vector.compression"
GRANULARITY = "write.delete.granularity"
STRATEGY = "write.delete.strategy"


def test_a_table_without_properties_writes_what_every_engine_reads() -> None:
    assert DeleteProperties.from_mapping({"write.format.default": "parquet"}) == DeleteProperties(
        hint="auto",
        equality_vector_enabled=False,
        equality_vector_codecs=(),
        equality_vector_max_sparsity=1000,
        hash_map_enabled=False,
        vector_compression="roaring",
        granularity="file",
    )


def test_every_property_is_read() -> None:
    parsed = DeleteProperties.from_mapping(
        {
            HINT: "deletion-vector",
            ENABLED: "true",
            CODECS: "int,date,timestamp-micros,long-signed",
            SPARSITY: "50",
            HASH_MAP: "true",
            COMPRESSION: "delta-zstd",
            GRANULARITY: "partition",
        }
    )
    codecs = ("int", "date", "timestamp-micros", "long-signed")
    assert parsed == DeleteProperties("deletion-vector", True, codecs, 50, True, "delta-zstd", "partition")


def test_case_and_blanks_do_not_matter() -> None:
    parsed = DeleteProperties.from_mapping(
        {HINT: "Full-Row", ENABLED: " TRUE ", CODECS: " Int, ,int ,", SPARSITY: " 7"}
    )
    assert (parsed.hint, parsed.equality_vector_enabled, parsed.equality_vector_codecs) == ("full-row", True, ("int",))
    assert parsed.equality_vector_max_sparsity == 7


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (HINT, "bitmap"),
        (HINT, "hash-map"),
        (HINT, ""),
        (ENABLED, "yes"),
        (ENABLED, "1"),
        (HASH_MAP, ""),
        (SPARSITY, "0"),
        (SPARSITY, "-1"),
        (SPARSITY, "1.5"),
        (SPARSITY, "many"),
        (SPARSITY, ""),
        (SPARSITY, "١٢"),
        (CODECS, "int,uuid"),
        (CODECS, "long"),
        (COMPRESSION, "zstd"),
        (GRANULARITY, "table"),
    ],
)
def test_a_bad_value_is_refused_with_the_property_and_the_value(name: str, value: str) -> None:
    with pytest.raises(EncodingError) as error:
        DeleteProperties.from_mapping({name: value})
    assert error.value.message == f"table property {name} has the value {value!r}"
    assert error.value.hint is not None
    assert error.value.hint.startswith("use ")


def test_the_hint_takes_both_names_of_a_vector() -> None:
    for word in ("equality-delete-vector", "Deletion-Vector"):
        assert DeleteProperties.from_mapping({HINT: word}).hint == "deletion-vector"


def test_the_old_strategy_equality_prefers_vectors_but_does_not_enable_them() -> None:
    with pytest.warns(DeprecationWarning, match=r"write\.delete\.strategy \('equality'\) is deprecated: set write"):
        parsed = DeleteProperties.from_mapping({STRATEGY: "equality"})
    assert (parsed.hint, parsed.equality_vector_enabled) == ("deletion-vector", False)


@pytest.mark.parametrize("strategy", ["position", "anything"])
def test_any_other_old_strategy_is_auto(strategy: str) -> None:
    with pytest.warns(DeprecationWarning, match="is deprecated"):
        assert DeleteProperties.from_mapping({STRATEGY: strategy}) == DeleteProperties()


def test_the_old_strategy_is_ignored_if_there_is_a_hint() -> None:
    with pytest.warns(DeprecationWarning, match=r"it is ignored because write\.delete\.encoding-hint is set"):
        assert DeleteProperties.from_mapping({STRATEGY: "equality", HINT: "auto"}) == DeleteProperties()


def test_the_warning_points_at_the_caller() -> None:
    with pytest.warns(DeprecationWarning, match="is deprecated") as warned:
        DeleteProperties.from_mapping({STRATEGY: "position"})
    assert warned[0].filename == __file__
