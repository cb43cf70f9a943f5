# Every target does its own set-up: it needs only python3 (>= 3.11) with its venv module.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The processes of pytest-xdist.
TEST_PROCESSES ?= 2
# Factor of the number of random cases; above 1 the tests also try whole products of their parameters.
EFFORT ?= 1
# How long `make fuzz` runs, and where its random numbers begin.
SECONDS ?= 60
SEED ?= 0
# Where mypy finds `polysched.frontends` under its own name: see the target `types`.
TYPES := build/types

export PIP_DISABLE_PIP_VERSION_CHECK := 1
.DELETE_ON_ERROR:
.PHONY: help demo test check lint format-check types lint-fix bench docs fuzz mutants clean

help:
	@echo "make demo      run the main example: a convolution, proved, compiled, checked, timed"
	@echo "make test      ruff, mypy and all tests"
	@echo "make check     the tests alone (ARGS='-k name' is passed to pytest; EFFORT=10: ten times the random cases)"
	@echo "make lint      ruff and mypy alone ('make -k lint' does not stop at the first failure)"
	@echo "make lint-fix  format the code and apply the safe fixes of ruff"
	@echo "make fuzz      random kernels and schedules, judged without the checker (SECONDS=60 SEED=0)"
	@echo "make mutants   deliberate mistakes, one at a time: which test notices each (ARGS='NAME --markdown')"
	@echo "make bench     race the convolution against numpy, oneDNN and Halide"
	@echo "make docs      the documentation as pages in build/docs, and its lessons as notebooks beside them"
	@echo "make clean     remove the virtual environment and everything built"

demo: $(VENV)/.installed
	$(BIN)/python examples/conv2d_relu.py $(ARGS)

test: lint check

# worksteal: a process keeps the tests of a file, whose kernels it has, until the other has none left.
# The next run, and each process that a test starts, reads the compiled files that are written.
check: $(VENV)/.installed-dev
	TEST_EFFORT=$(EFFORT) PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist worksteal $(ARGS)

lint: format-check types
	$(BIN)/ruff check .

format-check: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .

# mypy knows a module by its path, so it is shown a tree of links laid out as the installed package.
types: $(VENV)/.installed-dev
	rm -rf $(TYPES)
	mkdir -p $(TYPES)/polysched
	ln -s "$(CURDIR)"/polysched/* $(TYPES)/polysched/
	ln -s "$(CURDIR)/frontends" $(TYPES)/polysched/frontends
	$(BIN)/mypy $(TYPES)/polysched

lint-fix: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.installed-bench
	$(BIN)/polysched bench conv $(ARGS)

docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -W -q -b html docs build/docs
	$(BIN)/python docs/notebooks.py build/docs/notebooks

fuzz: $(VENV)/.installed-dev
	$(BIN)/python -m polysched.fuzz --seconds $(SECONDS) --seed $(SEED) $(ARGS)

# Takes more than half an hour for all; not a part of `make test`, which only checks that each mutant still fits the code.
mutants: $(VENV)/.installed-dev
	$(BIN)/python -m tests.mutants.run $(ARGS)

clean:
	rm -rf $(VENV) build dist polysched.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f polysched/runtime/_call_table*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: installed again whenever pyproject.toml or the C extension changes. A failed set-up leaves no stamp.
$(VENV)/.installed: pyproject.toml setup.py $(wildcard polysched/runtime/*.[ch])
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -e '.[bench]'
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	touch $@
