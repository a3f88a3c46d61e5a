"""The packages that rowdelta is built and tested with."""

ICEBERG_PACKAGE = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
DELTA_PACKAGE = "io.delta:delta-spark_4.1_2.13:4.4.0"
