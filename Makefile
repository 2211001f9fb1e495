# Every target prepares what it needs in .venv by itself, and finds it ready the second time.
# PYTHON=python3.12 chooses the interpreter (3.11 or newer), ARGS="--html compare.html" goes to the command.

PYTHON ?= python3
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
ROOTS := shared minimal maximal asv_bench tests
# Of gpu-check: where results go, and a folder of wheels for a machine without a network, made for this Python.
OUT ?= build/gpu_check
WHEELS ?= build/gpu_wheels
GPU_PYTHON ?= 3.12
PIP := $(BIN)/python -m pip install --quiet

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

.PHONY: help compare dashboard test hostile lint bars endure slower gpu-check gpu-wheels clean
.DEFAULT_GOAL := help

help:
	@echo 'make compare    compare buflend with pandas, pyarrow and polars on this machine (ARGS="--html compare.html")'
	@echo 'make dashboard  measure the benchmark suite, show it in a browser (ARGS="--quick" for a look, in a minute or two)'
	@echo 'make test       run the tests on every Python of 3.11, 3.12 and 3.13 found, and on the built wheel'
	@echo 'make hostile    feed it producers that lie and break, for a quarter of an hour (ARGS="--minutes 60")'
	@echo 'make lint       check style, format and types'
	@echo 'make bars       measure what must be reached, and its floors (ARGS="--write docs/bars.md")'
	@echo 'make endure     exchange a million times in every way, and show what is left (ARGS="--count 10000" for a look)'
	@echo 'make slower     say which benchmarks a commit has made slower (ARGS="main HEAD --bench View")'
	@echo 'make gpu-check  check on an NVIDIA GPU what CPUs cannot show, with what $(PYTHON) has; results in $(OUT)'
	@echo 'make clean      remove what these targets made'
	@echo
	@echo 'Each of the others needs only Python 3.11 or newer and sets up $(VENV) itself; PYTHON=python3.12 chooses the interpreter.'

compare: $(VENV)/.bench
	$(BIN)/buflend compare $(ARGS)

dashboard: $(VENV)/.dashboard
	$(BIN)/buflend dashboard $(ARGS)

test: $(VENV)/.sessions
	$(BIN)/nox $(ARGS)

hostile: $(VENV)/.hostile
	$(BIN)/python -m tests.hostile.long $(ARGS)

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy asv_bench/bars.py asv_bench/endure.py asv_bench/once.py asv_bench/turns.py asv_bench/gpu_check tests/typing_cases.py
	$(BIN)/mypy -p benchmarks

bars: $(VENV)/.bars
	$(BIN)/python asv_bench/bars.py $(ARGS)

slower: $(VENV)/.dashboard
	$(BIN)/python asv_bench/slower.py $(ARGS)

endure: $(VENV)/.bars
	$(BIN)/python asv_bench/endure.py $(ARGS)

# Not in $(VENV): a machine with a GPU has the libraries, and may have no network.
gpu-check:
	$(PYTHON) asv_bench/gpu_check/run.py --out $(OUT) --wheels $(WHEELS) $(ARGS)

gpu-wheels:
	$(PYTHON) -m pip download --quiet --only-binary=:all: --python-version $(GPU_PYTHON) --dest $(WHEELS) 'pytest>=9' hypothesis

clean:
	rm -rf $(VENV) .nox .mypy_cache .pytest_cache .ruff_cache .hypothesis dist build compare.html compare.json __pycache__ asv_bench/.asv
	find $(ROOTS) -name __pycache__ -prune -exec rm -rf {} +

# An interpreter is run, not looked for: pyenv's shims of versions that are not active exist, and fail.
# pip reads dependency groups since 25.1, newer than what most interpreters bring.
$(VENV)/.pip:
	@$(PYTHON) -c '' >/dev/null 2>&1 || { echo '$(PYTHON) is not there or does not run. Install Python 3.11 or newer, or name one that runs: make PYTHON=/path/to/python3.12' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("buflend needs Python 3.11 or newer, $(PYTHON) is " + sys.version.split()[0] + ". Name another: make PYTHON=python3.12")'
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo '$(PYTHON) cannot make virtual environments: its venv or ensurepip module is missing. On Debian and Ubuntu: apt install python3-venv' >&2; exit 1; }
	@echo 'Setting up $(VENV)'
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PIP) --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/.bench: $(VENV)/.pip pyproject.toml
	@echo 'Installing buflend and its peers'
	@$(PIP) --editable '.[bench]'
	@touch $@

$(VENV)/.dashboard: $(VENV)/.bench
	@echo 'Installing asv'
	@$(PIP) --editable '.[bench]' --group dashboard
	@touch $@

$(VENV)/.bars: $(VENV)/.bench
	@$(PIP) --editable '.[bench]' --group bars
	@touch $@

$(VENV)/.sessions: $(VENV)/.pip pyproject.toml
	@echo 'Installing the session runner'
	@$(PIP) --group sessions
	@touch $@

$(VENV)/.hostile: $(VENV)/.pip pyproject.toml
	@echo 'Installing buflend and Hypothesis'
	@$(PIP) --editable . --group hostile
	@touch $@

$(VENV)/.lint: $(VENV)/.pip pyproject.toml
	@echo 'Installing the checkers'
	@$(PIP) --group lint
	@touch $@
