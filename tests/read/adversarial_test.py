"""Tables whose metadata or delete files are wrong, or correct but easy to misread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from tests.support.golden import MISSING
from tests.support.reduced_tables import install_variant, variants

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

VARIANTS = variants()

# What a variant that must be refused is refused with: by rowdelta, or by Iceberg's reader before it gives a row.
REFUSALS = {
    "badseq": r'dataSequenceNumber\(\)" is null',
    "dvbadcrc": "Invalid CRC for deletion vector",
    "dvbadmagic": "Invalid magic number",
    "dvbigoff": "has content_offset 4611686018427387904",
    "dvdupscheme": "two deletion vectors for",
    # A path outside the table is legal (`write.data.path`, object storage layouts). What is there is no delete file.
    "dvescape": "EOFException|FileNotFoundException",
    "eqescape": "ends after [0-9]+ bytes|cannot read|is not a Parquet file",
    "dvnoref": "has no referenced_data_file",
    "dvv2": "in a table of format version 2",
    "eqdotdot": "leaves its folder",
    "eqnofields": "Cannot parse missing field: fields",
    "eqnoids": "has no equality_ids",
    "eqpart_datanospec": "has no partition spec in its manifest list",
    "nullpos": "NullPointerException",
}
# What facts.json leaves to the implementation: ids, or the refusal.
OWN_CHOICE: dict[str, list[int] | str] = {
    "eqmissing": [1, 2, 3, 4, 5],  # the column is null in all rows, and 42 in the delete
    "eqpart": [1, 2, 3, 4, 5],  # the delete is for a partition of a spec that no data file has
    "eqtype": [],  # the column is in neither file: null equals null
    "eqpart_incomparable": "a partition value of region that is not a valid string",
}
# Where rowdelta does not do what facts.json says.
DIFFERENT: dict[str, list[int] | str] = {
    # Only the Puffin footer claims a codec: the bytes at the offset are a sound, uncompressed vector. Readers go by the
    # manifest's offset and size and open no footer; bytes that were compressed would not have the magic.
    "dvcompressed": [1, 3, 4, 5],
    # facts.json passes over a vector that is older than its data file. Iceberg's reader holds that no sound writer can
    # have made it.
    "dvnoapply": r"DV data sequence number \(4\) must be greater than or equal to data file sequence number \(5\)",
    # facts.json passes over an equality delete without a key because it is as old as the data. The spec requires the
    # key, and Iceberg's reader fails as well.
    "equality": "has no equality_ids",
}


def read_ids(spark: SparkSession, warehouse: Path, variant: str) -> list[int]:
    table = rd.table(spark, f"lake.{install_variant(variant, warehouse)}")
    return sorted(row.id for row in table.read().collect())


def expected(variant: str) -> list[int] | str:
    """The ids to be read, or what the refusal says."""
    if variant in DIFFERENT:
        return DIFFERENT[variant]
    fact: dict[str, Any] = VARIANTS[variant]
    if fact["expect"] == "rows":
        ids: list[int] = fact["ids"]
        return ids
    return REFUSALS[variant] if fact["expect"] == "refuse" else OWN_CHOICE[variant]


@pytest.mark.skipif(not VARIANTS, reason=MISSING)
@pytest.mark.parametrize("variant", VARIANTS)
def test_an_adversarial_table_gives_the_right_rows_or_none(spark: SparkSession, warehouse: Path, variant: str) -> None:
    outcome = expected(variant)
    if isinstance(outcome, list):
        assert read_ids(spark, warehouse, variant) == outcome
    else:
        with pytest.raises(Exception, match=outcome):
            read_ids(spark, warehouse, variant)


@pytest.mark.skipif(not VARIANTS, reason=MISSING)
def test_only_the_variants_named_here_differ_from_what_is_known() -> None:
    assert len(VARIANTS) == 36
    refused = {name for name, fact in VARIANTS.items() if fact["expect"] == "refuse"}
    assert set(REFUSALS) == refused - set(DIFFERENT)
    assert set(OWN_CHOICE) == {name for name, fact in VARIANTS.items() if fact["expect"] == "implementation-specific"}
