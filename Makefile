# make demo | test | test-long | test-torch | check | bench | docs | docs-text | package     (a virtual environment is made in .venv on first use)

PYTHON ?= python3
JOBS ?= 2
# PEERS=0 leaves out Pinocchio, MuJoCo and the test robots (about 1.5 GB); the tests that need them are then skipped.
PEERS ?= 1

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install --only-binary=:all:

CORE := $(VENV)/.core
DEV := $(VENV)/.dev
ifeq ($(PEERS),1)
TESTS := $(DEV) $(VENV)/.peers
else
TESTS := $(DEV)
endif

.PHONY: demo test test-long test-torch check lint layers bench docs docs-text readme package clean
.DELETE_ON_ERROR:

demo: $(CORE)
	$(BIN)/dalembert demo

# Files in their order: those of tests/unit, which are short, come last, so that all jobs end together.
FILES := --dist loadfile --no-loadscope-reorder

test: $(TESTS)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) $(FILES) -q

# Every integrator, a thousand random cases, robots beside their peers on their other base, PyTorch.
test-long: $(TESTS) $(VENV)/.long test-torch
	$(BIN)/python -m pytest -n $(JOBS) $(FILES) -q -m long

# Tests of PyTorch's arrays and gradients, which `make test` leaves out: its wheel brings 3 GB.
test-torch: $(TESTS) $(VENV)/.torch
	$(BIN)/python -m pytest -n $(JOBS) $(FILES) -q -m "long or not long" -k torch

# The fast loop while working; `make test` runs everything.
check: lint layers
	$(BIN)/python -m pytest -n $(JOBS) -q tests/unit

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

layers: $(DEV)
	$(BIN)/lint-imports

bench: $(CORE) $(VENV)/.peers
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/quantities.py
	$(BIN)/python benchmarks/simulation.py

# The site, in build/docs; a warning is an error. It is built beside the one that stands, which stays if the build ends early.
docs docs-text: $(VENV)/.docs
	rm -rf build/docs.new
	$(SITE) $(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs.new
	rm -rf build/docs && mv build/docs.new build/docs
	@echo "open build/docs/index.html"

# Without pictures, in less than a minute.
docs-text: SITE := DALEMBERT_DOCS=text

# Writes the figures of README.md and docs/performance.md from benchmarks/results (see benchmarks/figures.py).
readme: $(CORE)
	$(BIN)/python benchmarks/update_readme.py

# The sdist, the wheel made from it, installed into a bare environment, and the tutorial run there.
package: $(DEV)
	rm -rf build/package && mkdir -p build/package
	$(BIN)/python -m hatchling build -t sdist -d build/package
	cd build/package && tar xf dalembert-*.tar.gz && rm -rf source && mv dalembert-*/ source
	cd build/package/source && $(CURDIR)/$(BIN)/python -m hatchling build -t wheel -d ..
	$(PYTHON) -m venv build/package/bare
	build/package/bare/bin/python -m pip --disable-pip-version-check --quiet install --only-binary=:all: \
	    "$$(echo build/package/dalembert-*.whl)[report]"
	$(BIN)/python tests/docs/tutorial.py build/package/bare/bin

clean:
	rm -rf $(VENV) build dist demo bench .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# A type checker with its own Node.js, 280 MB: for one long test alone.
$(VENV)/.long: $(DEV)
	$(PIP) --editable '.[long]'
	@touch $@

$(VENV)/.torch: $(DEV)
	$(PIP) --editable '.[torch]'
	@touch $@

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "dalembert needs Python 3.11 or newer; say which: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Third-party packages come as wheels only; the project itself is built here, by hatchling, and stays editable.
$(CORE): $(VENV)/.made pyproject.toml
	$(PIP) --editable '.[report]'
	@touch $@

# It holds what the package itself needs: one run of pip where nothing has been installed yet.
$(DEV): $(VENV)/.made pyproject.toml
	$(PIP) --editable '.[dev]'
	@touch $(CORE) $@

$(VENV)/.docs: $(CORE)
	$(PIP) --editable '.[docs]'
	@touch $@

$(VENV)/.peers: $(CORE)
	$(PIP) --editable '.[peers]'
	$(PIP) --no-deps example-robot-data==5.0.0 # the tests name its files, which change from version to version
	$(PIP) --no-deps dm_control==1.0.50 gymnasium-robotics==1.4.2 robosuite==1.5.2 # MJCF files, likewise (240 MB)
	@touch $@
