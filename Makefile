# Every command of this repository, stated once: tox and .ci/run call these targets, and
# `make help` prints the comments behind them. Two are enough at first: `make serve`, `make test`.

PYTHON ?= python3
PORT ?= 8778
VENV := .venv
BIN := $(VENV)/bin
CLIENT := ./falcon_placement_client
PROJECTS := pyproject.toml $(CLIENT)/pyproject.toml
INSTALL ?= test
INSTALLED := $(VENV)/installed-$(INSTALL)
# What a developer has installed has it all; a reader needs no tests, no linters and no browser.
DOCS_INSTALLED := $(if $(INSTALLED),$(firstword $(wildcard $(VENV)/installed-test $(VENV)/installed-locked) \
  $(VENV)/installed-$(if $(filter locked,$(INSTALL)),locked,docs)))
DENO := DENO_NO_UPDATE_CHECK=1 $(BIN)/deno
JAVASCRIPT := --quiet --config placement/explorer/deno.json
OPEN ?= $(BIN)/python -m webbrowser
DB ?= sqlite:///$(CURDIR)/.run/placement.db
# PERF: hundreds of processes import the same modules, and each would compile them.
unexport PYTHONDONTWRITEBYTECODE
# Added to a command: make test ARGUMENTS='-k claims', make bench ARGUMENTS='--sizes 1000'.
ARGUMENTS ?=
# Tests of what libraries do for the service: its statements and responses, and the rest.
STATEMENTS := tests/db tests/migrations tests/api/test_gabbits.py
LIBRARIES := $(patsubst %,tests/api/test_%.py,authentication generators metrics_page \
  openstack_commands policy request_log wsgi_stack) tests/cluster/test_metrics.py
# Releases of OpenStack whose pins `make openstack` installs: files of requirements/openstack.
RELEASE ?= 2025.1
# The release of Debian whose MariaDB `make servers` runs, with MySQL and PostgreSQL of unstable, in directories
# that the servers' users can enter: tests that run as root start servers as those users.
DEBIAN ?= trixie
SERVERS := /var/tmp/placement-servers-$(shell id -u)
# The minimal Debian of `make fresh`.
FRESH := /var/tmp/placement-fresh-$(shell id -u)/bookworm
PYTEST := $(BIN)/python -m pytest

.PHONY: help serve reset test test-all fresh servers soak faults lint style types imports format docs samples lock audit \
  screenshots version wheel pythons pins openstack dist gabbi update galera migrations peer client nova \
  watcher cloud conformance bench
.DEFAULT_GOAL := serve

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or later is needed: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# With INSTALL=locked nothing is installed but files with the hashes in requirements/locked.
$(VENV)/installed-locked: $(PROJECTS) requirements/locked/development.txt | $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --require-hashes --no-deps --requirement requirements/locked/development.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps --no-build-isolation --editable $(CLIENT) --editable .
	@touch $@

# Installed once for each change of what is installed.
$(VENV)/installed-%: $(PROJECTS) requirements/constraints.txt | $(VENV)/pyvenv.cfg
	@echo "Installing into $(VENV), which takes a minute the first time…"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --constraint requirements/constraints.txt --editable $(CLIENT) --editable '.$(extras-$*)'
	@touch $@

# A driver in C, which is built here (Debian: gcc libmariadb-dev pkg-config python3-dev).
$(VENV)/installed-mysqlclient: requirements/locked/mysqlclient.txt | $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --require-hashes --no-deps --no-build-isolation --requirement requirements/locked/mysqlclient.txt
	@touch $@

extras-postgresql := [postgresql]
extras-test := [test,lint,docs]
extras-docs := [docs]

help: ## print this list
	@awk -F ': .*## |: ## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' \
	  $(firstword $(MAKEFILE_LIST))

serve: $(VENV)/installed-$(if $(filter postgresql%,$(DB)),postgresql,serve) ## a demonstration cloud on http://127.0.0.1:8778  (PORT=…, DB=…)
	@BIN=$(BIN) PORT=$(PORT) DB='$(DB)' exec sh etc/serve-demo.sh

reset: ## forget the demonstration's data, except databases named with DB=…
	@for file in .run/server-*.pid; do \
	  ! kill -0 "$$(cat $$file 2>/dev/null)" 2>/dev/null || \
	    { echo "make serve is running (process $$(cat $$file)): stop it first, with Ctrl-C"; exit 1; }; \
	done
	@sort -u .run/other-databases 2>/dev/null | sed 's/^/Left as it is: the database /' || true
	rm -rf .run

test: $(INSTALLED) ## the quick tests, on SQLite, and a few on MariaDB and PostgreSQL if installed
	$(BIN)/python -m tests $(ARGUMENTS)

test-all: $(INSTALLED) ## all tests, on each installed engine: those of the gate
	$(BIN)/python -m tests --all $(ARGUMENTS)

fresh: ## make serve and make test in a clean clone of HEAD, on a minimal Debian  (root, debootstrap)
	.ci/fresh $(FRESH)

servers: $(INSTALLED) ## the sample on MariaDB, MySQL and PostgreSQL of newer releases of Debian  (DEBIAN=…)
	.ci/servers $(DEBIAN) $(SERVERS)/$(DEBIAN) mariadb-server-core mariadb-client-core
	.ci/servers sid $(SERVERS)/sid mysql-server-core mysql-router postgresql
	PLACEMENT_SERVERS=$(SERVERS)/$(DEBIAN):$(SERVERS)/sid PLACEMENT_ENGINES= $(BIN)/python -m tests $(ARGUMENTS)

soak: $(INSTALLED) ## the long runs of races, faults and random requests, by a new seed  (SEED=…)
	$(BIN)/python -m tests.soak $(if $(SEED),--seed $(SEED)) $(ARGUMENTS)

faults: $(INSTALLED) ## plant faults, which tests must see  (ARGUMENTS=memo: some)
	$(BIN)/python -m tests.faults $(ARGUMENTS)

lint: style types imports ## all of the next three

style: $(INSTALLED) ## ruff's rules and format; deno's for the explorer's JavaScript
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(DENO) fmt --check $(JAVASCRIPT)
	$(DENO) lint $(JAVASCRIPT)

types: $(INSTALLED) ## mypy (strict)
	$(BIN)/mypy $(ARGUMENTS)

imports: $(INSTALLED) ## the layers that ARCHITECTURE.rst states, with import-linter
	$(BIN)/lint-imports

format: $(INSTALLED) ## format what `make style` checks
	$(BIN)/ruff format .
	$(DENO) fmt $(JAVASCRIPT)

# Warnings are errors, so a finished build has no broken link.
docs: $(DOCS_INSTALLED) ## pages and manual pages, in docs/_build; opens them  (OPEN=: does not)
	$(BIN)/python -m sphinx --builder html --quiet --fresh-env --fail-on-warning --keep-going \
	  --doctree-dir docs/_build/doctrees docs docs/_build/html
	$(BIN)/python -m sphinx --builder man --quiet --fail-on-warning \
	  --doctree-dir docs/_build/doctrees docs docs/_build/man
	@echo "The documentation: $(CURDIR)/docs/_build/html/index.html"
	$(if $(OPEN),@$(OPEN) '$(CURDIR)/docs/_build/html/index.html' || true)

samples: $(INSTALLED) ## generate placement.conf.sample and policy.yaml.sample in etc/placement
	$(BIN)/oslo-config-generator --config-file etc/placement/config-generator.conf
	$(BIN)/oslopolicy-sample-generator --config-file etc/placement/policy-generator.conf

lock: $(INSTALLED) ## write requirements/locked: hashes and licences of what constraints.txt pins
	sh .ci/lock $(BIN)

audit: $(INSTALLED) ## known vulnerabilities of locked packages  (AUDIT=required: fail if unknown)
	@test -x $(VENV)/audit/bin/pip-audit || { $(PYTHON) -m venv $(VENV)/audit && \
	  $(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit; } || true
	$(BIN)/python -m tests.supply.audit $(VENV)/audit/bin/pip-audit

screenshots: $(INSTALLED) ## pictures of the explorer, in docs/images and .run (Chromium)
	$(BIN)/python -m tests.explorer.screenshots

version: ## print the version, or set it wherever it is stated  (VERSION=1.0.0)
	@sh .ci/version $(VERSION)

wheel: $(INSTALLED) ## build twice, install on each Python from 3.11 on, and the client alone  (PYTHONS=…)
	BIN=$(BIN) sh .ci/wheel

pythons: $(INSTALLED) ## all tests on SQLite, on each other Python of this machine  (PYTHONS=…, ARGUMENTS=…)
	BIN=$(BIN) sh .ci/pythons $(ARGUMENTS)

openstack: $(RELEASE:%=openstack-%) ## tests with the pins of releases of OpenStack  (RELEASE='2025.1 master')

pins: $(RELEASE:%=$(VENV)/openstack-%/installed) ## install the pins of releases of OpenStack  (RELEASE='2025.1 master')

# A virtualenv for each release, with what the release does not pin as old as pyproject.toml allows. The
# installation rewrites the metadata of this tree, so .ci/run does it before any test reads them.
$(VENV)/openstack-%/installed: requirements/openstack/%.txt $(PROJECTS) | $(INSTALLED)
	test -x $(@D)/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python $(@D)
	$(BIN)/uv pip install --quiet --no-sources --python $(@D) --resolution lowest-direct \
	  --constraint $< --editable $(CLIENT) --editable '.[memcached,postgresql,test]'
	touch $@

# Warnings of the time of a version are no errors.
openstack-%: TESTS = $(VENV)/openstack-$*/bin/python -m pytest -W default
openstack-%: $(VENV)/openstack-%/installed
	PLACEMENT_ENGINE=sqlite $(TESTS) $(LIBRARIES) $(ARGUMENTS)
	PLACEMENT_ENGINE=sqlite $(TESTS) -p tests.selection --selection=sample $(STATEMENTS) $(ARGUMENTS)
	PLACEMENT_ENGINE=mariadb $(TESTS) -p tests.selection --selection=smoke $(STATEMENTS) $(ARGUMENTS)

dist: $(INSTALLED) ## the files of a release, in dist: each commit leads to the same bytes
	$(BIN)/python -m tests.supply.distributions dist

gabbi: $(INSTALLED) ## the gabbits against a running server  (PLACEMENT_URL=http://…)
	$(PYTEST) tests/api/test_gabbits.py $(ARGUMENTS)

migrations: $(INSTALLED) ## the tests of migrations on one engine  (PLACEMENT_ENGINE=…)
	$(PYTEST) tests/migrations $(ARGUMENTS)

update: $(INSTALLED) ## roll this tree out over a commit under load, and back  (OLDER=…, PLACEMENT_ENGINE=…)
	PLACEMENT_OLDER=$(OLDER) $(PYTEST) -s tests/cluster/test_rolling_update.py -k over_an_older $(ARGUMENTS)

# Three MariaDB nodes on this machine (Debian: galera-4, mariadb-server, rsync).
galera: export PLACEMENT_GALERA ?= 6000
galera: $(INSTALLED) ## races and histories on a Galera cluster of three nodes
	$(PYTEST) -s tests/galera $(ARGUMENTS)

# The next three have a virtualenv of their own for what they compare with.
peer: export PLACEMENT_PEER ?= $(VENV)/openstack-placement
peer: $(INSTALLED) ## 22,000 requests compared with openstack-placement 16.0.0: some 15 minutes
	$(PYTEST) tests/peer $(ARGUMENTS)

client: export PLACEMENT_CLIENT ?= $(VENV)/openapi-python-client
client: $(INSTALLED) ## a client generated from the API's document, against the service
	$(PYTEST) tests/client $(ARGUMENTS)

# nova has a virtualenv of its own with the pins of its release, because it needs other versions than those in
# constraints.txt. Its wheel lacks files of the tests.
NOVA := nova==34.0.0
nova: ## nova's own functional tests that depend on placement  (ARGUMENTS='--all --shard 1/4')
	test -x $(VENV)/nova/bin/python || $(PYTHON) -m venv $(VENV)/nova
	PIP_CONSTRAINT= $(VENV)/nova/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint requirements/openstack/master.txt --editable $(CLIENT) --editable '.[postgresql]' $(NOVA) \
	  ddt fixtures oslotest PyMySQL python-memcached requests-mock stestr testscenarios testtools wsgi-intercept
	test -d $(VENV)/nova/src || { PIP_CONSTRAINT= $(VENV)/nova/bin/python -m pip download --quiet --no-deps \
	  --no-binary nova --dest $(VENV)/nova/sdist $(NOVA) && mkdir $(VENV)/nova/src && \
	  tar -xzf $(VENV)/nova/sdist/nova-*.tar.gz --directory $(VENV)/nova/src --strip-components 1; }
	$(VENV)/nova/bin/python -m tests.nova
	$(VENV)/nova/bin/python -m tests.nova.flavors
	$(VENV)/nova/bin/python -m tests.nova.functional $(VENV)/nova/src $(ARGUMENTS)

# Watcher's base classes, model and actions come from PyPI. Its imports warn of eventlet.
WATCHER := python-watcher==17.0.0
watcher: export PLACEMENT_WATCHER := 1
watcher: ## the example strategy of examples/watcher, with Watcher from PyPI
	test -x $(VENV)/watcher/bin/python || $(PYTHON) -m venv $(VENV)/watcher
	PIP_CONSTRAINT= $(VENV)/watcher/bin/python -m pip install --quiet --disable-pip-version-check \
	  --editable $(CLIENT) --editable . --editable examples/watcher $(WATCHER) hypothesis pytest
	$(VENV)/watcher/bin/python -m pytest -W default tests/watcher $(ARGUMENTS)

# Services of OpenStack from PyPI (Debian: rabbitmq-server, memcached, mariadb-server, nginx-light, gcc).
cloud: RELEASE = 2026.2
cloud: $(INSTALLED) ## a whole OpenStack with a fake nova-compute  (REFERENCE=16.0.0, ARGUMENTS=--small)
	$(BIN)/python -m tests.cloud --release $(RELEASE) $(if $(REFERENCE),--reference $(REFERENCE)) $(ARGUMENTS)

conformance: $(INSTALLED) ## tests and clients of OpenStack's projects: hours, into docs/reference/conformance.rst
	$(BIN)/python -m tests.conformance $(ARGUMENTS)

bench: export PLACEMENT_PEER ?= $(VENV)/openstack-placement
bench: $(INSTALLED) ## compare speed with openstack-placement 16.0.0: docs/development/bench.rst
	$(BIN)/python -m bench $(ARGUMENTS)
