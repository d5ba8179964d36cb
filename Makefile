PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.installed
# One more than there are cores: many tests wait for something.
WORKERS ?= $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")
COMPILE := uv pip compile --generate-hashes --universal --python-version 3.11 \
	--no-header --no-emit-index-url --no-emit-find-links -q pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help run test check format openapi clients states lock bench soak fuzz pictures clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(READY) ## Serve on 127.0.0.1:8000; needs nothing but Python 3.11 or newer
	$(BIN)/python -m app serve --migrate

test: check ## Everything CI runs: lint, types, import contracts, all tests
	tests/install_programs
	$(BIN)/python -m pytest -n $(WORKERS)

check: $(READY) ## Lint, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(READY) ## Format the code and mend what lint can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

openapi: $(READY) ## Write openapi/openapi.json and openapi/team.schema.json from the code
	$(BIN)/python -m app openapi
	$(BIN)/python -m app team schema

clients: $(READY) ## Lint openapi.json and run a job with clients that npm's generators make of it (needs Node.js)
	PYTHON=$(BIN)/python openapi/clients/check

states: $(READY) ## Write the state diagrams of README.md from the code
	$(BIN)/python -m app states README.md

lock: ## Write requirements.lock from pyproject.toml, and of it requirements-run.lock, which the image takes (needs uv)
	$(COMPILE) --all-extras -o requirements.lock
	$(COMPILE) --extra build --constraint requirements.lock -o requirements-run.lock

bench: $(READY) ## Run the benchmarks
	$(BIN)/python -m benchmarks

soak: MINUTES ?= 20
soak: $(READY) ## Disturb three replicas for MINUTES=20, kill a run around each commit, and see that nothing is lost or doubled
	CHARGEHAND_SOAK_MINUTES=$(MINUTES) CHARGEHAND_WHOLE_MATRIX=1 \
		$(BIN)/python -m pytest -o faulthandler_timeout=0 tests/soak tests/crash/test_matrix.py

fuzz: MINUTES ?= 60
fuzz: SEED ?= $(shell date +%s)
fuzz: $(READY) ## Feed tools, replies and requests odd things for MINUTES=60; SEED=… repeats the cases of another time
	CHARGEHAND_FUZZ_MINUTES=$(MINUTES) CHARGEHAND_FUZZ_SEED=$(SEED) \
		$(BIN)/python -m pytest -n 3 -o faulthandler_timeout=0 tests/fuzz

pictures: $(READY) ## Take the pictures of docs/console.md
	tests/install_programs
	$(BIN)/python -m tests.console.pictures docs/pictures

clean: ## Remove what make and the tools made, but not the data in .chargehand
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find app tests migrations -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Chargehand needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
