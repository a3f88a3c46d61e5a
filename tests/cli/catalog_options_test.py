"""Where tables are: `--warehouse`, `--catalog-config` and `--conf`."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import rowdelta as rd
from rowdelta._session import _make_start_settings, _merge_settings
from rowdelta.cli.app import app
from rowdelta.cli.catalog_options import Place, read_place, read_settings

REST = {
    "spark.sql.catalog.prod": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.prod.type": "rest",
    "spark.sql.catalog.prod.cache-enabled": "false",
}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "spark-defaults.conf",
            (
                "# the catalog\n\nspark.sql.catalog.prod=org.apache.iceberg.spark.SparkCatalog\n"
                "  spark.sql.catalog.prod.type\t rest \n! old\nspark.sql.catalog.prod.cache-enabled = false"
            ),
        ),
        (
            "prod.yaml",
            (
                "spark.sql.catalog.prod: org.apache.iceberg.spark.SparkCatalog\n"
                "spark.sql.catalog.prod.type: rest\nspark.sql.catalog.prod.cache-enabled: false\n"
            ),
        ),
        (
            "prod.json",
            (
                '{"spark.sql.catalog.prod": "org.apache.iceberg.spark.SparkCatalog",\n'
                '"spark.sql.catalog.prod.type": "rest", "spark.sql.catalog.prod.cache-enabled": false}'
            ),
        ),
    ],
)
def test_settings_are_read_from_lines_yaml_and_json(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert read_settings(tmp_path / name) == REST


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.conf", "spark.a=1\nspark.b\n", r"a\.conf, line 2: 'spark\.b' has no value\nHint: write key=value"),
        ("a.conf", "sql.catalog.prod=x", r"line 1: 'sql\.catalog\.prod' is not a Spark setting"),
        ("a.conf", b"\xff\xfe", "is not text"),
        ("a.yaml", "- spark.a", "is not a mapping of Spark settings"),
        ("a.yaml", "spark.sql: {catalog: x}", r"the value of spark\.sql is not text"),
        ("a.yaml", "spark.a:", r"the value of spark\.a is not text"),
        ("a.json", "{", "is not JSON"),
    ],
)
def test_a_wrong_file_of_settings_is_refused(name: str, text: str | bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(rd.InputError, match=message):
        read_settings(tmp_path / name)


def test_conf_wins_over_the_file_and_secrets_are_not_repeated(tmp_path: Path) -> None:
    file = tmp_path / "prod.conf"
    file.write_text("spark.sql.catalog.prod.uri http://old\nspark.a 1\n")
    conf = ["spark.sql.catalog.prod.uri=http://new?a=b", "spark.sql.catalog.prod.credential=id:s3cret"]
    place = read_place(None, file, conf)
    assert place.settings["spark.sql.catalog.prod.uri"] == "http://new?a=b"
    assert place.settings["spark.sql.catalog.prod.credential"] == "id:s3cret"
    assert place.settings["spark.a"] == "1"
    assert place.words[:4] == ("--catalog-config", str(file), "--conf", "spark.sql.catalog.prod.uri=http://new?a=b")
    assert "s3cret" not in " ".join(place.words)


def test_one_catalog_needs_no_name_and_of_several_sparks_default_counts() -> None:
    other = {"spark.sql.catalog.test": "org.apache.iceberg.spark.SparkCatalog"}
    assert Place(settings=REST).default_catalog == "prod"
    assert Place(settings=REST | other).default_catalog is None
    assert Place(settings=REST | other | {"spark.sql.defaultCatalog": "test"}).default_catalog == "test"
    assert Place(Path("warehouse"), REST).default_catalog == "lake"


def test_our_packages_and_extensions_join_those_of_the_user() -> None:
    ours = _make_start_settings(delta=True)
    packages, extensions = "spark.jars.packages", "spark.sql.extensions"
    merged = _merge_settings(ours, {packages: "org.apache.iceberg:iceberg-aws-bundle:1.12.0", extensions: "a.B"})
    assert merged[packages].startswith("org.apache.iceberg:iceberg-aws-bundle:1.12.0,org.apache.iceberg:iceberg-spark")
    assert merged[extensions] == f"a.B,{ours[extensions]}"
    own = "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0,io.delta:delta-spark_4.0_2.13:4.1.0"
    assert _merge_settings(ours, {packages: own})[packages] == own
    assert (
        "iceberg"
        not in _merge_settings(ours, {"spark.jars": "jars/iceberg-spark-runtime-4.1_2.13-1.12.0.jar"})[packages]
    )
    assert not _merge_settings(ours, {packages: ""})[packages]
    assert _merge_settings(ours, {extensions: ours[extensions]})[extensions] == ours[extensions]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "say where the tables are"),
        (("--catalog-config", "no-such-file.conf"), "does not exist"),
    ],
)
def test_a_command_without_a_place_is_wrong_usage(words: tuple[str, ...], message: str) -> None:
    result = CliRunner().invoke(app, ["read", "db.t", *words])
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())


def test_every_command_that_opens_a_table_takes_any_catalog() -> None:
    result = CliRunner().invoke(app, ["--help"])
    without = {"puffin", "version", "demo", "cdc"}
    commands = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    assert {"read", "upsert", "merge", "resolve", "from-delta", "debt"} <= commands
    assert "upsert" in result.output
    for command in (*sorted(commands - without), "cdc run"):
        text = CliRunner().invoke(app, [*command.split(), "--help"]).output
        assert all(option in text for option in ("--warehouse", "--catalog-config", "--conf", "--debug")), command
