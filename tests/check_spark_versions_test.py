"""The script that looks for new versions of Spark reads what javap prints of a class and its parents."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from rowdelta.spark.versions import SPARK
from scripts import check_spark_versions as script

PARENT = "org.apache.iceberg.spark.BaseTable"
CHILD = "org.apache.iceberg.spark.Table"
SHOWN = {
    CHILD: f"""Compiled from "Table.java"
public class {CHILD} extends {PARENT} implements org.apache.spark.Reads,java.io.Closeable {{
  public {CHILD}(java.util.Map<java.lang.String, java.lang.String>, boolean);
  public java.util.Map<java.lang.String, java.util.List<java.lang.Long>> properties();
  static {{}};
}}
""",
    PARENT: f"""Compiled from "BaseTable.java"
public abstract class {PARENT}<T extends java.lang.Object> {{
  public T find(long, T);
}}
""",
}


@pytest.fixture(autouse=True)
def javap(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 0, "".join(SHOWN.get(name, "") for name in command[4:]))

    monkeypatch.setattr(subprocess, "run", run)


def test_methods_of_parents_are_found_with_the_number_of_their_arguments() -> None:
    found = script.read_classes("jars", {CHILD})
    assert set(found) == {CHILD, PARENT}
    expected = {"<init>", "<init>/2", "properties", "properties/0", "find", "find/2"}
    assert script.list_methods(found, CHILD) == expected


def test_missing_classes_and_methods_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {CHILD: ("<init>/1", "find/2", "branch"), "org.apache.iceberg.Gone": ()}
    monkeypatch.setattr(type(SPARK), "java_names", wanted)
    assert script.find_missing_java([]) == [f"{CHILD}.<init>/1", f"{CHILD}.branch", "org.apache.iceberg.Gone"]


def test_the_next_versions_begin_after_the_newest_supported_one() -> None:
    assert script.list_next_versions()[:2] == ["4.2", "4.3"]
