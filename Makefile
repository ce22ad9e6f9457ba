# Every command a person types. `make` alone lists them.

SHELL := /bin/bash
.DEFAULT_GOAL := help
VENV := .venv
REDOLAB := $(VENV)/bin/redolab

# Arguments come from the command line alone: an environment may have the same names for purposes of its own (NAME in WSL,
# HOST in csh and conda).
$(foreach each,CLUSTER DB_USER DEFAULTS_FILE HOST NAME PROVIDER SECONDS SERVE SOCKET YES,$(eval $(each) :=))

# What stands behind `make experiment NAME` as VAR=value reaches the lab through the environment, never through a shell.
export REDOLAB_MAKE_VARIABLES := $(MAKEOVERRIDES)

ifeq (experiment,$(firstword $(MAKECMDGOALS)))
# `make experiment NAME VAR=value…`: the second word is a name, not a target.
NAME := $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))
.PHONY: experiment $(NAME)
experiment: $(if $(CLUSTER),$(VENV)/cluster-installed,setup)
	@$(REDOLAB) make-experiment $(NAME)
$(NAME):
	@:
else

.PHONY: help experiment doctor runs slowlog incident report results site lab cluster box up status ssh halt destroy test test-fast test-thorough test-vm lint format clean
help:
	@echo "make experiment NAME VAR=value…   run an experiment: $(subst _,-,$(notdir $(patsubst %/experiment.py,%,$(wildcard experiments/*/experiment.py)) $(basename $(filter-out %/__init__.py,$(wildcard experiments/*.py)))))"
	@echo "make doctor [LOGSIZE=8G]          what this machine offers and lacks for it"
	@echo "make runs                         list the runs that are kept"
	@echo "make slowlog DEFAULTS_FILE=~/.my.cnf [SECONDS=5]   log every statement of a server of yours: docs/query-logs/capture.md"
	@echo "make incident                     redolab-incident.pyz: follow and timeline in one file, for a server without redolab: docs/incident.md"
	@echo "make report                       report.html: results and a sizing calculator, in one page without a network"
	@echo "make results [NAME=stuck]         the pages of docs/results, made from notebooks on the committed runs"
	@echo "make lab                          open them in Jupyter"
	@echo "make site [SERVE=on]              the documentation with search and the calculator in site/, or served on loopback"
	@echo "make cluster                      add what scheduler and workers of many machines take: docs/machines.md"
	@echo "make box                          build the box of the virtual machine that MACHINE=vagrant goes to"
	@echo "make up, status, ssh, halt, destroy [PROVIDER=libvirt]   that virtual machine"
	@echo "make test                         the tests, on real servers of each family with small logs"
	@echo "make test-fast                    those that start no server, in under two minutes"
	@echo "make test-thorough                the others: all ten servers, and every stage at which something may end"
	@echo "make test-vm                      the tests of the virtual machine, in ten minutes to an hour without KVM"
	@echo "make lint                         ruff, mypy, the layers of the imports, docstrings and names"
	@echo "make format                       let ruff format the code"
	@echo "make clean [YES=1]                remove servers, datasets, crash images and .venv; results stay; it asks"

experiment: setup
	@$(REDOLAB) run --help

LOGSIZE := 8G
doctor: setup
	@$(REDOLAB) doctor --log-size '$(LOGSIZE)'

runs: setup
	@$(REDOLAB) runs

slowlog: setup
	@$(REDOLAB) slowlog capture -v $(if $(SECONDS),-s '$(SECONDS)') $(if $(DEFAULTS_FILE),-c '$(DEFAULTS_FILE)') \
		$(if $(SOCKET),--socket '$(SOCKET)') $(if $(HOST),--host '$(HOST)') $(if $(DB_USER),--user '$(DB_USER)')

incident: setup
	@$(VENV)/bin/python -m redolab.incident.build redolab-incident.pyz

report: setup
	@$(REDOLAB) page --output report.html

results: $(VENV)/notebooks-installed
	@$(VENV)/bin/python notebooks/results.py $(NAME)

site: report $(VENV)/site-installed
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs $(if $(filter on,$(SERVE)),serve --dev-addr 127.0.0.1:8000,build --strict --quiet)

lab: $(VENV)/notebooks-installed
	@$(VENV)/bin/jupyter lab --notebook-dir=notebooks

cluster: $(VENV)/cluster-installed

box: setup
	@$(REDOLAB) vm box

up status ssh halt destroy: setup
	@$(REDOLAB) vm $@ $(if $(PROVIDER),--provider '$(PROVIDER)')

test: $(VENV)/notebooks-installed $(VENV)/cluster-installed $(VENV)/site-installed
	@tests/each_time.sh

test-fast: $(VENV)/notebooks-installed $(VENV)/cluster-installed $(VENV)/site-installed
	@tests/each_time.sh fast

test-thorough: $(VENV)/notebooks-installed $(VENV)/cluster-installed $(VENV)/site-installed
	@$(VENV)/bin/pytest -m 'thorough and not vm'

test-vm: setup
	@$(VENV)/bin/pytest -m vm --timeout=3600 tests/machines/virtual

lint: $(VENV)/notebooks-installed $(VENV)/cluster-installed $(VENV)/site-installed
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports
	@$(VENV)/bin/python tests/plain_words.py

format: setup
	@$(VENV)/bin/ruff format .
	@$(VENV)/bin/ruff check --fix .

clean:
	@if [ -x $(REDOLAB) ]; then $(REDOLAB) clean $(if $(YES),--yes); fi
	@echo "removing $(VENV)"
	@rm -rf $(VENV) redolab.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis site
endif

.PHONY: setup
setup: $(VENV)/installed

# The mark comes last: a set-up that was interrupted is made anew.
$(VENV)/installed: requirements.lock
	@echo "setting up $(VENV)"
	@rm -rf $(VENV)
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "redolab: python3 is older than 3.11: install a newer one"; exit 1; }
	@python3 -m venv $(VENV) || { echo "redolab: python3 has no venv: apt install python3-venv"; exit 1; }
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/notebooks-installed: $(VENV)/installed requirements-notebooks.lock
	@echo "adding what notebooks take to $(VENV)"
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-notebooks.lock
	@touch $@

$(VENV)/cluster-installed: $(VENV)/installed requirements-cluster.lock
	@echo "adding what many machines take to $(VENV)"
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-cluster.lock
	@touch $@

$(VENV)/site-installed: $(VENV)/installed requirements-site.lock
	@echo "adding what the site takes to $(VENV)"
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-site.lock
	@touch $@
