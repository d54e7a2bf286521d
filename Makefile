# Two commands a newcomer needs: `make demo` and `make test`. Each sets up .venv when it is missing or out of date.
PYTHON ?= python3
BIN = .venv/bin

.PHONY: demo test lint typing bench clean

demo: .venv/ready
	@$(BIN)/msd demo

test: .venv/ready
	$(BIN)/python -m pytest -n auto -q

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

typing: .venv/ready
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python

bench: .venv/ready
	$(BIN)/python benchmarks/bench.py --json bench.json

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --upgrade "pip>=25.1"
	$(BIN)/python -m pip install -q -e . --group dev
	@touch $@

clean:
	rm -rf .venv .nox .pytest_cache .mypy_cache .ruff_cache .hypothesis dist
