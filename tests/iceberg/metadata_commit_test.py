"""Metadata changes are retried after a conflict, and report a catalog that does not answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

import rowdelta as rd
from rowdelta.iceberg.metadata_commit import ATTEMPTS, commit_metadata


class CommitFailedException(PySparkException):
    """Another writer commits first."""


class CommitStateUnknownException(PySparkException):
    """The catalog does not answer."""


class ForbiddenException(PySparkException):
    """The catalog rejects the commit."""


class Catalog:
    """A table whose commits fail in given ways; each failure comes with a commit of another writer."""

    def __init__(self, *failures: type[PySparkException]) -> None:
        self.version = 0
        self.committed: list[str] = []
        self._failures = list(failures)
        self.name = "lake.db.t"
        self.refreshes = 0
        self.state = SimpleNamespace(location="")
        self.gateway = SimpleNamespace(
            iceberg=SimpleNamespace(TableMetadata=SimpleNamespace(buildFrom=lambda base: Builder(base.version)))
        )
        self.java_table = SimpleNamespace(operations=lambda: self)

    def refresh(self) -> None:
        self.refreshes += 1
        self.state = SimpleNamespace(location=f"v{self.version}")

    def current(self) -> Any:
        return SimpleNamespace(version=self.version, metadataFileLocation=lambda: f"v{self.version}")

    def commit(self, base: Any, made: str) -> None:
        if self._failures:
            self.version += 1
            raise self._failures.pop(0)("it failed")
        assert base.version == self.version
        self.committed.append(made)


class Builder:
    def __init__(self, version: int) -> None:
        self._made = f"after v{version}"

    def build(self) -> str:
        return self._made


def commit(catalog: Catalog, change: Any = lambda builder: builder) -> bool:
    return commit_metadata(catalog, change, "move branch 'audit'")  # type: ignore[arg-type]


def test_a_lost_race_is_retried_on_the_new_state() -> None:
    catalog = Catalog(CommitFailedException, CommitFailedException)
    assert commit(catalog)
    assert catalog.committed == ["after v2"]
    assert catalog.refreshes == 4  # before each try, and once after it


def test_nothing_is_committed_if_there_is_nothing_to_do() -> None:
    catalog = Catalog()
    assert not commit(catalog, lambda _: None)
    assert catalog.committed == []


@pytest.mark.parametrize(
    ("failures", "error", "message"),
    [
        ([CommitFailedException] * ATTEMPTS, rd.CommitConflictError, "faster every time"),
        (
            [CommitStateUnknownException],
            rd.CommitStateUnknownError,
            "did not answer the request to move branch",
        ),
        ([ForbiddenException], rd.TableError, "refused to move branch 'audit': ForbiddenException"),
    ],
)
def test_what_cannot_be_committed_says_why(
    failures: list[type[PySparkException]], error: type[rd.RowDeltaError], message: str
) -> None:
    catalog = Catalog(*failures)
    with pytest.raises(error, match=message):
        commit(catalog)
    assert catalog.committed == []
