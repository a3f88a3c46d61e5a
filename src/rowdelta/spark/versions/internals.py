"""The internals of PySpark, Spark and Iceberg that rowdelta uses on every version.

A new version may move or remove any of them. `scripts/check_spark_versions.py` looks for them in a new release.
"""

from __future__ import annotations

from typing import Final

# A module and an attribute of it.
PYTHON_NAMES: Final = (
    "pyspark:InheritableThread",
    "pyspark.java_gateway:Popen",
    "pyspark.java_gateway:launch_gateway",
    "pyspark.sql.pandas.types:from_arrow_schema",
    "pyspark.sql.pandas.types:to_arrow_schema",
)
_CATALYST: Final = "org.apache.spark.sql.catalyst"
_EXECUTION: Final = "org.apache.spark.sql.execution"
_ICEBERG: Final = "org.apache.iceberg"
SPARK_TABLE: Final = f"{_ICEBERG}.spark.source.SparkTable"
# Classes, each with the methods that are called; after a slash, with how many arguments. A constructor is `<init>`.
JAVA_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "org.apache.spark.api.python.PythonUtils": ("toSeq",),
    "org.apache.spark.sql.internal.SQLConf": ("caseSensitiveAnalysis", "withExistingConf/2"),
    "org.apache.spark.sql.internal.VariableSubstitution": ("substitute",),
    "org.apache.spark.util.Utils": ("classForName/3",),
    f"{_CATALYST}.catalog.SessionCatalog": ("dropTempView", "getRawTempView", "isTempView"),
    f"{_CATALYST}.expressions.And": ("<init>/2",),
    f"{_CATALYST}.expressions.Cast$": ("canANSIStoreAssign",),
    f"{_CATALYST}.expressions.Literal$": ("FalseLiteral",),
    f"{_CATALYST}.expressions.SubqueryExpression$": ("hasSubquery",),
    f"{_CATALYST}.parser.CatalystSqlParser$": ("parseExpression", "parsePlan"),
    f"{_CATALYST}.parser.SqlBaseLexer": (),
    f"{_CATALYST}.parser.SqlBaseParser": ("singleExpression", "singleStatement"),
    f"{_CATALYST}.parser.UpperCaseCharStream": (),
    f"{_CATALYST}.plans.logical.Filter": ("<init>/2",),
    f"{_CATALYST}.plans.logical.Project": ("<init>/2", "projectList"),
    f"{_CATALYST}.trees.SQLQueryContext": ("<init>/7", "summary"),
    f"{_EXECUTION}.QueryExecution": ("analyzed", "logical", "optimizedPlan"),
    f"{_EXECUTION}.columnar.CachedRDDBuilder": ("isCachedColumnBuffersLoaded",),
    f"{_EXECUTION}.datasources.DataSourceStrategy$": ("normalizeExprs/2",),
    f"{_EXECUTION}.datasources.v2.DataSourceV2Strategy$": ("translateFilterV2/1",),
    f"{_EXECUTION}.datasources.SparkExpressionConverter$DummyRelation": (),
    f"{_ICEBERG}.IcebergBuild": ("version",),
    f"{_ICEBERG}.spark.FileRewriteCoordinator": ("clearRewrite", "fetchNewFiles", "get"),
    f"{_ICEBERG}.spark.Spark3Util": ("catalogAndIdentifier", "loadIcebergTable"),
    f"{_ICEBERG}.spark.SparkTableCache": ("add", "get", "remove"),
    f"{_ICEBERG}.spark.SparkV2Filters": ("convert",),
    f"{_ICEBERG}.spark.actions.SparkActions": ("expireSnapshots", "get"),
    SPARK_TABLE: ("branch", "copyWithBranch/1", "snapshotId"),
}
