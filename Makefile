# The commands of the README. Each sets up a local .venv by itself when needed.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
PROFILE ?= smoke
PAPER ?=
LAB_ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
NOTEBOOKS := $(sort $(wildcard notebooks/*.ipynb))
.PHONY: help setup reproduce test unit notebooks lint lab bench clean

help:  ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 22

setup: $(STAMP)  ## a local .venv with the pinned versions

$(STAMP): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; ok = (3, 11) <= sys.version_info < (3, 14); \
		sys.exit(0 if ok else "Python %d.%d found; allowed: 3.11 to 3.13 (make PYTHON=python3.12 ...)" % sys.version_info[:2])'
	@echo "setup: installing the pinned versions into $(VENV) (a minute or two)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

reproduce: $(STAMP)  ## all notebooks headless, verdicts, build/report (PROFILE=smoke|reduced|paper, PAPER=key)
	@$(BIN)/python -m fedlib reproduce --profile $(PROFILE) $(if $(PAPER),--paper $(PAPER))

test: lint unit notebooks  ## lint, unit tests, notebooks under nbval

unit: $(STAMP)  ## unit tests
	@echo "test: unit tests"
	@$(BIN)/python -m pytest -q tests

notebooks: $(STAMP)  ## notebooks under nbval, with their default parameters
	@echo "test: $(words $(NOTEBOOKS)) notebooks under nbval"
	@for notebook in $(NOTEBOOKS); do \
		$(BIN)/python -m pytest -q -x -p no:cacheprovider --nbval-lax --nbval-current-env \
			--nbval-cell-timeout=300 -W default $$notebook; \
	done

lint: $(STAMP)  ## ruff and the rules for committed notebook outputs
	@echo "test: lint"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(if $(NOTEBOOKS),$(BIN)/python tests/notebook_rules.py $(NOTEBOOKS))

lab: $(STAMP)  ## JupyterLab on notebooks/
	@$(BIN)/jupyter lab --notebook-dir=notebooks $(if $(filter 0,$(shell id -u)),--allow-root) $(LAB_ARGS)

bench: $(STAMP)  ## speed, memory, roofline and growth of cost, written to benchmarks/results
	@$(BIN)/python -m benchmarks.engine
	@for part in roofline growth convolutions compiled round_loop precision artifacts made episode; do \
		$(BIN)/python -m benchmarks.$$part; \
	done

clean:  ## remove .venv, caches and what is made in build/, but not the stored runs
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis *.egg-info
	@test ! -d build || find build -mindepth 1 -maxdepth 1 ! -name runs -exec rm -rf {} +
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
