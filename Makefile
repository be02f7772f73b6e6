# The commands of the README. Each sets up a local .venv by itself when needed.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
PROFILE ?= smoke
UV ?= uv
WORKERS ?= 2
FLWR ?= 1.41.0
EXTRAS ?= submitit==1.5.4 mlcroissant==1.1.1 tensorboard==2.21.0
PAPER ?=
LAB_ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PARTS := lint notebooks unit
NOTEBOOKS := $(sort $(wildcard notebooks/*.ipynb))
# where it is set, every process would compile fedlib anew
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help setup lock reproduce test unit notebooks lint flower extras lab bench clean

help:  ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 22

setup: $(STAMP)  ## a local .venv with the locked versions

$(STAMP): requirements.txt constraints.txt tools/install_locked.py pyproject.toml
	@$(PYTHON) -c 'import sys; ok = (3, 11) <= sys.version_info < (3, 14); \
		sys.exit(0 if ok else "Python %d.%d found; allowed: 3.11 to 3.13 (make PYTHON=python3.12 ...)" % sys.version_info[:2])'
	@echo "setup: installing the locked versions into $(VENV) (two or three minutes)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python tools/install_locked.py constraints.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

lock:  ## resolve requirements.txt anew into constraints.txt, with hashes (needs uv: pip install uv)
	@UV_CUSTOM_COMPILE_COMMAND="make lock" $(UV) pip compile --quiet --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-annotate requirements.txt --output-file constraints.txt

reproduce: $(STAMP)  ## all notebooks headless, verdicts, build/report (PROFILE=smoke|reduced|extended|paper, PAPER=key)
	@$(BIN)/python -m fedlib reproduce --profile $(PROFILE) $(if $(PAPER),--paper $(PAPER))

test: $(STAMP)  ## lint and notebooks under nbval side by side, then the unit tests beside the notebooks
	@echo "test: $(PARTS), each printed as a whole when it ends"
	@$(MAKE) --no-print-directory -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) $(PARTS)

unit: $(STAMP)  ## unit tests (WORKERS=2 processes, one thread each)
	@echo "test: unit tests"
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadscope --no-loadscope-reorder tests

notebooks: $(STAMP)  ## notebooks under nbval, with their default parameters
	@echo "test: $(words $(NOTEBOOKS)) notebooks under nbval"
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile -p no:cacheprovider -p tests.support.kernel_start \
		--nbval-lax --nbval-current-env --nbval-cell-timeout=300 -W default $(NOTEBOOKS)

lint: $(STAMP)  ## ruff, layers of imports, types, and the rules for committed notebook outputs
	@echo "test: lint"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/mypy
	@$(if $(NOTEBOOKS),$(BIN)/python tests/support/notebook_rules.py $(NOTEBOOKS))

flower:  ## tests of integrations/flower, in an environment of their own (build/flower)
	@test -x build/flower/bin/python || $(PYTHON) -m venv build/flower
	@build/flower/bin/python -m pip install --quiet --disable-pip-version-check \
		$$(grep -E '^torch(vision)?==' requirements.txt) "flwr==$(FLWR)" \
		--editable . --editable "integrations/flower[test]"
	@build/flower/bin/python -m pytest -q integrations/flower

extras: $(STAMP)  ## tests of what extra packages do: submit, Croissant, TensorBoard (in build/extras)
	@test -x build/extras/bin/python || $(BIN)/python -m venv build/extras
	@$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$$(build/extras/bin/python -c \
		'import sysconfig; print(sysconfig.get_path("purelib"))')/locked.pth"
	@build/extras/bin/python -m pip install --quiet --disable-pip-version-check $(EXTRAS)
	@build/extras/bin/python -m pytest -q tests/experiments/test_cluster.py tests/experiments/test_tracking.py \
		tests/reporting/test_croissant.py

lab: $(STAMP)  ## JupyterLab on notebooks/
	@$(BIN)/jupyter trust $(NOTEBOOKS) > /dev/null  # or JupyterLab strips the styles of committed tables
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
