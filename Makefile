# The README's two commands, `make quickstart` and `make test`, create .venv themselves.
# Set PYTHON for another interpreter, e.g. make test PYTHON=python3.12.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Tests start many processes, which otherwise compile the sources each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: quickstart test test-slow test-pythons lint format docs clean

quickstart: $(VENV)/train
	$(BIN)/nmt quickstart

# Two workers: most tests keep one core busy, and a process with TensorFlow takes up to 2 GB.
PYTEST := $(BIN)/python -m pytest --durations=15 -rs
test: $(VENV)/dev
	$(PYTEST) -n 2 --dist worksteal

# First the tests that keep one core busy, in two workers; then those of several processes or of time.
BOTH_CORES := tests/e2e/test_quickstart.py tests/training/test_devices.py tests/training/test_kills.py
test-slow: $(VENV)/dev
	$(PYTEST) -m slow -n 2 --dist worksteal $(addprefix --ignore=,$(BOTH_CORES))
	$(PYTEST) -m slow $(BOTH_CORES)

# Every Python that is installed, with the newest releases of what nmt needs.
test-pythons: $(VENV)/dev
	.ci/test-pythons

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/generate_cli.py --check
	$(BIN)/python docs/generate_recipe_keys.py --check
	$(BIN)/python -m tools.size

format: $(VENV)/dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/dev
	$(BIN)/python docs/generate_cli.py
	$(BIN)/python docs/generate_recipe_keys.py

# Each set of installed packages has a marker file, newer than the files that define the set.
$(VENV)/train: pyproject.toml constraints.txt Makefile
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing TensorFlow and other packages in $(VENV): some minutes, about 3 GB"
	$(BIN)/python -m pip install -c constraints.txt -e '.[train,plot]'
	touch $@

$(VENV)/dev: $(VENV)/train
	$(BIN)/python -m pip install -c constraints.txt -e '.[train,plot,dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info
