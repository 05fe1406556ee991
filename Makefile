# Almanac: `make demo` shows it, `make test` proves it. Every target sets up what is missing first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.locked

.PHONY: setup demo up test lint clean

setup: $(STAMP)

$(STAMP): requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Almanac needs Python 3.11 or newer")'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

demo: setup
	@$(BIN)/python -m infra.demo

up: setup
	@$(BIN)/python -m emulators up --data-dir .almanac

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: setup
	$(BIN)/python -m pytest

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache
