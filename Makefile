# Almanac: `make demo` shows it, `make test` proves it. Every target sets up what is missing first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.locked
FIREBASE := tests/firebase

.PHONY: setup demo up test test-firebase firebase-suite lint clean

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
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile

# The official Auth emulator in front of the embedded stack: real sign-ups, real ID tokens.
test-firebase:
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory firebase-suite; \
	else echo "Skipped: the official Firebase emulators come from npm, which is not installed."; fi

firebase-suite: setup $(FIREBASE)/node_modules/.package-lock.json
	$(FIREBASE)/node_modules/.bin/firebase emulators:exec --config firebase.json --project demo-almanac --only auth \
	  '$(BIN)/python -m pytest $(FIREBASE)'

# None of its packages' own install steps is needed; some download.
$(FIREBASE)/node_modules/.package-lock.json: $(FIREBASE)/package-lock.json
	npm ci --prefix $(FIREBASE) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

clean:
	rm -rf $(VENV) $(FIREBASE)/node_modules .mypy_cache .ruff_cache
