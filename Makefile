# Needs Python 3.11 or newer with venv. Everything is installed into .venv beside this file.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test check format clean

demo: .venv/installed
	$(BIN)/tfmt demo

test: .venv/installed-dev
	$(BIN)/python -m pytest -q

check: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: .venv/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL) --editable .
	touch $@

.venv/installed-dev: .venv/installed
	$(INSTALL) --editable '.[dev]'
	touch $@
