from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JVMView
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.spark import Gateway

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession


def test_classes_that_pyspark_asks_for_are_looked_up_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    Gateway(spark)
    looked_up: list[str] = []
    look_up: Any = JVMView.__getattr__

    def noted(view: JVMView, name: str) -> Any:
        looked_up.append(name)
        return look_up(view, name)

    monkeypatch.setattr(JVMView, "__getattr__", noted)
    assert [tuple(row) for row in spark.range(2).select("id", F.col("id") + F.lit(1)).collect()] == [(0, 1), (1, 2)]
    assert not looked_up
    assert spark._jvm is not None
    assert spark._jvm.java.lang.Math.abs(-1) == 1
    assert looked_up == ["java"]
