from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rowdelta as rd

if TYPE_CHECKING:
    from tests.support.table_pairs import Pair


pytestmark = pytest.mark.slow


def test_update_with_aliases_nested_fields_and_comments(pair: Pair) -> None:
    numbers = pair.change("UPDATE lake.{db}.orders SET amount = amount + 1, region = 'X' WHERE id < 5")
    assert (numbers["rows_updated"], numbers["rows_deleted"], numbers["rows_inserted"]) == (3, 0, 0)
    pair.change(
        "update lake.{db}.orders as o set o.amount = /* twice */ o.amount * 2, -- then\n"
        "o.info.b = concat(o.info.b, ', = ', upper('set')) where o.id = 6"
    )
    pair.change("UPDATE lake.{db}.orders SET lake.{db}.orders.amount = -orders.amount WHERE {db}.orders.id > 15")
    pair.change("UPDATE lake.{db}.orders SET `region` = NULL, info = named_struct('a', 1, 'b', 'x')")
    assert pair.change("UPDATE lake.{db}.orders SET amount = 0 WHERE id = 3")["snapshot_id"] is None


def test_update_with_subqueries(pair: Pair) -> None:
    pair.change(
        "UPDATE lake.{db}.orders SET amount = (SELECT max(amount) FROM lake.{db}.orders) "
        "WHERE id IN (SELECT id FROM lake.{db}.orders WHERE region = 'EU')"
    )
    pair.change(
        "UPDATE lake.{db}.orders o SET amount = "
        "(SELECT max(i.amount) FROM lake.{db}.orders i WHERE i.region = o.region) WHERE o.id > 10"
    )


def test_update_refuses_what_it_cannot_do(pair: Pair) -> None:
    with pytest.raises(rd.InputError, match="DEFAULT"):
        pair.rowdelta("UPDATE lake.{db}.orders SET amount = DEFAULT")
    with pytest.raises(rd.InputError, match="twice"):
        pair.rowdelta("UPDATE lake.{db}.orders SET amount = 1, amount = 2")
    with pytest.raises(rd.InputError, match="no column"):
        pair.rowdelta("UPDATE lake.{db}.orders SET amuont = 1")
