# Everything is installed into .venv; nothing else on the machine is touched. With PYSPARK=4.1.0 it is installed into a folder of
# its own, with that version of PySpark: for `test-spark`.
PYTHON ?= python3
VENV := $(if $(PYSPARK),build/pyspark-$(PYSPARK),.venv)
BIN := $(VENV)/bin

# Compiled modules are kept: tests start hundreds of processes, each of which would compile all of tidelog again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo help docs docs-version java mosquitto postgresql alertmanager servers chromium packaging package test-compiled playground \
    proofs test-proofs extension pictures film test test-all test-spark coverage format lint bench bench-report clean

demo: $(VENV)/demo.stamp ## run an example: the spells in a year of temperatures
	@$(BIN)/tidelog run examples/weather/weather.tide \
	    --in 'examples/weather/sf.csv?predicate=temp' --in 'examples/weather/sea.csv?predicate=temp' \
	    --emit final --iso --out facts+-

help: ## print the targets
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## / {printf "%-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# `test` says within minutes whether it works; `test-all` draws more programs, and kills what it can kill (REST=1: only what
# `test` leaves out), of which many wait for brokers and outages. The tests of Spark wait a lot, too: they run beside the
# others, and what they said is shown behind it. `test-spark` runs them alone; NO_SPARK=1 leaves them out.
test: ## the tests that say within minutes whether it works
test-all: ## all tests; REST=1: only what `test` leaves out
test-spark: ## the tests of Spark; REST=1: only what `test` leaves out; PYSPARK=4.1.0: with that version
test: export HYPOTHESIS_PROFILE ?= quick
test: chosen = -m 'not long'
test-all test-spark: chosen = $(if $(REST),-m 'long or hypothesis')
test: workers = 2
test-all: workers = 3
test-all: playground chromium packaging
test test-all: $(VENV)/test.stamp
	@mkdir -p build
	@$(if $(NO_SPARK),true,$(BIN)/python -m pytest $(chosen) tests/spark > build/spark-tests.txt 2>&1) & spark=$$!; \
	$(BIN)/python -m pytest $(chosen) -n $(workers) --dist worksteal --ignore=tests/spark --ignore=tests/proofs; code=$$?; \
	wait $$spark || code=1; $(if $(NO_SPARK),,cat build/spark-tests.txt;) exit $$code

test-spark: $(VENV)/test.stamp
	@$(BIN)/python -m pytest $(chosen) tests/spark

# The share of lines that `test` reaches, without the tests of Spark and those that start the command line in a process of its own.
coverage: export HYPOTHESIS_PROFILE ?= quick
coverage: $(VENV)/coverage.stamp ## print how much of the code `test` reaches; pages in build/coverage
	@mkdir -p build
	@$(BIN)/python -m pytest -q -m 'not long' -n 2 --dist worksteal --ignore=tests/spark --ignore=tests/proofs --cov --cov-report=html > build/coverage.txt 2>&1 \
	    || { tail -n 40 build/coverage.txt; exit 1; }
	@echo "`$(BIN)/python -m coverage report --format=total` % of the lines; each of them in build/coverage/index.html"

format: $(VENV)/lint.stamp ## write the code in the one form, and mend what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lint: $(VENV)/lint.stamp ## check style, types and imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p tidelog
	$(BIN)/lint-imports

# LARS=1: the benchmarks of the papers on LARS, with plots; BATCH=1: those of batch reasoning (FULL=1: a million facts, too);
# COLUMNS=1: whole files in columns (FULL=1: 100 million rows, too); SPARK=1: a program on Spark, which needs Java.
# BUILDS=1: the pure build beside the compiled one.
bench-report: $(VENV)/bench.stamp ## measure beside other tools, and write docs/background/benchmarks.md
	$(BIN)/python -m benchmarks.report

bench: $(VENV)/$(if $(LARS)$(BATCH)$(COLUMNS),bench,test).stamp ## measure; LARS=1, BATCH=1, COLUMNS=1, SPARK=1, BUILDS=1: other benchmarks
	$(if $(BUILDS),@$(MAKE) --no-print-directory test-compiled WHEEL=1)
	$(BIN)/python -m benchmarks $(if $(LARS),--lars) $(if $(BATCH),--batch) $(if $(COLUMNS),--columns) \
	    $(if $(FULL),--full) $(if $(SPARK),--spark) $(if $(BUILDS),--builds)

# The pictures of the examples in docs/pictures, by the commands there.
pictures: $(VENV)/demo.stamp ## draw the pictures of the documents
	@$(BIN)/python -m pages sources
	@xargs -L 1 $(BIN)/tidelog < docs/pictures/commands

# The film of the gateway's page at the head of README and of the site: a run of examples/coldstore, which takes two minutes.
film: $(VENV)/test.stamp ## film the gateway's page, for README and the site
	@$(BIN)/python -m pages film

# The documents as a site in build/site, with the playground. A link that leads nowhere is an error. Needs npm, for Pyodide.
docs: $(VENV)/docs.stamp pictures ## build the site with the playground, in build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs --quiet build
	@$(MAKE) --no-print-directory playground
	@echo "the site is in build/site: python -m http.server -d build/site"

# The site as one of several versions, in the branch gh-pages of this clone: docs/internals/site.md. Nothing is pushed.
docs-version: $(VENV)/docs.stamp pictures ## put the site of VERSION=0.1 into the branch gh-pages, beside the other versions
	@test -n "$(VERSION)" || { echo "say which one: make docs-version VERSION=0.1"; exit 1; }
	@PYTHON=$(BIN)/python .ci/pyodide
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mike -q deploy --update-aliases $(VERSION) latest
	@$(BIN)/mike set-default latest
	@echo "the site is in the branch gh-pages: $(BIN)/mike serve shows it"

# The playground alone, in build/site/playground.
playground: $(VENV)/demo.stamp ## build the playground alone
	@PYTHON=$(BIN)/python .ci/pyodide
	@$(BIN)/python -m pages playground

# A wheel and a source distribution of what is committed, in build/package/dist, and the tests on them.
package: $(VENV)/test.stamp $(VENV)/package.stamp ## build wheel and source distribution, and test them
	@.ci/package

# The wheel with compiled modules of what is committed, in build/compiled/dist, for this Python and this kind of machine; and
# the tests that `make test` runs, on it. WHEEL=1: the wheel alone; ALL=1: the long tests, too.
test-compiled: $(VENV)/test.stamp $(VENV)/package.stamp ## build the compiled wheel, and test it
	@$(if $(ALL),ALL=1) .ci/compiled $(if $(WHEEL),,tests)

# The theorems, the check that they rest on no axiom, and `tidelog-verify`, in build/proofs: proofs/README.md. Coq and OCaml are
# those that are there, or Debian's; .venv is not needed.
proofs: ## prove the checker of certificates, and build it
	@.ci/coq
	@$(MAKE) --no-print-directory -C proofs

test-proofs: proofs $(VENV)/test.stamp ## compare the proved checker with `tidelog verify`
	@$(BIN)/python -m pytest -q tests/proofs
	@PYTHONPATH=tests $(BIN)/python -m pytest -q -p proofs.witness -m 'not hypothesis and not long' tests/why tests/calendars

# The extension for Visual Studio Code, packed, in build/vscode; needs npm.
extension: ## pack the extension for Visual Studio Code
	@mkdir -p build/vscode && cp -r editors/vscode/. build/vscode
	@cd build/vscode && npm install --no-audit --no-fund && npm run package

clean: ## remove .venv and all that was built
	rm -rf $(VENV) build *.egg-info

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/test.stamp $(VENV)/coverage.stamp: | java mosquitto postgresql alertmanager servers chromium
java:
	@.ci/java

mosquitto:
	@.ci/mosquitto

postgresql:
	@.ci/postgresql

alertmanager:
	@.ci/alertmanager

servers:
	@.ci/server influxd influxdb
	@.ci/server nats-server nats-server

chromium:
	@.ci/chromium

packaging:
	@.ci/packaging

$(VENV)/%.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable '.[$*]' $(if $(PYSPARK),'pyspark==$(PYSPARK)')
	touch $@
