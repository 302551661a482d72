# Two commands matter: `make tour` and `make test`. Only scripts/setup.sh knows how to install Python packages.
PYTHON_HERE := .venv/bin/python
ARGS ?=
PYTEST_ARGS ?=
# Tests run side by side, in a process for each core; WORKERS=0 takes one, which a debugger can enter.
WORKERS ?= logical
PYTEST := $(PYTHON_HERE) -m pytest -n $(WORKERS) --maxprocesses 8 --dist worksteal

.PHONY: help tour test test-fast lint setup page docs bench pictures clean

help:
	@echo "make tour       set up .venv and run the tour            (ARGS=\"...\" go to posenc tour)"
	@echo "make test       set up .venv, lint, check types, test    (PYTEST_ARGS=\"...\" go to pytest)"
	@echo "make test-fast  the same without the slow tests"
	@echo "make lint       set up .venv, lint and check types"
	@echo "make setup      set up .venv for development"
	@echo "make page       set up .venv and build the explorer's page from web/ (needs node 20 and npm)"
	@echo "make docs       set up .venv, build the lesson and the reference, and check every link"
	@echo "make bench      install the peers and run every benchmark"
	@echo "make pictures   set up .venv and draw the picture of accuracy of the README"
	@echo "make clean      remove caches and build outputs, keep .venv"

tour:
	@sh scripts/setup.sh plots
	@$(PYTHON_HERE) -m posenc tour $(ARGS)

setup:
	@sh scripts/setup.sh test

lint: setup
	$(PYTHON_HERE) -m ruff check
	$(PYTHON_HERE) -m ruff format --check
	$(PYTHON_HERE) -m mypy

test: lint
	$(PYTEST) $(PYTEST_ARGS)

test-fast: lint
	$(PYTEST) -m "not slow" $(PYTEST_ARGS)

page: setup
	npm ci --prefix web
	$(PYTHON_HERE) scripts/export_web.py
	npm run lint --prefix web
	npm test --prefix web
	npm run build --prefix web

# Built from nothing, since pages are run: what an older version printed must not stay. A warning is an error.
docs:
	@sh scripts/setup.sh docs
	@rm -rf build/docs
	$(PYTHON_HERE) -m sphinx -W --keep-going -j auto -q -b html docs build/docs
	@$(PYTHON_HERE) scripts/check_docs.py build/docs

bench:
	@sh scripts/setup.sh bench
	@set -e; for script in benchmarks/[a-z]*.py; do echo "== $$script"; $(PYTHON_HERE) $$script; done

pictures:
	@sh scripts/setup.sh plots
	$(PYTHON_HERE) -m posenc conventions --accuracy --plot docs/images/accuracy.png

clean:
	rm -rf build dist web/dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks docs scripts -name __pycache__ -type d -prune -exec rm -rf {} +
