# The README's two commands are `make quickstart` and `make test`: each sets up .venv by itself.
# PYTHON may name another interpreter, e.g. make test PYTHON=python3.12.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: quickstart test test-slow lint format docs clean

quickstart: $(VENV)/train
	$(BIN)/nmt quickstart

# Two at a time: most tests keep one core busy, and a process with TensorFlow takes some GB.
test: $(VENV)/dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

# First those that keep one core busy, two at a time; then those that use both cores, or are about
# processes that wait for each other.
ONE_CORE := tests/model tests/parity tests/e2e/test_every_architecture.py
test-slow: $(VENV)/dev
	$(BIN)/python -m pytest -m slow -n 2 --dist worksteal $(ONE_CORE)
	$(BIN)/python -m pytest -m slow $(addprefix --ignore=,$(ONE_CORE))

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/generate_cli.py --check

format: $(VENV)/dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/dev
	$(BIN)/python docs/generate_cli.py

# A marker file for each set of installed packages, newer than what it was installed from.
$(VENV)/train: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[train]'
	touch $@

$(VENV)/dev: $(VENV)/train
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[train,dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info
