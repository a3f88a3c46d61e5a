"""The options that say where tables are: a warehouse folder, or any catalog by its Spark settings."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import yaml

from rowdelta.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CATALOG: Final = "lake"
_MAPPINGS: Final = (".yaml", ".yml", ".json")
_SECRET: Final = re.compile(r"secret|password|token|credential|access[.-]?key", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """A warehouse folder, Spark settings, or both.

    Attributes:
        warehouse: The folder of the hadoop-type catalog `lake`.
        settings: Spark settings, which may configure further catalogs.
        words: The options as typed, for a command to copy; without the values of secrets.
    """

    warehouse: Path | None = None
    settings: dict[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()

    @property
    def default_catalog(self) -> str | None:
        """The catalog of names without one: the warehouse, Spark's own default, or the only catalog."""
        if self.warehouse is not None:
            return CATALOG
        matches = [re.fullmatch(r"spark\.sql\.catalog\.([^.]+)", key) for key in self.settings]
        catalogs = {match[1] for match in matches if match is not None} - {"spark_catalog"}
        return self.settings.get("spark.sql.defaultCatalog") or (catalogs.pop() if len(catalogs) == 1 else None)


def read_place(warehouse: Path | None, catalog_config: Path | None, conf: Sequence[str]) -> Place:
    """Combines the options; `--conf` wins over the file."""
    settings = {} if catalog_config is None else read_settings(catalog_config)
    words = [] if warehouse is None else ["--warehouse", str(warehouse)]
    words += [] if catalog_config is None else ["--catalog-config", str(catalog_config)]
    for text in conf:
        key, value = _split_setting(text, "--conf", spaces=False)
        settings[key] = value
        words += ["--conf", f"{key}={'...' if _SECRET.search(key) else value}"]
    return Place(warehouse, settings, tuple(words))


def read_settings(path: Path) -> dict[str, str]:
    """Reads Spark settings: lines as in `spark-defaults.conf`, or a .yaml or .json mapping."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix.lower() in _MAPPINGS:
            return _read_mapping(yaml.safe_load(text), str(path))
    except yaml.YAMLError as error:
        raise InputError(f"{path} is not {path.suffix[1:].upper()}: {error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text") from error
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1)]
    return dict(
        _split_setting(line, f"{path}, line {number}") for number, line in lines if line and line[0] not in "#!"
    )


def _read_mapping(document: Any, where: str) -> dict[str, str]:
    if not isinstance(document, dict):
        raise InputError(f"{where} is not a mapping of Spark settings", hint="write spark.sql.catalog.prod.type: rest")
    settings = {}
    for name, value in document.items():
        if not isinstance(value, str | int | float):
            raise InputError(
                f"{where}: the value of {name} is not text, a number, true or false",
                hint="write each setting with its whole name, spark.sql.catalog.prod.type: rest",
            )
        settings[_check_setting(str(name), where)] = str(value).lower() if isinstance(value, bool) else str(value)
    return settings


def _split_setting(text: str, where: str, *, spaces: bool = True) -> tuple[str, str]:
    """Splits `key=value`, or `key value`.

    Examples:
        >>> _split_setting("spark.driver.extraJavaOptions  -Da=b", "line 1")
        ('spark.driver.extraJavaOptions', '-Da=b')
    """
    match = re.fullmatch(r"([^\s=]+)(?:\s*=\s*|\s+)(.*)" if spaces else r"\s*([^\s=]+)\s*=\s*(.*)", text, re.DOTALL)
    if match is None:
        either = "key=value or key value" if spaces else "--conf key=value"
        raise InputError(f"{where}: {text!r} has no value", hint=f"write {either}")
    return _check_setting(match[1], where), match[2].strip()


def _check_setting(key: str, where: str) -> str:
    if not key.startswith("spark."):
        raise InputError(f"{where}: {key!r} is not a Spark setting", hint="their names start with 'spark.'")
    return key
