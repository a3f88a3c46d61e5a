"""Reads the file that describes a pipeline."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final

import yaml

from rowdelta.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from rowdelta.choices import DecimalNotation, TimeUnit, UnknownFields

_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True)
class Source:
    """Where changes come from: a folder of files, or Kafka.

    Attributes:
        files: A folder of JSON files, one change per line.
        kafka: Options of Spark's Kafka source, such as `kafka.bootstrap.servers` and `subscribe`. A value may also be
            a list of names, or the offsets of partitions as names and values.
        schema: The fields of plain rows, as SQL; by default the table's columns and `op`. Debezium events need none.
        options: Further options of the reader.
    """

    files: str | None = None
    kafka: dict[str, Any] = field(default_factory=dict)
    schema: str | None = None
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Pipeline:
    """A stream of changes.

    Attributes:
        table: The table: `db.orders`, or `lake.db.orders`.
        key: The columns that identify a row.
        source: Where changes come from.
        checkpoint: The folder of the stream's state.
        warehouse: The folder of a hadoop-type catalog `lake`.
        conf: Spark settings, for any other catalog.
        create: The columns of the table as SQL, to create it if it does not exist.
        properties: Table properties for `create`.
        format: `debezium` or `changes`.
        op: The field of plain rows that holds the operation.
        time_unit: What numbers in timestamp columns count: `millis`, `micros` or `nanos`.
        decimals: What text in decimal columns is: `text` of a number, or `base64`.
        unknown_fields: Fields that the table does not have: `bad`, or `ignore`; by default `ignore` for plain rows with
            a schema, and `bad` otherwise.
        position: Columns of the table that keep positions of Debezium's events, such as `lsn: source.lsn`.
        every: Time between two batches; by default the stream applies what is available, then stops.
        stream: Further arguments of `rd.cdc.stream()`: `order_by`, `keep_newer`, `resolve`, `on_bad`, `branch`,
            `publish`, `resolve_every`, ...
    """

    table: str
    key: str | list[str]
    source: Source
    checkpoint: str
    warehouse: str | None = None
    conf: dict[str, Any] = field(default_factory=dict)
    create: str | None = None
    properties: dict[str, str] = field(default_factory=dict)
    format: str = "debezium"
    op: str | None = None
    time_unit: TimeUnit | None = None
    decimals: DecimalNotation = "text"
    unknown_fields: UnknownFields | None = None
    position: dict[str, str] = field(default_factory=dict)
    every: str | None = None
    stream: dict[str, Any] = field(default_factory=dict)

    def override(self, arguments: dict[str, Any]) -> Pipeline:
        """Replaces some arguments of the stream."""
        return replace(self, stream={**self.stream, **arguments})


def read_config(path: Path) -> Pipeline:
    """Reads and checks a file; folders in it are relative to it, and `${NAME}` is a variable of the environment."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not YAML: {error}") from error
    values = _check_entries(
        _fill_variables(document, path), Pipeline, str(path), ("table", "key", "source", "checkpoint")
    )
    source = Source(**_check_entries(values["source"], Source, f"{path}: source", ()))
    if (source.files is None) == (not source.kafka):
        raise InputError(f"{path}: source needs either files or kafka", hint="files: a folder, or kafka: its options")
    for name in ("checkpoint", "warehouse"):
        if values.get(name) is not None:
            values[name] = _resolve_folder(path, values[name])
    if source.files is not None:
        source = Source(**{**vars(source), "files": _resolve_folder(path, source.files)})
    return Pipeline(**{**values, "source": source})


def _check_entries(document: Any, type_: type, where: str, required: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise InputError(f"{where} is not a list of names and values")
    names = {entry.name for entry in fields(type_)}
    unknown = [str(name) for name in document if name not in names]
    if unknown:
        raise InputError(
            f"{where} has unknown entries {', '.join(unknown)}", hint=f"known are {', '.join(sorted(names))}"
        )
    missing = [name for name in required if document.get(name) is None]
    if missing:
        raise InputError(f"{where} has no {', '.join(missing)}")
    return dict(document)


def _fill_variables(value: Any, path: Path) -> Any:
    """Fills in variables of the environment, so that passwords need not be in a file."""
    if isinstance(value, dict):
        return {name: _fill_variables(part, path) for name, part in value.items()}
    if isinstance(value, list):
        return [_fill_variables(part, path) for part in value]
    return _VARIABLE.sub(lambda match: _read_variable(match[1], path), value) if isinstance(value, str) else value


def _read_variable(name: str, path: Path) -> str:
    if name not in os.environ:
        raise InputError(f"{path} uses ${{{name}}}, which the environment does not have", hint=f"export {name}=...")
    return os.environ[name]


def _resolve_folder(path: Path, folder: str) -> str:
    return folder if "://" in folder else str((path.parent / folder).absolute())
