"""What a commit leaves on the storage if another writer was faster: nothing, even if the catalog leaves a file."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from tests.lake.components import NAMESPACE
from tests.support.oracle import ids
from tests.support.races import FasterWriter
from tests.support.tables import EDV, create, keys

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lake.lake import Lake


@pytest.mark.parametrize("component", ["hadoop", "s3", "rest", "postgres", "hive"])
def test_a_lost_race_leaves_no_metadata_file(lake: Lake, monkeypatch: pytest.MonkeyPatch, component: str) -> None:
    lake.use(component)
    name = f"{component}.{NAMESPACE}.lost_{uuid.uuid4().hex[:8]}"
    table = create(lake.spark, name, "id bigint", properties=EDV)
    keys(lake.spark, 0, 1, 2, 3).writeTo(name).append()
    folder = lake.components.find_folder(table.refresh().metadata.location) / "metadata"
    before = list_metadata(folder)
    FasterWriter(monkeypatch, lambda: keys(lake.spark, 4).writeTo(name).append())
    table.delete_keys(keys(lake.spark, 1), "id").execute()
    assert ids(rd.table(lake.spark, name)) == [0, 2, 3, 4]
    assert len(list_metadata(folder) - before) == 2  # of the other writer, and of the second attempt


def list_metadata(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if ".metadata.json" in path.name and not path.name.endswith(".crc")}
