"""Write the support table of README.md from the tests: format version x kind of delete x operation.

    .venv/bin/python scripts/support_table.py            # writes the table
    .venv/bin/python scripts/support_table.py --check    # fails if the table is out of date

A cell such as `12 of 85` counts the test cases that prove it: 85 in all, of which `make test SAMPLE=0` runs 12. Pytest
collects and chooses the cases here as it does in a run. Impossible combinations come from the tests' list of what must
be refused. When these tests or `tests/costs.json` change, `tests/docs_test.py` fails until you run this script.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROOT: Final = Path(__file__).resolve().parent.parent
README: Final = ROOT / "README.md"
START, END = "<!-- --8<-- [start:support] -->", "<!-- --8<-- [end:support] -->"
SEED: Final = 0

Case = dict[str, Any]
Kind = tuple[int, str]

KINDS: Final[dict[Kind, str]] = {
    (2, "position"): "position delete files",
    (2, "full-row"): "equality delete files",
    (2, "deletion-vector"): "equality delete vectors",
    (2, "hash-map"): "hash maps",
    (3, "position"): "deletion vectors",
    (3, "upgraded"): "position delete files from version 2",
    (3, "full-row"): "equality delete files",
    (3, "deletion-vector"): "equality delete vectors",
    (3, "hash-map"): "hash maps",
}
# These kinds already delete by position, so `resolve` has nothing to do.
RESOLVED: Final = {(2, "position"), (3, "position"), (3, "upgraded")}
# The parameters that make up the fixture `scenario`.
SCENARIO: Final = ("version", "encoding", "key", "layout")
OPERATIONS: Final = {
    "read": "`read`",
    "write": "written",
    "change": "`delete`, `update`, `merge` over them",
    "resolve": "`resolve`",
    "rewrite": "`rewrite_deletes`",
    "compact": "`compact`",
    "plain": "plain Spark reads them",
}


@dataclass
class Cases:
    """The cases of each test, by its node id: all of them, and those of the sample."""

    every: dict[str, list[Case]] = field(default_factory=lambda: defaultdict(list))
    sampled: dict[str, list[Case]] = field(default_factory=lambda: defaultdict(list))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Records every case, before some are deselected."""
        self._add(self.every, items)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Records the cases of the sample."""
        self._add(self.sampled, session.items)

    @staticmethod
    def _add(cases: dict[str, list[Case]], items: Iterable[pytest.Item]) -> None:
        for item in items:
            spec = getattr(item, "callspec", None)
            cases[item.nodeid.split("[")[0]].append(_unpacked(spec.params) if spec else {})


def _unpacked(parameters: Case) -> Case:
    """The parameters of a case; those that make up the fixture `scenario` get their own names."""
    scenario = parameters.get("scenario")
    return {**parameters, **dict(zip(SCENARIO, scenario, strict=True))} if scenario else parameters


def collect_cases() -> Cases:
    """Collects the cases of the tests that are evidence, and the sample of them, without running any."""
    cases = Cases()
    files = {ROOT / evidence.file for evidence in [*EVIDENCE, *(shown for _, shown in OTHERWISE)]}
    arguments = ["--collect-only", "-qq", f"--sample={SEED}", f"--rootdir={ROOT}", "-p", "no:cacheprovider"]
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        status = pytest.main([*arguments, *sorted(map(str, files))], plugins=[cases])
    if status != pytest.ExitCode.OK:
        raise SystemExit(output.getvalue())
    return cases


@dataclass(frozen=True)
class Evidence:
    """A test that proves an operation, and the kinds of delete that each of its cases covers."""

    operation: str
    module: str
    test: str
    kinds: Callable[[Case], Iterator[Kind]]
    parameters: tuple[str, ...] = ()  # cases that differ in other parameters count once; empty to count every case

    @property
    def file(self) -> str:
        """The file of the test."""
        return f"{self.module.replace('.', '/')}.py"

    def count(self, cases: dict[str, list[Case]]) -> Counter[Kind]:
        """Counts the cases of each kind."""
        mine = cases[f"{self.file}::{self.test}"]
        if self.parameters:
            values = sorted({tuple(case[name] for name in self.parameters) for case in mine})
            mine = [dict(zip(self.parameters, some, strict=True)) for some in values]
        return Counter(kind for case in mine for kind in self.kinds(case))


def _equality(case: Case) -> Iterator[Kind]:
    yield case["version"], case["encoding"]


def _equality_and_positions(case: Case) -> Iterator[Kind]:
    """The histories of the conformance tests also delete by position."""
    yield case["version"], case["encoding"]
    yield case["version"], "position"


def _as_oracle(case: Case) -> Iterator[Kind]:
    if (case["version"], case["encoding"]) == (2, "full-row"):
        yield from [(2, "full-row"), (2, "position")]


def _by_mode(case: Case) -> Iterator[Kind]:
    if case["kind"].mode == "merge-on-read":
        yield case["kind"].version, "position"


def _upserted(case: Case) -> Iterator[Kind]:
    """The table allows vectors: on version 3, a key of one long column becomes a vector."""
    vector = case["version"] > 2 and case["named"] == "id"  # noqa: PLR2004
    yield case["version"], "deletion-vector" if vector else "full-row"


def _with_keys_of_one_column(case: Case) -> Iterator[Kind]:
    """Tables that allow vectors, with deletes by key and by position."""
    yield case["version"], "deletion-vector" if case["version"] > 2 else "full-row"  # noqa: PLR2004
    yield case["version"], "position"


def _only(*kinds: Kind) -> Callable[[Case], Iterator[Kind]]:
    return lambda _case: iter(kinds)


CONFORMANCE: Final = "tests.read.conformance_test"
SAME_ROWS: Final = "test_a_table_reads_as_the_iceberg_reader_reads_its_equivalent"
RESOLVE: Final = "tests.maintenance.resolve_matrix_test"
RESOLVED_ROWS: Final = "test_iceberg_reader_finds_the_rows_of_the_model_after_resolve"
EVERY_KIND: Final = "tests.every_kind_test"
EVIDENCE: Final = [
    Evidence("read", CONFORMANCE, SAME_ROWS, _equality_and_positions),
    Evidence(
        "read",
        "tests.verbs.dml_delete_test",
        "test_positions_of_version_2_stay_deleted_after_an_upgrade",
        _only((3, "upgraded")),
    ),
    Evidence("write", CONFORMANCE, SAME_ROWS, _equality),
    *(
        Evidence("write", f"tests.verbs.dml_{verb}_test", f"test_{verb}_gives_what_iceberg_sql_gives", _by_mode)
        for verb in ("delete", "update", "merge")
    ),
    Evidence("write", "tests.cdc.property_test", "test_a_table_follows_its_changes", _upserted),
    Evidence(
        "write",
        "tests.delta.golden_test",
        "test_every_version_can_be_converted_from_nothing_and_in_any_order",
        lambda case: iter([(case["format_version"], "position")]),
        ("format_version",),
    ),
    *(
        Evidence("change", f"tests.verbs.dml_{verb}_test", f"test_{verb}_gives_what_iceberg_sql_gives", _by_mode)
        for verb in ("delete", "update", "merge")
    ),
    Evidence(
        "change",
        "tests.verbs.dml_delete_test",
        "test_positions_of_version_2_stay_deleted_after_an_upgrade",
        _only((3, "upgraded")),
    ),
    Evidence(
        "change",
        "tests.verbs.dml_delete_test",
        "test_every_verb_sees_only_rows_that_no_key_deletes",
        lambda case: iter([(case.get("version", 3), case["encoding"])]),
    ),
    Evidence("change", EVERY_KIND, "test_rows_are_changed_over_deletes_by_key", _equality),
    Evidence("resolve", RESOLVE, RESOLVED_ROWS, _equality),
    Evidence(
        "rewrite",
        "tests.maintenance.rewrite_deletes_test",
        "test_full_rows_become_vectors_and_back_and_keep_their_age",
        _only((3, "full-row"), (3, "deletion-vector"), (3, "hash-map")),
    ),
    Evidence(
        "rewrite",
        "tests.maintenance.rewrite_deletes_test",
        "test_composite_keys_become_hash_maps_and_back",
        _only((3, "full-row"), (3, "hash-map")),
    ),
    Evidence(
        "rewrite",
        "tests.maintenance.rewrite_deletes_test",
        "test_many_position_deletes_become_one_for_each_data_file",
        _only((2, "position")),
    ),
    Evidence(
        "rewrite",
        "tests.maintenance.rewrite_deletes_test",
        "test_positions_become_vectors_after_an_upgrade",
        _only((3, "upgraded"), (3, "position")),
    ),
    Evidence(
        "compact",
        "tests.maintenance.compact_test",
        "test_a_compacted_table_has_the_same_rows_in_fewer_files_and_no_deletes",
        _with_keys_of_one_column,
    ),
    Evidence("compact", EVERY_KIND, "test_plain_spark_reads_a_compacted_table", _equality),
    Evidence("compact", EVERY_KIND, "test_positions_from_before_an_upgrade_are_compacted", _only((3, "upgraded"))),
    # Iceberg's reader is the oracle of the conformance tests: of the same history with standard deletes of version 2.
    Evidence("plain", CONFORMANCE, SAME_ROWS, _as_oracle),
    Evidence("plain", EVERY_KIND, "test_plain_spark_reads_standard_deletes", _equality),
    Evidence("plain", RESOLVE, RESOLVED_ROWS, lambda case: iter([(case["version"], "position")])),
    Evidence(
        "plain",
        "tests.verbs.dml_delete_test",
        "test_positions_of_version_2_stay_deleted_after_an_upgrade",
        _only((3, "upgraded")),
    ),
]
# Cells that say something else, and the test that shows it.
OTHERWISE: Final = [
    ("refused", Evidence("plain", EVERY_KIND, "test_plain_spark_refuses_what_it_does_not_know", _equality)),
    (
        "left as they are",
        Evidence(
            "rewrite",
            EVERY_KIND,
            "test_on_version_2_there_is_no_other_encoding_to_write_deletes_in",
            _only((2, "full-row")),
        ),
    ),
]


def support_table(cases: Cases) -> str:
    """Renders the table as Markdown, with the impossible kinds and their reasons below it."""
    words = {(shown.operation, kind): word for word, shown in OTHERWISE for kind in shown.count(cases.every)}
    impossible = _impossible()
    every, sampled = _counts(cases.every), _counts(cases.sampled)
    lines = [
        f"| version | deletes | {' | '.join(OPERATIONS.values())} |",
        f"|---|---|{'---|' * len(OPERATIONS)}",
    ]
    for kind, title in KINDS.items():
        cells = ["-"] * len(OPERATIONS)
        if kind not in impossible:
            cells = [
                words.get((operation, kind)) or _cell(operation, kind, sampled[operation], every[operation])
                for operation in OPERATIONS
            ]
        lines.append(f"| {kind[0]} | {title} | {' | '.join(cells)} |")
    reasons: dict[str, list[str]] = {}
    for kind, reason in impossible.items():
        reasons.setdefault(reason, []).append(KINDS[kind])
    notes = [f"\\-: no {' and no '.join(names)}, because {reason}." for reason, names in reasons.items()]
    return "\n".join([*lines, "", *notes])


def _counts(cases: dict[str, list[Case]]) -> dict[str, Counter[Kind]]:
    """The number of cases of each operation and kind."""
    counts: dict[str, Counter[Kind]] = {operation: Counter() for operation in OPERATIONS}
    for evidence in EVIDENCE:
        counts[evidence.operation] += evidence.count(cases)
    return counts


def _cell(operation: str, kind: Kind, sampled: Counter[Kind], every: Counter[Kind]) -> str:
    if operation == "resolve" and kind in RESOLVED:
        return "not needed"
    if operation == "write" and kind == (3, "upgraded"):
        return "never on 3"
    return f"{sampled[kind]} of {every[kind]}" if every[kind] else "no test"


def _impossible() -> dict[Kind, str]:
    """Finds the kinds that are refused for every key."""
    conformance = importlib.import_module(CONFORMANCE)
    tested = {(version, encoding) for version, encoding, *_ in conformance.CASES}
    refused = {(version, encoding): reason for version, encoding, _, reason in conformance.IMPOSSIBLE}
    return {kind: reason for kind, reason in refused.items() if kind not in tested}


def with_table(text: str) -> str:
    """Puts the table between the markers of a document."""
    before, rest = text.split(START)
    _, after = rest.split(END)
    return f"{before}{START}\n{support_table(collect_cases())}\n{END}{after}"


def main() -> None:
    """Writes the table into README.md, or checks it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing, and fail if README.md is out of date")
    arguments = parser.parse_args()
    text = README.read_text(encoding="utf-8")
    current = with_table(text)
    if not arguments.check:
        README.write_text(current, encoding="utf-8")
    elif text != current:
        raise SystemExit("the support table of README.md is out of date: run .venv/bin/python scripts/support_table.py")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
