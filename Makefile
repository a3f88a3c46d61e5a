.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PACKAGES := $(VENV)/.packages
# The oldest Spark that is supported has an environment of its own. Its PySpark needs a Python before 3.12.
SPARK35 := $(VENV)-spark35
PYTHON35 ?= >=3.10,<3.12
TOOLS := $(VENV)-uv
# A uv on the PATH is used; otherwise one is installed next to the environment.
UV := $(or $(shell command -v uv),$(TOOLS)/bin/uv)
# The JDK that scripts/jdk finds; an empty answer means that it has already printed what to do.
WITH_JDK = JAVA_HOME="$$(scripts/jdk)" && export JAVA_HOME

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  \033[1m%-12s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(PACKAGES) ## Make the environment: Python packages from the lock file, the JDK check, Spark's packages

demo: jdk $(PACKAGES) ## Run the demo pipeline on an embedded warehouse
	@$(WITH_JDK) && $(BIN)/rowdelta demo

test: jdk check $(PACKAGES) ## Check the code, then run the tests, with a sample of each matrix (SAMPLE=number repeats one)
	@$(WITH_JDK) && $(BIN)/pytest -n 2 $(if $(SAMPLE),--sample=$(SAMPLE))

test-all: jdk check $(PACKAGES) ## Run every case of every test, and then test-lake
	@$(WITH_JDK) && $(BIN)/pytest -n 2 --sample=all && $(BIN)/pytest tests/lake

test-lake: jdk $(PACKAGES) ## Run every verb on a Spark cluster with REST, JDBC and Hive catalogs and S3, all on this machine
	@$(WITH_JDK) && $(BIN)/pytest tests/lake

test-spark35: $(SPARK35)/.packages ## Run the tests on Spark 3.5, with a sample of each matrix
	@JAVA_HOME="$$(scripts/jdk 17)" && export JAVA_HOME && $(SPARK35)/bin/pytest -n 2 $(if $(SAMPLE),--sample=$(SAMPLE))

check-spark: jdk $(STAMP) ## Ask Maven Central for an Iceberg runtime of a newer Spark, and say what would break there
	@$(WITH_JDK) && UV=$(UV) $(BIN)/python scripts/check_spark_versions.py

check: $(STAMP) ## Lint, types, and the direction of imports
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports --no-cache

bench: jdk $(STAMP) ## Measure rowdelta and its peers (SCALE=small|medium|large, ONLY="growth cdc", ROWS_UP_TO=...)
	@$(WITH_JDK) && $(BIN)/python -m bench --scale $(or $(SCALE),small) $(if $(ONLY),--only $(ONLY)) \
		$(if $(ROWS_UP_TO),--rows-up-to $(ROWS_UP_TO))

docs: $(STAMP) ## Build the documentation into site/, warnings are errors
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo "site/index.html"

lock: $(UV) ## Resolve the dependencies again, and write requirements.lock and requirements-spark35.lock
	@$(UV) pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-header --upgrade \
		--group test --group check --group docs --group bench --group build pyproject.toml -o requirements.lock
	@$(UV) pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-header --upgrade \
		--group test --group spark35 --group build pyproject.toml -o requirements-spark35.lock

clean: ## Remove everything that was built
	rm -rf $(VENV) $(SPARK35) $(TOOLS) site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis spark-warehouse

jdk:
	@scripts/jdk > /dev/null

$(TOOLS)/bin/uv:
	@$(PYTHON) -m venv $(TOOLS) && $(TOOLS)/bin/pip install --quiet uv

$(STAMP): requirements.lock pyproject.toml | $(UV)
	@test -x $(BIN)/python || $(UV) venv --quiet --python $(PYTHON) $(VENV)
	@$(UV) pip sync --quiet --python $(BIN)/python requirements.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

$(SPARK35)/.installed: requirements-spark35.lock pyproject.toml | $(UV)
	@test -x $(SPARK35)/bin/python || $(UV) venv --quiet --python '$(PYTHON35)' $(SPARK35)
	@$(UV) pip sync --quiet --python $(SPARK35)/bin/python requirements-spark35.lock
	@$(UV) pip install --quiet --python $(SPARK35)/bin/python --no-deps --no-build-isolation --editable .
	@touch $@

# Test workers start at the same time: they must find the packages, and not download them in parallel.
$(PACKAGES): $(STAMP) scripts/fetch_packages.py
	@$(WITH_JDK) && $(BIN)/python scripts/fetch_packages.py
	@touch $@

$(SPARK35)/.packages: $(SPARK35)/.installed scripts/fetch_packages.py
	@JAVA_HOME="$$(scripts/jdk 17)" && export JAVA_HOME && $(SPARK35)/bin/python scripts/fetch_packages.py
	@touch $@

.PHONY: help setup demo test test-all test-lake test-spark35 check check-spark bench docs lock clean jdk
