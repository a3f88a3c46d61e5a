"""Every verb, on every component, on both format versions."""

from __future__ import annotations

import time
import traceback
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError

import rowdelta as rd
from tests.lake.components import COMPONENTS
from tests.lake.lake import NO_PYTHON
from tests.lake.report import VERSIONS, Outcome
from tests.lake.stray_files import find_stray_files
from tests.lake.table_model import TableModel
from tests.lake.verbs import VERBS

if TYPE_CHECKING:
    from tests.lake.lake import Lake
    from tests.lake.report import Report


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("component", COMPONENTS)
def test_every_verb_gives_the_rows_of_the_model(lake: Lake, report: Report, component: str, version: int) -> None:
    """Runs the verbs one after another on one table. After one that fails, the rest continue on a new table."""
    lake.use(component)
    failures = []
    model = TableModel(lake, component, version)
    for name in VERBS:
        rows = {key: dict(row) for key, row in model.rows.items()}
        started = time.monotonic()
        error = run_verb(model, name)
        report.outcomes[name, component, version] = Outcome(not error, time.monotonic() - started)
        if error:
            failures.append(f"{name} on {component}, version {version}:\n{error}")
            model = TableModel(lake, component, version, rows)
    assert not failures, "\n\n".join(failures)
    assert find_stray_files(model.table) == []


def run_verb(model: TableModel, name: str) -> str:
    """Runs a verb, and compares the whole table with the model; returns why it failed."""
    try:
        VERBS[name](model)
        model.check()
    except Exception:  # noqa: BLE001 - the test fails with it, after the other verbs
        return traceback.format_exc()
    return ""


def test_executors_have_no_python(lake: Lake) -> None:
    with pytest.raises(Py4JJavaError, match=f'Cannot run program "{NO_PYTHON}"'):
        lake.spark.sparkContext.parallelize([1]).map(str).collect()


def test_every_public_verb_is_tried() -> None:
    public = {name for name in vars(rd.Table) if not name.startswith("_")} - {"name", "branch", "metadata"}
    tried = {name.replace(",", "").split()[0] for name in VERBS}
    assert public | {"sql", "from_delta", "cdc.stream"} <= tried
