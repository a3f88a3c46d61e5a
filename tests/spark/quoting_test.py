"""Names and strings survive quoting, joining and splitting, whatever they contain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowdelta.spark import append_to_name, quote, quote_path, quote_string, quote_where_needed, split_name, unquote

ODD_NAMES = ["a b", "a.b", "we`ird", "`", "``", ".", "'", '"q"', "a\\b", "line\nend", "ü€😀", "select", "${x}", "1st"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_unquoting_a_quoted_name_gives_the_name(name: str) -> None:
    assert unquote(quote(name)) == name
    assert split_name(quote(name)) == (name,)
    assert split_name(quote_where_needed([name])) == (name,)


@given(st.lists(st.text(min_size=1), min_size=1))
def test_a_joined_name_splits_into_its_parts(parts: list[str]) -> None:
    assert split_name(quote_path(parts)) == tuple(parts)
    assert split_name(quote_where_needed(parts)) == tuple(parts)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("````.a", ("`", "a")),
        ("`a.b`.c", ("a.b", "c")),
        ('"a.b"', ('"a', 'b"')),
        ("a b. c", ("a b", " c")),
        ("'a'.b", ("'a'", "b")),
    ],
)
def test_only_backticks_protect_a_dot(name: str, parts: tuple[str, ...]) -> None:
    assert split_name(name) == parts


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("", ("",)),
        (".", ("", "")),
        ("a..b", ("a", "", "b")),
        ("a.", ("a", "")),
        ("``.b", ("``", "b")),
        ("`a.b", ("`a", "b")),
        ("a`b.c", ("a`b", "c")),
        ("`a`b.c", ("`a`b", "c")),
        ("```a", ("```a",)),
    ],
)
def test_a_name_that_is_not_well_formed_is_split_at_every_dot(name: str, parts: tuple[str, ...]) -> None:
    assert split_name(name) == parts


@pytest.mark.parametrize(
    ("quoted", "name"),
    [
        ("", ""),
        ("a", "a"),
        ("`", "`"),
        ('"', '"'),
        ("``", ""),
        ('"a""b"', 'a"b'),
        ('"a`b"', "a`b"),
        ('`a"b`', 'a"b'),
        ("'a'", "'a'"),
    ],
)
def test_backticks_and_double_quotes_are_removed(quoted: str, name: str) -> None:
    assert unquote(quoted) == name


@pytest.mark.parametrize(
    ("part", "written"),
    [("a_1", "a_1"), ("_", "_"), ("1a", "`1a`"), ("a-b", "`a-b`"), ("é", "`é`"), ("", "``"), ("a\n", "`a\n`")],
)
def test_only_what_is_not_a_plain_identifier_is_quoted(part: str, written: str) -> None:
    assert quote_where_needed([part]) == written


@pytest.mark.parametrize("name", ["orders", "db.orders", "`my orders`", "db.`my.orders`", "`a``b`.c", "db.`o``r`"])
def test_a_suffix_belongs_to_the_last_part(name: str) -> None:
    *parents, last = split_name(name)
    assert split_name(append_to_name(name, "_copy")) == (*parents, f"{last}_copy")


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("", "''"),
        ("o'b", r"'o\'b'"),
        ("''", r"'\'\''"),
        ("a\\b", r"'a\\b'"),
        ("\\'", r"'\\\''"),
        ("\\", r"'\\'"),
        ("\\u0041", r"'\\u0041'"),
        ('"`${x}%', "'\"`${x}%'"),
        ("a\nb", "'a\nb'"),
        ("ü€😀", "'ü€😀'"),
    ],
)
def test_quotes_and_backslashes_of_a_string_are_escaped(text: str, literal: str) -> None:
    assert quote_string(text) == literal
