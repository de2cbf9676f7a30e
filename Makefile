# Bootstraps .venv from pinned requirements and calls plain commands; everything here can be typed by hand.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.ONESHELL:

# The first of these that ansible-core runs on: of the PATH, where pyenv's shims have those of one version only, else of pyenv. Never that of .venv itself.
PYTHON ?= $(shell for each in python3 python3.13 python3.12 $$(ls -dr $(HOME)/.pyenv/versions/3.1[23]*/bin/python3 2>/dev/null || true); do \
  $$each -c 'import sys; print(sys._base_executable) if sys.version_info >= (3, 12) else sys.exit(1)' 2>/dev/null && exit; done; echo python3)
INVENTORY ?= inventories/local
# The inventory that `make inventory` writes, and the context of the kubeconfig that it asks; by default the current one. KUBECONFIG and K8S_AUTH_* count.
NAME ?= mine
CONTEXT ?=
# Passed on to ansible-playbook, such as ARGS="--check --diff" or ARGS="-e @mine.yml".
ARGS ?=
# How many unit tests run at a time.
WORKERS ?= $(shell nproc)
# Which of them: those marked `rest` or `timing` are in tests/nightly.yml.
MARKED ?= not rest and not timing
# The file that lists tests that may skip: others that do fail.
SKIPS ?=
# Of tests/nightly.yml only these: ONLY=faults,vllm
ONLY ?=
# What `make release` makes, and the key of GnuPG that signs it; by default the first secret one.
VERSION ?=
KEY ?=
VENV := .venv
comma := ,
# Ansible must find this checkout's own commands and configuration wherever make was started.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
# Hundreds of processes load the same modules: what Python compiles is kept, also where a container's environment says otherwise.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help site inventory validate down test nightly lint unit molecule sanity generate docs release bench clean

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  INVENTORY=$(INVENTORY)"

$(VENV)/.ready: requirements.txt
	@if ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
	  echo "Python 3.12 or newer is needed, and $(PYTHON) is not: set PYTHON=/path/to/python3.12 (docs/jobs.md says where each system has one)" >&2; exit 1
	fi
	if ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then
	  echo "Installing python3-venv, which this Python lacks"
	  apt-get update -qq && apt-get install -y -qq python3-venv
	fi
	echo "Installing pinned requirements into $(VENV)"
	# One of another Python would keep that.
	$(PYTHON) -m venv --clear $(VENV)
	# Compiling all of Ansible's collections would take as long as the rest; what is used is compiled when it is.
	$(VENV)/bin/pip install --quiet --no-compile --disable-pip-version-check -r requirements.txt
	touch $@

site: $(VENV)/.ready ## Set up everything, deploy, validate; print the verdict and the URL
	@ansible-playbook -i $(INVENTORY) site.yml $(ARGS)

inventory: $(VENV)/.ready ## Read a cluster, and write inventories/NAME for it: make inventory NAME=mine
	@ansible-playbook -i localhost, playbooks/inventory.yml -e '{"inventory_name": "$(NAME)"$(if $(CONTEXT),$(comma) "inventory_context": "$(CONTEXT)")}' $(ARGS)

validate: $(VENV)/.ready ## Check the claims about the running stack again
	@ansible-playbook -i $(INVENTORY) playbooks/validate.yml $(ARGS)

down: $(VENV)/.ready ## Stop the local cluster and leave nothing of it
	@ansible-playbook -i inventories/local playbooks/local_cluster.yml -e local_cluster_state=absent $(ARGS)

lint: $(VENV)/.ready ## ruff, mypy (strict), yamllint and ansible-lint (profile production)
	@# ansible-lint takes one processor, and longer than all others.
	printf '%s\n' 'ansible-lint --offline' 'ruff format --check . && ruff check . && mypy && yamllint --strict .' | xargs -I COMMANDS -P 2 bash -c COMMANDS

unit: $(VENV)/.ready ## Unit and contract tests of `make test`, WORKERS at a time; one file or part: make unit T="tests/unit -k replicas"
	@pytest $(if $(T),$(T),--numprocesses $(WORKERS) --dist worksteal -m "$(MARKED)") $(if $(SKIPS),--skips-allowed $(SKIPS))

molecule: $(VENV)/.ready ## Converge, idempotence and verify on the real local cluster
	@tests/run-molecule

test: ## What decides, and all that CI runs: lint, sanity, unit and contract tests, one life of the local cluster
	@env --default-signal=INT,QUIT $(PYTHON) tests/gate

nightly: $(VENV)/.ready ## All other tests, for hours (tests/nightly.yml); some of them: make nightly ONLY=faults,vllm
	@env --default-signal=INT,QUIT tests/nightly $(ONLY)

sanity: $(VENV)/.ready ## ansible-test sanity
	@tests/run-sanity

generate: $(VENV)/.ready ## Write argument specs, role READMEs and docs from their sources
	@python tools/generate.py

artifacts/docs/.ready: docs/site/requirements.txt
	@$(PYTHON) -m venv --clear artifacts/docs
	artifacts/docs/bin/pip install --quiet --disable-pip-version-check -r docs/site/requirements.txt
	touch $@

docs: $(VENV)/.ready artifacts/docs/.ready ## Build the site of the documentation, strictly: artifacts/site/html/index.html
	@PATH="$$PATH:$(CURDIR)/artifacts/docs/bin" artifacts/docs/bin/python tools/site.py artifacts/site

release: $(VENV)/.ready ## Make the files of a release, signed, and publish nothing: make release VERSION=1.0.0 KEY=me@example.com
	@$(if $(VERSION),,echo "Which version? make release VERSION=1.0.0" >&2; exit 2)
	python tools/release.py $(VERSION) $(if $(KEY),--key $(KEY))

bench: $(VENV)/.ready ## Run every benchmark; each ends with a line NAME: ours=X peer=Y ratio=Z
	@failed=; for each in tests/benchmarks/*; do [ ! -x "$$each" ] || [ ! -f "$$each" ] || "$$each" || failed="$$failed $$each"; done; \
	  [ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

clean: ## Remove the virtual environment and artifacts (the cluster's cache stays)
	@rm -rf $(VENV) artifacts
