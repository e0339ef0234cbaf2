# Two commands: `make serve` and `make test`. Everything else is for developers.
#
#   make serve             a demonstration cloud on http://127.0.0.1:8778  (PORT=…, DB=…)
#   make reset             forget the demonstration's data, but for databases named with DB=…
#   make test              all tests: on SQLite, and on MariaDB and PostgreSQL if installed
#   make lint              ruff, mypy (strict), import-linter; deno's formatter and linter
#   make format            what ruff and deno format, formatted
#   make docs              pages and manual pages, in docs/_build; opens them (OPEN=: does not)
#   make samples           generate etc/placement.conf.sample and etc/policy.yaml.sample
#   make lock              write locked/: hashes and licences of what constraints.txt pins
#   make audit             known vulnerabilities of it, as far as the index knows any
#   make screenshots       the explorer's views as pictures, in docs/images and .run (Chromium)
#   make wheel             install wheels and editable, the client alone, too; create databases

PYTHON ?= python3
PORT ?= 8778
VENV := .venv
BIN := $(VENV)/bin
CLIENT := ./falcon_placement_client
PROJECTS := pyproject.toml $(CLIENT)/pyproject.toml
INSTALL ?= test
INSTALLED := $(VENV)/installed-$(INSTALL)
# What a developer has installed has it all; a reader needs no tests, no linters and no browser.
DOCS_INSTALLED := $(firstword $(wildcard $(VENV)/installed-test $(VENV)/installed-locked) \
  $(VENV)/installed-docs)
DENO := DENO_NO_UPDATE_CHECK=1 $(BIN)/deno
JAVASCRIPT := --quiet --config placement/explorer/deno.json
OPEN ?= $(BIN)/python -m webbrowser
DB ?= sqlite:///$(CURDIR)/.run/placement.db

.PHONY: serve reset test lint format wheel docs samples lock audit screenshots
.DEFAULT_GOAL := serve

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or later is needed: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# With INSTALL=locked nothing is installed but files with the hashes in locked/.
$(VENV)/installed-locked: $(PROJECTS) locked/development.txt | $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --require-hashes --no-deps --requirement locked/development.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps --no-build-isolation --editable $(CLIENT) --editable .
	@touch $@

# Installed once for each change of what is installed.
$(VENV)/installed-%: $(PROJECTS) constraints.txt | $(VENV)/pyvenv.cfg
	@echo "Installing into $(VENV), which takes a minute the first time…"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --constraint constraints.txt --editable $(CLIENT) --editable '.$(extras-$*)'
	@touch $@

# A driver in C, which is built here (Debian: gcc libmariadb-dev pkg-config python3-dev).
$(VENV)/installed-mysqlclient: locked/mysqlclient.txt | $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --require-hashes --no-deps --no-build-isolation --requirement locked/mysqlclient.txt
	@touch $@

extras-postgresql := [postgresql]
extras-test := [test,lint,docs]
extras-docs := [docs]

serve: $(VENV)/installed-$(if $(filter postgresql%,$(DB)),postgresql,serve)
	@BIN=$(BIN) PORT=$(PORT) DB='$(DB)' exec sh etc/serve-demo.sh

reset:
	@for file in .run/server-*.pid; do \
	  ! kill -0 "$$(cat $$file 2>/dev/null)" 2>/dev/null || \
	    { echo "make serve is running (process $$(cat $$file)): stop it first, with Ctrl-C"; exit 1; }; \
	done
	@sort -u .run/other-databases 2>/dev/null | sed 's/^/Left as it is: the database /' || true
	rm -rf .run

test: $(INSTALLED)
	$(BIN)/python -m tests

# Warnings are errors, so a finished build has no broken link.
docs: $(DOCS_INSTALLED)
	$(BIN)/python -m sphinx --builder html --quiet --fresh-env --fail-on-warning --keep-going \
	  --doctree-dir docs/_build/doctrees docs docs/_build/html
	$(BIN)/python -m sphinx --builder man --quiet --fail-on-warning \
	  --doctree-dir docs/_build/doctrees docs docs/_build/man
	@echo "The documentation: $(CURDIR)/docs/_build/html/index.html"
	$(if $(OPEN),@$(OPEN) '$(CURDIR)/docs/_build/html/index.html' || true)

samples: $(INSTALLED)
	$(BIN)/oslo-config-generator --config-file etc/generators/placement.conf
	$(BIN)/oslopolicy-sample-generator --config-file etc/generators/policy.yaml.conf

lock: $(INSTALLED)
	sh .ci/lock $(BIN)

audit: $(INSTALLED)
	@test -x $(VENV)/audit/bin/pip-audit || { $(PYTHON) -m venv $(VENV)/audit && \
	  $(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit; } || true
	$(BIN)/python -m tests.supply.audit $(VENV)/audit/bin/pip-audit

screenshots: $(INSTALLED)
	$(BIN)/python -m tests.explorer.screenshots

wheel: $(INSTALLED)
	sh .ci/wheel

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(DENO) fmt --check $(JAVASCRIPT)
	$(DENO) lint $(JAVASCRIPT)

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(DENO) fmt $(JAVASCRIPT)
