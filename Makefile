# `make env` makes the virtual environment, `make demo` runs the main job, `make test` the tests.
PYTHON ?= python3
BIN := .venv/bin
# The import package lmms_eval_food is the four top-level folders; mypy wants to see it as a folder.
TYPED := build/typing/lmms_eval_food
ENGINE := .venv-engine

.PHONY: env demo test lint types unit test-long engine-env test-engines clean

env: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	touch $@

demo: env
	$(BIN)/lmms-eval-food demo

test: lint types unit

lint: env
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: env
	mkdir -p $(TYPED)
	for folder in filters metrics results tasks; do ln -sfn ../../../$$folder $(TYPED)/$$folder; done
	$(BIN)/mypy $(TYPED)

# Two workers: what runs long starts the host, which keeps one core busy.
unit: env
	$(BIN)/pytest -n 2 --dist worksteal -m "not long"

# Runs that are killed and resumed, and runs of many ranks.
test-long: env
	$(BIN)/pytest -n 2 --dist worksteal -m long

# vLLM on a CPU, in an environment of its own: its pins differ from ours. About 8 GB on disk.
# --no-deps: engine-constraints.txt names everything, and says why resolving cannot work.
engine-env: $(ENGINE)/installed

$(ENGINE)/installed: pyproject.toml engine-constraints.txt
	$(PYTHON) -m venv $(ENGINE)
	$(ENGINE)/bin/pip install --quiet --disable-pip-version-check --no-deps --requirement engine-constraints.txt
	$(ENGINE)/bin/pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

test-engines: engine-env
	LMMS_EVAL_FOOD_TEST_ENGINES=1 $(ENGINE)/bin/python -m pytest tests/engines

clean:
	rm -rf build .venv $(ENGINE) *.egg-info
