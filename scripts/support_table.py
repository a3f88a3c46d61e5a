"""Write the support table of README.md from the tests: format version x kind of delete x operation.

Each cell counts the test cases that prove it, taken from the parameters of the tests. Impossible combinations come from
the tests' list of what must be refused. If a test is renamed or loses its parameters, the table changes, and
`tests/docs_test.py` fails until you run `.venv/bin/python scripts/support_table.py`.
"""

from __future__ import annotations

import importlib
import itertools
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT: Final = Path(__file__).resolve().parent.parent
README: Final = ROOT / "README.md"
START, END = "<!-- --8<-- [start:support] -->", "<!-- --8<-- [end:support] -->"

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


@dataclass(frozen=True)
class Evidence:
    """A test that proves an operation, and the kinds of delete that each of its cases covers."""

    operation: str
    module: str
    test: str
    kinds: Callable[[Case], Iterator[Kind]]
    parameters: tuple[str, ...] = ()  # the parameters that determine the kinds; others are not counted

    def count(self) -> Counter[Kind]:
        """Counts the cases of each kind."""
        return Counter(kind for case in self._cases() for kind in self.kinds(case))

    def _cases(self) -> Iterator[Case]:
        test = getattr(importlib.import_module(self.module), self.test)
        lists = []
        for mark in getattr(test, "pytestmark", []):
            if mark.name != "parametrize":
                continue
            names = mark.args[0] if isinstance(mark.args[0], (tuple, list)) else [mark.args[0]]
            names = SCENARIO if names == ["scenario"] else names
            if not self.parameters or set(names) & set(self.parameters):
                lists.append([_case(names, value) for value in mark.args[1]])
        for parts in itertools.product(*lists):
            yield {name: value for part in parts for name, value in part.items()}


def _case(names: Sequence[str], value: Any) -> Case:
    if isinstance(value, type(pytest.param())):
        return dict(zip(names, value.values, strict=True))
    values = value if isinstance(value, (tuple, list)) and len(names) > 1 else (value,)
    return dict(zip(names, values, strict=True))


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
SAME_ROWS: Final = "test_a_table_reads_as_stock_iceberg_reads_its_equivalent"
RESOLVE: Final = "tests.maintenance.resolve_matrix_test"
RESOLVED_ROWS: Final = "test_stock_iceberg_reads_a_resolved_table_as_the_model_has_it"
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
    Evidence("compact", EVERY_KIND, "test_a_compacted_table_is_read_by_stock_iceberg", _equality),
    Evidence("compact", EVERY_KIND, "test_positions_from_before_an_upgrade_are_compacted", _only((3, "upgraded"))),
    # Iceberg's reader is the oracle of the conformance tests: of the same history with standard deletes of version 2.
    Evidence("plain", CONFORMANCE, SAME_ROWS, _as_oracle),
    Evidence("plain", EVERY_KIND, "test_stock_iceberg_reads_standard_deletes", _equality),
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
    ("refused", Evidence("plain", EVERY_KIND, "test_stock_iceberg_refuses_what_it_does_not_know", _equality)),
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


def support_table() -> str:
    """Renders the table as Markdown, with the impossible kinds and their reasons below it."""
    counts: dict[str, Counter[Kind]] = {operation: Counter() for operation in OPERATIONS}
    for evidence in EVIDENCE:
        counts[evidence.operation] += evidence.count()
    words = {(evidence.operation, kind): word for word, evidence in OTHERWISE for kind in evidence.count()}
    impossible = _impossible()
    lines = [
        f"| version | deletes | {' | '.join(OPERATIONS.values())} |",
        f"|---|---|{'---|' * len(OPERATIONS)}",
    ]
    for (version, name), title in KINDS.items():
        if (version, name) in impossible:
            cells = ["-"] * len(OPERATIONS)
        else:
            cells = [
                words.get((operation, (version, name))) or _cell(operation, (version, name), counts[operation])
                for operation in OPERATIONS
            ]
        lines.append(f"| {version} | {title} | {' | '.join(cells)} |")
    reasons: dict[str, list[str]] = {}
    for (version, name), reason in impossible.items():
        reasons.setdefault(reason, []).append(KINDS[version, name])
    notes = [f"\\-: no {' and no '.join(names)}, because {reason}." for reason, names in reasons.items()]
    return "\n".join([*lines, "", *notes])


def _cell(operation: str, kind: Kind, counts: Counter[Kind]) -> str:
    if operation == "resolve" and kind in RESOLVED:
        return "not needed"
    if operation == "write" and kind == (3, "upgraded"):
        return "never on 3"
    return f"yes ({counts[kind]})" if counts[kind] else "no test"


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
    return f"{before}{START}\n{support_table()}\n{END}{after}"


def main() -> None:
    """Updates README.md."""
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
