# Everything is installed into .venv; nothing else on the machine is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Compiled modules are kept: tests start hundreds of processes, each of which would compile all of tidelog again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo docs java mosquitto chromium package test-compiled playground extension pictures test test-all lint bench clean

demo: $(VENV)/demo.stamp
	@$(BIN)/tidelog run examples/weather/weather.tide \
	    --in 'examples/weather/sf.csv?predicate=temp' --in 'examples/weather/sea.csv?predicate=temp' \
	    --emit final --iso --out facts+-

# `test` says within minutes whether it works; `test-all` draws more programs, and kills what it can kill (REST=1: only what
# `test` leaves out). The tests of Spark wait a lot: they run beside the others, and what they said is shown behind it.
test: export HYPOTHESIS_PROFILE ?= quick
test: chosen = -m 'not long'
test-all: chosen = $(if $(REST),-m 'long or hypothesis')
test-all: playground chromium
test test-all: $(VENV)/test.stamp
	@mkdir -p build
	@$(BIN)/python -m pytest $(chosen) tests/spark > build/spark-tests.txt 2>&1 & spark=$$!; \
	$(BIN)/python -m pytest $(chosen) -n 2 --dist worksteal --ignore=tests/spark; code=$$?; \
	wait $$spark || code=1; cat build/spark-tests.txt; exit $$code

lint: $(VENV)/lint.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p tidelog
	$(BIN)/lint-imports

# LARS=1: the benchmarks of the papers on LARS, with plots; BATCH=1: those of batch reasoning (FULL=1: a million facts, too);
# SPARK=1: a program on Spark, which needs Java. BUILDS=1: the pure build beside the compiled one.
bench: $(VENV)/$(if $(LARS)$(BATCH),bench,test).stamp
	$(if $(BUILDS),@$(MAKE) --no-print-directory test-compiled WHEEL=1)
	$(BIN)/python -m benchmarks $(if $(LARS),--lars) $(if $(BATCH),--batch $(if $(FULL),--full)) $(if $(SPARK),--spark) \
	    $(if $(BUILDS),--builds)

# The pictures of the examples in docs/pictures, by the commands there.
pictures: $(VENV)/demo.stamp
	@$(BIN)/python -m pages sources
	@xargs -L 1 $(BIN)/tidelog < docs/pictures/commands

# The documents as a site in build/site, with the playground. A link that leads nowhere is an error. Needs npm, for Pyodide.
docs: $(VENV)/docs.stamp pictures
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs --quiet build
	@$(MAKE) --no-print-directory playground
	@echo "the site is in build/site: python -m http.server -d build/site"

# The playground alone, in build/site/playground.
playground: $(VENV)/demo.stamp
	@PYTHON=$(BIN)/python .ci/pyodide
	@$(BIN)/python -m pages playground

# A wheel and a source distribution of what is committed, in build/package/dist, and the tests on them.
package: $(VENV)/test.stamp $(VENV)/lint.stamp
	@.ci/package

# The wheel with compiled modules of what is committed, in build/compiled/dist, for this Python and this kind of machine; and
# the tests that `make test` runs, on it. WHEEL=1: the wheel alone; ALL=1: the long tests, too.
test-compiled: $(VENV)/test.stamp $(VENV)/lint.stamp
	@$(if $(ALL),ALL=1) .ci/compiled $(if $(WHEEL),,tests)

# The extension for Visual Studio Code, packed, in build/vscode; needs npm.
extension:
	@mkdir -p build/vscode && cp -r editors/vscode/. build/vscode
	@cd build/vscode && npm install --no-audit --no-fund && npm run package

clean:
	rm -rf $(VENV) build *.egg-info

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/test.stamp: | java mosquitto chromium
java:
	@.ci/java

mosquitto:
	@.ci/mosquitto

chromium:
	@.ci/chromium

$(VENV)/%.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable '.[$*]'
	touch $@
