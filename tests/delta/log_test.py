from __future__ import annotations

import datetime as dt
import json
import re
import struct
from typing import Any

import pytest

import rowdelta as rd
from rowdelta.codec import DeletionVectorDescriptor
from rowdelta.delta.actions import DeltaCommit, Metadata, Protocol, join_commits, parse_commit
from rowdelta.delta.features import SUPPORTED_FEATURES, check_metadata, check_protocol
from rowdelta.delta.log_values import convert_partition_value, encode_bound
from rowdelta.delta.paths import index_by_path, resolve_data_path, resolve_vector_path
from rowdelta.delta.schema import FIRST_NESTED_ID, convert_schema, read_name_mapping
from rowdelta.delta.statistics import build_metrics_modes, parse_statistics


def _field(name: str, kind: Any, *, nullable: bool = True, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata}


def _struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def _list(kind: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": kind, "containsNull": True}


def _map(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": False}


def _table(*fields: dict[str, Any], mode: str = "none", partition: tuple[str, ...] = ()) -> Metadata:
    return Metadata("id", _struct(*fields), partition, {"delta.columnMapping.mode": mode})


def _mapped(name: str, kind: Any, number: int, physical: str, **more: Any) -> dict[str, Any]:
    return _field(
        name, kind, **{"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical, **more}
    )


def test_ids_are_assigned_in_the_order_of_column_mapping() -> None:
    nested = _struct(_field("x", "integer"), _field("y", _list(_struct(_field("z", "string")))))
    converted = convert_schema(_table(_field("a", "long", nullable=False), _field("b", nested), _field("c", "date")))
    assert converted.ids == {
        ("a",): 1,
        ("b",): 2,
        ("b", "x"): 3,
        ("b", "y"): 4,
        ("b", "y", "element"): FIRST_NESTED_ID,
        ("b", "y", "element", "z"): 5,
        ("c",): 6,
    }
    assert read_name_mapping(converted.name_mapping) == converted.ids
    assert converted.fields[0] == {"id": 1, "name": "a", "required": True, "type": "long"}
    # Statistics are of columns outside of lists alone.
    assert [leaf.name for leaf in converted.leaves.values()] == ["a", "b.x", "c"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("byte", "int"),
        ("short", "int"),
        ("integer", "int"),
        ("timestamp", "timestamptz"),
        ("timestamp_ntz", "timestamp"),
        ("decimal(9,2)", "decimal(9, 2)"),
        ("varchar(5)", "string"),
        ("binary", "binary"),
    ],
)
def test_types_have_their_counterparts(kind: str, expected: str) -> None:
    assert convert_schema(_table(_field("a", kind))).fields[0]["type"] == expected


def test_all_columns_that_cannot_be_had_are_named_at_once() -> None:
    table = _table(
        _field("v", "variant"), _field("n", "void"), _field("s", _struct(_field("i", "interval day to second")))
    )
    with pytest.raises(rd.InputError, match=r"3 column.*v is of type variant.*n is of type void.*s\.i is of type"):
        convert_schema(table)


def test_with_column_mapping_ids_and_physical_names_are_those_of_delta() -> None:
    table = _table(
        _mapped("a", "long", 7, "col-1"),
        _mapped("b", _struct(_mapped("x", "integer", 9, "col-3")), 8, "col-2"),
        _mapped("l", _list("string"), 10, "col-4", **{"delta.columnMapping.nested.ids": {"col-4.element": 11}}),
        mode="name",
        partition=("a",),
    )
    converted = convert_schema(table)
    assert converted.ids[("col-2", "col-3")] == 9
    assert converted.ids[("col-4", "element")] == 11
    assert converted.fields[2]["type"]["element-id"] == 11
    assert list(converted.partition) == ["col-1"]
    assert converted.leaves[("col-2", "col-3")].name == "b.x"


@pytest.mark.parametrize("kind", [_list("string"), _map("string", "long"), _list(_list("long"))])
def test_elements_that_have_no_id_in_the_files_are_refused(kind: Any) -> None:
    with pytest.raises(rd.InputError, match="has no field id in the files"):
        convert_schema(_table(_mapped("l", kind, 1, "col-1"), mode="id"))


def test_a_name_keeps_its_id_when_it_comes_back_or_changes_its_type() -> None:
    first = convert_schema(_table(_field("a", "long"), _field("b", "string")))
    second = convert_schema(_table(_field("b", "string"), _field("c", "long")), first.ids)
    third = convert_schema(_table(_field("a", "string"), _field("c", "long")), second.ids)
    assert {path[0]: number for path, number in third.ids.items()} == {"a": 1, "b": 2, "c": 3}
    # Values of partitions are in manifests, which are read by id: there another type must be another id.
    assert convert_schema(_table(_field("a", "string")), first.ids, {1: "long"}).fields[0]["id"] == 3
    assert convert_schema(_table(_field("a", "long")), first.ids, {1: "int"}).fields[0]["id"] == 1


def test_turning_column_mapping_on_keeps_the_ids_or_is_refused() -> None:
    before = convert_schema(_table(_field("a", "long"), _field("b", "string"))).ids
    same = _table(_mapped("a", "long", 1, "a"), _mapped("b", "string", 2, "b"), mode="name")
    assert convert_schema(same, before).ids == before
    other = _table(_mapped("b", "string", 1, "b"), _mapped("a", "long", 2, "a"), mode="name")
    with pytest.raises(rd.InputError, match=r"(?s)column b had field id 2 and has 1.*new Iceberg table"):
        convert_schema(other, before)


def test_types_that_were_widened_beyond_what_iceberg_reads_are_refused() -> None:
    def changed(old: str, new: str) -> Metadata:
        changes: Any = {"delta.typeChanges": [{"fromType": old, "toType": new}]}
        return _table(_field("a", new, **changes))

    assert convert_schema(changed("short", "long")).fields[0]["type"] == "long"
    assert convert_schema(changed("decimal(5,2)", "decimal(9,2)")).fields[0]["type"] == "decimal(9, 2)"
    for old, new in (("integer", "double"), ("decimal(5,2)", "decimal(9,4)"), ("date", "timestamp_ntz")):
        with pytest.raises(rd.InputError, match="which Iceberg cannot read"):
            convert_schema(changed(old, new))


def test_reader_features_that_are_not_known_are_listed() -> None:
    check_protocol(Protocol(3, SUPPORTED_FEATURES))
    with pytest.raises(rd.InputError, match=r"cannot be mirrored: fancy, variantType\n.*deletionVectors"):
        check_protocol(Protocol(3, frozenset({"variantType", "fancy", "deletionVectors"})))
    with pytest.raises(rd.InputError, match="reader version 4"):
        check_protocol(Protocol(4))
    with pytest.raises(rd.InputError, match="'orc', not Parquet"):
        check_metadata(Metadata("id", _struct(), (), {}, "orc"))
    with pytest.raises(rd.InputError, match="mode is 'letter'"):
        check_metadata(_table(mode="letter"))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("part-0.parquet", "file:/lake/t/part-0.parquet"),
        ("p=a%20b%252Fc/x.parquet", "file:/lake/t/p=a b%2Fc/x.parquet"),
        ("file:/other/x%20y.parquet", "file:/other/x y.parquet"),
        ("file:///other/x.parquet", "file:///other/x.parquet"),
        ("s3a://bucket/%C3%A4.parquet", "s3a://bucket/ä.parquet"),
        ("/plain/x%25.parquet", "/plain/x%.parquet"),
    ],
)
def test_paths_of_the_log_are_found(path: str, expected: str) -> None:
    assert resolve_data_path("file:/lake/t", path) == expected


def test_a_malformed_escape_is_refused() -> None:
    with pytest.raises(rd.FormatError, match="malformed escape"):
        resolve_data_path("file:/lake/t", "a%2x.parquet")
    with pytest.raises(rd.FormatError, match="malformed escape"):
        resolve_vector_path("file:/lake/t", DeletionVectorDescriptor("p", "file:/a%special/x.bin", 1, 40, 2))


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        (None, "string", None),
        ("", "int", None),
        ("-7", "long", -7),
        ("true", "boolean", True),
        ("1.50", "decimal(5, 2)", "1.50"),
        ("1.5", "decimal(5, 2)", "1.50"),
        ("2024-02-29", "date", "2024-02-29"),
        ("2024-02-29 01:02:03.4", "timestamp", "2024-02-29T01:02:03.400000"),
        ("2024-02-29T01:02:03.123456Z", "timestamptz", "2024-02-29T01:02:03.123456+00:00"),
        ("2024-02-29 01:02:03", "timestamptz", "2024-02-28T16:02:03+00:00"),
        ("2024-02-29 01:02:03+01:00", "timestamptz", "2024-02-29T00:02:03+00:00"),
        ("ab", "binary", "6162"),
        ("2.5", "double", 2.5),
        ("+12000-02-29", "date", "+12000-02-29"),
        ("-0044-03-15", "date", "-0044-03-15"),
        ("0000-12-31", "date", "0000-12-31"),
        ("-0044-03-15 10:00:00", "timestamp", "-0044-03-15T10:00:00"),
        ("+12000-07-01 01:02:03.5", "timestamptz", "+12000-06-30T16:02:03.500000+00:00"),
        ("0001-01-01 00:00:00", "timestamptz", "0000-12-31T14:41:01+00:00"),
        ("9999-12-31T23:59:59.999999-10:00", "timestamptz", "+10000-01-01T09:59:59.999999+00:00"),
    ],
)
def test_partition_values_are_read_by_type(text: str | None, kind: str, expected: Any) -> None:
    assert convert_partition_value(text, kind, "Asia/Tokyo") == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x", "int"),
        ("maybe", "boolean"),
        ("NaN", "double"),
        ("1.234", "decimal(5, 2)"),
        ("2023-02-29", "date"),
        ("2024-01-01 25:00:00", "timestamp"),
        ("2024-01-01 10:00:00 Nowhere", "timestamptz"),
        ("+300000-01-01 00:00:00", "timestamp"),
    ],
)
def test_a_partition_value_that_does_not_fit_is_refused(text: str, kind: str) -> None:
    with pytest.raises(rd.FormatError, match=f"partition value {re.escape(repr(text))}"):
        convert_partition_value(text, kind, "UTC")


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("Z", "12"),
        ("+02:00", "10"),
        ("UTC-3", "15"),
        ("GMT+0530", "06"),
        ("America/New_York", "17"),
        ("Etc/GMT-1", "11"),
    ],
)
def test_time_zones_are_those_that_spark_knows(zone: str, expected: str) -> None:
    assert convert_partition_value("2024-01-31 12:00:00", "timestamptz", zone)[11:13] == expected


def test_an_unknown_time_zone_is_refused() -> None:
    for zone in ("Mars/Olympus", "+99:00"):
        with pytest.raises(rd.InputError, match=r"time zone .* is not known"):
            convert_partition_value("2024-01-31 12:00:00", "timestamptz", zone)


def test_statistics_become_metrics_of_stored_rows() -> None:
    table = _table(
        _field("i", "integer"),
        _field("t", "timestamp"),
        _field("s", _struct(_field("d", "decimal(9,2)"), _field("f", "double"))),
        _field("gone", _list("long")),
    )
    schema = convert_schema(table)
    text = json.dumps(
        {
            "numRecords": 10,
            "minValues": {"i": -3, "t": "2024-01-01T00:00:00.123Z", "s": {"d": -1.5, "f": 0.0}, "unknown": 1},
            "maxValues": {"i": 300, "t": "2024-01-01T01:00:00.123+01:00", "s": {"d": 2.25, "f": "NaN"}},
            "nullCount": {"i": 1, "t": 0, "s": {"d": 10, "f": 2}, "gone": 3},
        }
    )
    metrics = parse_statistics(text, schema.leaves)
    assert metrics is not None
    at = (dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc) - dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)).days
    micros = at * 86_400_000_000 + 123_000
    assert metrics.record_count == 10
    assert metrics.null_value_counts == {1: 1, 2: 0, 4: 10, 5: 2}
    assert metrics.value_counts == {1: 10, 2: 10, 4: 10, 5: 10}
    assert metrics.lower_bounds[1] == struct.pack("<i", -3)
    assert metrics.upper_bounds[1] == struct.pack("<i", 300)
    assert metrics.lower_bounds[2] == struct.pack("<q", micros)
    assert metrics.upper_bounds[2] == struct.pack("<q", micros + 1000), "Delta cuts what is below a millisecond"
    assert metrics.lower_bounds[4] == (-150).to_bytes(2, "big", signed=True)
    assert metrics.upper_bounds[4] == (225).to_bytes(2, "big", signed=True)
    assert metrics.lower_bounds[5] == struct.pack("<d", -0.0)
    assert 5 not in metrics.upper_bounds, "NaN is no bound"
    assert build_metrics_modes(schema.leaves) == {"write.metadata.metrics.column.t": "counts"}


def test_bounds_that_are_not_tight_are_kept_only_where_rows_are_deleted() -> None:
    leaves = convert_schema(_table(_field("i", "long"))).leaves
    text = (
        '{"numRecords": 3, "minValues": {"i": 0}, "maxValues": {"i": 9}, "nullCount": {"i": 0}, "tightBounds": false}'
    )
    loose, with_deletes = parse_statistics(text, leaves), parse_statistics(text, leaves, deletes=True)
    assert loose is not None
    assert with_deletes is not None
    assert (loose.record_count, loose.lower_bounds) == (3, {})
    assert set(with_deletes.lower_bounds) == {1}


def test_statistics_without_a_number_of_rows_are_none() -> None:
    leaves = convert_schema(_table(_field("i", "long"))).leaves
    assert parse_statistics(None, leaves) is None
    assert parse_statistics("{}", leaves) is None
    with pytest.raises(rd.FormatError, match="statistics"):
        parse_statistics("[1]", leaves)


def test_what_cannot_be_a_bound_is_omitted() -> None:
    assert encode_bound("0000-01-01", "date", upper=False) is None
    assert encode_bound("2024-01-01T00:00:00.000", "timestamptz", upper=False) is None
    assert encode_bound(2**40, "int", upper=True) is None
    assert encode_bound(True, "boolean", upper=True) is None
    assert encode_bound(0.0, "double", upper=True) == struct.pack("<d", 0.0)


def _commit(version: int, adds: dict[str, int | None], removes: dict[str, int | None]) -> DeltaCommit:
    def action(kind: str, path: str, rows: int | None) -> str:
        vector = (
            None if rows is None else {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 8, "cardinality": rows}
        )
        content = {"path": path, "partitionValues": {}, "size": 1, "dataChange": True, "deletionVector": vector}
        return json.dumps({kind: content})

    lines = [action("remove", *item) for item in removes.items()] + [action("add", *item) for item in adds.items()]
    return parse_commit(version, version * 1000, "\n".join(["", *lines]))


def test_commits_of_a_range_become_one_change() -> None:
    joined = join_commits(
        [
            _commit(1, {"a": None, "b": None, "c": None}, {"old": None}),
            _commit(2, {"a": 1}, {"a": None, "b": None}),
            _commit(3, {"x": 2, "old": None}, {"x": 1}),
            _commit(4, {"a": 5, "x": 3}, {"a": 1, "x": 2}),
        ]
    )
    assert joined.version == 4
    vectors = {path: None if add.vector is None else add.vector.cardinality for path, add in joined.adds.items()}
    # b came and went, unless the table had it before; `old` went and came back; x was there before and only its deletes
    # changed.
    assert vectors == {"a": 5, "c": None, "x": 3, "old": None}
    assert {path: remove.uncertain for path, remove in joined.removes.items()} == {
        "old": False,
        "x": False,
        "a": True,
        "b": True,
    }
    before = joined.removes["x"].vector
    assert before is not None
    assert before.cardinality == 1


@pytest.mark.parametrize("data_change", ["true", "false"])
def test_a_file_that_was_added_again_is_still_removed_with_its_range(data_change: str) -> None:
    again = f'{{"add": {{"path": "a", "partitionValues": {{}}, "size": 1, "dataChange": {data_change}}}}}'
    joined = join_commits([parse_commit(1, 0, again), _commit(2, {}, {"a": None})])
    assert not joined.adds
    assert joined.removes["a"].uncertain, "it may also have come with the first commit"


def test_a_range_changes_rows_where_one_of_its_commits_does() -> None:
    moved = '{"add": {"path": "b", "size": 1, "dataChange": false}}\n{"remove": {"path": "a", "dataChange": false}}'
    optimized = parse_commit(2, 0, moved)
    assert join_commits([optimized]).replaces
    assert not join_commits([_commit(1, {"a": None}, {}), optimized]).replaces
    assert not join_commits([optimized, parse_commit(3, 0, "")]).changes_rows


def test_summer_time_is_that_of_the_zone_in_every_year() -> None:
    """Python's calendar ends in the year 9999; the rules of a time zone repeat every 400 years."""
    for year in ("2024", "9999", "+12000"):
        winter, summer = f"{year}-01-15 12:00:00", f"{year}-07-15 12:00:00"
        assert convert_partition_value(winter, "timestamptz", "Europe/Berlin") == f"{year}-01-15T11:00:00+00:00"
        assert convert_partition_value(summer, "timestamptz", "Europe/Berlin") == f"{year}-07-15T10:00:00+00:00"


def _lines(*actions: tuple[str, str, int | None]) -> str:
    """Actions of one commit in this order."""
    return "\n".join(
        json.dumps(
            {
                kind: {
                    "path": path,
                    "partitionValues": {},
                    "size": 1,
                    "dataChange": True,
                    "deletionVector": None
                    if rows is None
                    else {"storageType": "i", "pathOrInlineDv": str(rows), "sizeInBytes": 8, "cardinality": rows},
                }
            }
        )
        for kind, path, rows in actions
    )


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([("add", "a", None), ("add", "a", 3)], "version 7 of the Delta log adds a twice, with different"),
        ([("add", "a", 2), ("add", "a", 3)], "adds a twice, with different deletion vectors"),
        ([("remove", "a", None), ("remove", "a", 3)], "removes a twice, with different deletion vectors"),
        ([("add", "a", 3), ("remove", "a", 3)], "adds a and removes it again"),
    ],
)
def test_a_commit_that_contradicts_itself_is_refused(actions: list[Any], message: str) -> None:
    with pytest.raises(rd.FormatError, match=f"{message}.*\nHint: mode='full' asks Delta Lake"):
        parse_commit(7, 0, _lines(*actions))


def test_an_action_that_is_there_twice_counts_once() -> None:
    found = parse_commit(7, 0, _lines(*[("remove", "a", None), ("add", "a", 3)] * 1, ("add", "a", 3)))
    assert (len(found.adds), len(found.removes)) == (1, 1)


def test_two_paths_of_one_file_are_refused() -> None:
    assert index_by_path("file:/lake/t", {"a%20b": 1, "c": 2}) == {"file:/lake/t/a b": 1, "file:/lake/t/c": 2}
    with pytest.raises(rd.FormatError, match="names the file file:/lake/t/a by two different paths"):
        index_by_path("file:/lake/t", {"a": 1, "file:/lake/t/a": 2})


def test_a_log_without_columns_is_refused() -> None:
    with pytest.raises(rd.FormatError, match=r"the Delta table has no columns: .*schemaString\nHint"):
        parse_commit(0, 0, '{"metaData": {"id": "x", "partitionColumns": []}}')


def test_a_line_that_is_not_an_action_is_refused() -> None:
    with pytest.raises(rd.FormatError, match="line 2 of version 7"):
        parse_commit(7, 0, '{"txn":{}}\n{"add":{"path":"x"}}')
