# Two commands on a fresh machine with python3 (3.11 or later) and make:
#   make backfill [ARCHIVES=...] [GRAPH=...] [LAKE=...]
#   make test
#
# On Windows in a POSIX shell, for example that of Git.
VENV     := .venv
ifeq ($(OS),Windows_NT)
PYTHON   ?= python
SCRIPTS  := Scripts
else
PYTHON   ?= python3
SCRIPTS  := bin
endif
BIN      := $(VENV)/$(SCRIPTS)
LINT     := build/lint
SBOM     := build/sbom
ARCHIVES ?= data/archives
LAKE     ?= data/lake
GRAPH    ?=

.PHONY: backfill test test-full fast bench docs lock lint-deploy sbom clean

backfill: $(VENV)/.ready
	@$(BIN)/turnetl backfill $(ARCHIVES) --lake "$(LAKE)" $(if $(GRAPH),--graph "$(GRAPH)")

# Without bytecode, every process that a test starts would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

test: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers auto
	$(BIN)/lint-imports
	$(BIN)/pytest -n auto

# The slow proofs that `make test` leaves out, all hypothesis examples, and what Graphiti's
# `add_episode` makes computed again; REWRITE_UPSTREAM=1 stores it. The order is random: ORDER=2 is
# another one. What tests draw does not depend on it.
ORDER    ?= 1

test-full: $(VENV)/.ready
	$(BIN)/pytest -n auto --full -p randomly --randomly-seed=$(ORDER) --randomly-dont-reset-seed $(if $(REWRITE_UPSTREAM),--rewrite-upstream)

fast: $(VENV)/.ready
	$(BIN)/pytest -n auto -m "not neo4j and not prefect"

bench: $(VENV)/.ready
	$(BIN)/python -m benchmarks

# The pages of docs/ that are generated from the code.
docs: $(VENV)/.ready
	$(BIN)/python -m docs.generate

lock: $(VENV)/.ready
	$(BIN)/uv pip compile --universal --generate-hashes --no-emit-index-url --quiet --custom-compile-command "make lock" \
	    --python-version 3.11 --extra dev --extra prefect --extra dask --extra semantic --extra communities --extra objects --extra sql pyproject.toml -o requirements.lock
	mkdir -p build
	$(BIN)/uv pip compile --universal --no-deps --quiet --no-header --python-version 3.11 --format pylock.toml \
	    requirements.lock -o build/pylock.toml
	$(BIN)/python deploy/wheels.py build/pylock.toml > deploy/wheels.tsv
	echo uv | $(BIN)/uv pip compile --universal --generate-hashes --no-emit-index-url --quiet \
	    --custom-compile-command "make lock" --python-version 3.11 - -o requirements-uv.lock
	$(BIN)/uv pip compile --universal --generate-hashes --no-emit-index-url --quiet --custom-compile-command "make lock" \
	    --python-version 3.11 --extra prefect --extra objects --constraint requirements.lock pyproject.toml -o deploy/image.lock
	printf 'hatchling\nuv\n' | $(BIN)/uv pip compile --universal --generate-hashes --no-emit-index-url --quiet \
	    --custom-compile-command "make lock" --python-version 3.11 --constraint requirements.lock \
	    --constraint requirements-uv.lock - -o deploy/build.lock
	printf 'check-jsonschema>=0.39,<0.40\nhadolint-bin>=2.15.1,<2.16\nkubernetes-validate>=1.37,<1.38\n' | \
	    $(BIN)/uv pip compile --universal --generate-hashes --no-emit-index-url --quiet \
	    --custom-compile-command "make lock" --python-version 3.11 - -o deploy/lint.lock
	printf 'cyclonedx-bom>=7.5,<8\npip-licenses>=5.5.5,<6\n' | $(BIN)/uv pip compile --universal --generate-hashes \
	    --no-emit-index-url --quiet --custom-compile-command "make lock" --python-version 3.11 - -o requirements-sbom.lock

# The tools have an environment of their own: the schemas of Kubernetes have 100 MB.
lint-deploy: $(VENV)/.ready
	mkdir -p build
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(LINT)
	$(BIN)/uv pip install --quiet --python $(LINT)/$(SCRIPTS)/python --require-hashes -r deploy/lint.lock
	$(LINT)/$(SCRIPTS)/hadolint deploy/Dockerfile
	$(LINT)/$(SCRIPTS)/check-jsonschema --builtin-schema vendor.compose-spec deploy/compose.yaml
	$(LINT)/$(SCRIPTS)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/test.yml
	$(LINT)/$(SCRIPTS)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(LINT)/$(SCRIPTS)/check-jsonschema --builtin-schema vendor.github-issue-forms \
	    .github/ISSUE_TEMPLATE/leak.yml .github/ISSUE_TEMPLATE/lost-turn.yml .github/ISSUE_TEMPLATE/wrong-count.yml
	$(LINT)/$(SCRIPTS)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(LINT)/$(SCRIPTS)/kubernetes-validate --strict deploy/kubernetes/turnetl.yaml
	$(BIN)/python deploy/shard_job.py > build/shard-job.yaml
	$(LINT)/$(SCRIPTS)/kubernetes-validate --strict build/shard-job.yaml

# The packages of the lock, as installed on this platform. The tools have an environment of their own:
# with one of their packages, `import jsonschema` takes a second, in each process of Prefect too.
sbom: $(VENV)/.ready
	mkdir -p build
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(SBOM)
	$(BIN)/uv pip install --quiet --python $(SBOM)/$(SCRIPTS)/python --require-hashes -r requirements-sbom.lock
	$(SBOM)/$(SCRIPTS)/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml -o build/sbom.json $(VENV)
	$(SBOM)/$(SCRIPTS)/pip-licenses --python=$(BIN)/python --from=mixed --with-urls --format=csv --output-file=build/licences.csv

# uv installs the lock in seconds where pip needs minutes; both read the same file. Without compiled
# bytecode every first command would take seconds longer.
$(VENV)/.ready: requirements.lock requirements-uv.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "turnetl needs Python 3.11 or later; name one with PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-uv.lock
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
