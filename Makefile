# Two commands for a fresh machine with Python 3.11+ and make: `make demo` and `make test`.
# Each sets up everything it needs in .venv first. `make help` lists the rest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FOREIGN_VENV := .venv-foreign
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# Another package index for torch alone, for example one with its CPU or CUDA builds:
#   make demo TORCH_INDEX=ADDRESS
TORCH_INDEX ?=

.PHONY: help demo test test-slow test-foreign lint format clean

help:
	@echo "make demo          train a small attention model, write a report page and open it (three minutes)"
	@echo "make test          all quick tests"
	@echo "make test-slow     the slow ones: demo, compile, many killed and resumed runs"
	@echo "make test-foreign  beside models of timm, torchvision and transformers, in an environment of its own"
	@echo "make lint          ruff, pyright and the direction of imports"
	@echo "make format        format the code"
	@echo "make clean         remove the environments"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("headgrid needs Python 3.11 or newer; choose one: make PYTHON=python3.12" \
	  if sys.version_info < (3, 11) else 0)'
	@echo "Making the environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(BIN)/python pyproject.toml constraints.txt
	@echo "Installing headgrid and what it needs (torch is large; this takes a minute or two) ..."
	@if [ -n "$(TORCH_INDEX)" ]; then $(PIP_INSTALL) --index-url $(TORCH_INDEX) torch; fi
	@$(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/installed-test: $(VENV)/installed
	@$(PIP_INSTALL) --editable '.[test,quality]'
	@touch $@

# torchvision asks for the very torch that constraints.txt pins, so that it brings no other one. Where its wheel
# was built for another build of that torch (with CUDA), headgrid declares the operators that it misses.
$(VENV)/installed-foreign: $(VENV)/installed
	@echo "Installing timm, torchvision and transformers ..."
	@$(PIP_INSTALL) --editable '.[test,timm,hf]'
	@touch $@

demo: $(VENV)/installed
	@$(BIN)/headgrid demo

test: $(VENV)/installed-test
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto

test-slow: $(VENV)/installed-test
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto -m slow

test-foreign:
	@$(MAKE) --no-print-directory VENV=$(FOREIGN_VENV) $(FOREIGN_VENV)/installed-foreign
	@OMP_NUM_THREADS=1 $(FOREIGN_VENV)/bin/python -m pytest --numprocesses auto -m foreign

lint: $(VENV)/installed-test
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/pyright --pythonpath $(BIN)/python
	@$(BIN)/lint-imports

format: $(VENV)/installed-test
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

clean:
	rm -rf $(VENV) $(FOREIGN_VENV)
