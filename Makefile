# Everything here needs python3, make and a package index, and nothing else. The environment is .venv; files in it named
# .ready-* mark what has been installed, so that a second run installs nothing.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --timeout 180 --retries 5

# Where bytecode isn't written, every test that starts a Python pays ten times its import again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: docs test lint suite demo test-peers test-clients test-array-api accuracy fuzz fuzz-inputs fuzz-peers mutants bench bench-full clean
.DEFAULT_GOAL := test

# Types are checked, by one thread, while tests run.
test: .venv/.ready-test
	$(MAKE) --no-print-directory --jobs 2 lint suite

# Files stay together: what one of them has compiled, or taught to native code, serves the rest of it.
suite: .venv/.ready-test
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: .venv/.ready-test
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python

demo: .venv/.ready-examples
	$(BIN)/python examples/digits.py

# The site, in build/docs; what Sphinx warns of is an error.
docs: .venv/.ready-docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs

test-peers: .venv/.ready-peers
	$(BIN)/python -m pytest -n auto tests/peers

# Packages of others that import torch, with pullback under that name; compared with torch where that is installed.
CLIENTS := tests/clients/packages.txt

test-clients: .venv/.ready-test build/clients/.ready
	$(BIN)/python -m pytest -n auto tests/clients

build/clients/.ready: $(CLIENTS)
	$(PIP) --no-deps --upgrade --target build/clients --requirement $(CLIENTS)
	touch $@

# Random programs, so many from this number on: make fuzz COUNT=500 SEED=20000. What is wrong is made small and printed.
SEED ?= 0

fuzz: .venv/.ready-test
	$(BIN)/python -m tests.fuzz compositions $(or $(COUNT),20000) $(SEED)
	$(BIN)/python -m tests.fuzz control $(or $(COUNT),2000) $(SEED)
	$(BIN)/python -m tests.fuzz variants $(or $(COUNT),5000) $(SEED)

# Texts of graphs and bytes of modules, spoilt: the declared error, soon, or what is well typed.
fuzz-inputs: .venv/.ready-test
	$(BIN)/python -m tests.fuzz.inputs $(or $(COUNT),1000000) $(SEED)

# The array API's own suite, from its repository; ARRAY_API_TESTS=folder takes one that is there. MODULE=numpy for another.
ARRAY_API_TESTS ?= build/array-api-tests

test-array-api: .venv/.ready-test
	test -d $(ARRAY_API_TESTS) || git clone --quiet --depth 1 --recurse-submodules --shallow-submodules \
		https://github.com/data-apis/array-api-tests $(ARRAY_API_TESTS)
	$(PIP) --requirement $(ARRAY_API_TESTS)/requirements.txt
	cd $(ARRAY_API_TESTS) && ARRAY_API_TESTS_VERSION=2024.12 ARRAY_API_TESTS_MODULE=$(or $(MODULE),pullback.array_api) \
		$(abspath $(BIN))/python -m pytest array_api_tests -n auto --max-examples 100 \
		--xfails-file $(abspath tests/array_api_xfails.txt)

# Functions of one argument against mpmath, at many points each: how far values and slopes are off.
accuracy: .venv/.ready-test
	$(BIN)/python -m tests.accuracy $(or $(COUNT),400)

fuzz-peers: .venv/.ready-peers
	$(BIN)/python -m tests.fuzz tensors $(or $(COUNT),10000) $(SEED)

# Faults planted one at a time, each of which some test must find.
mutants: .venv/.ready-test
	$(BIN)/python tests/tools/mutants.py

bench: .venv/.ready-peers
	$(BIN)/python benchmarks/run.py

bench-full: .venv/.ready-peers
	$(BIN)/python benchmarks/run.py --full

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

# Groups of pyproject.toml need pip 25.1.
.venv/.ready-pip:
	$(PYTHON) -m venv .venv
	$(PIP) --upgrade 'pip>=25.1'
	touch $@

.venv/.ready-examples: .venv/.ready-pip pyproject.toml
	$(PIP) --editable '.[examples]'
	touch $@

.venv/.ready-docs: .venv/.ready-pip pyproject.toml
	$(PIP) --editable '.[docs]'
	touch $@

.venv/.ready-test: .venv/.ready-examples
	$(PIP) --group test --group lint
	touch $@

# torch first and by itself: whatever comes after must fit it, not replace it.
.venv/.ready-peers: .venv/.ready-test
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[examples,peers]'
	touch $@
