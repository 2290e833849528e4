# make demo    embed handwritten digits, write digits.png
# make test    linters, types, layers, docstrings and the test suite
#
# Both set up everything they need in a virtual environment of their own, and do so again only
# when pyproject.toml or constraints.txt has changed.

PYTHON ?= python3
VENV ?= .venv
INTEGRATIONS ?= .venv-integrations
MIGRATION ?= .venv-migration
BROWSER ?= .venv-browser
TOOLS ?= .venv-tools
PYTEST_ARGS ?=
RELEASE_ARGS ?=
PYTEST_WORKERS ?= 2
FUZZ_SECONDS ?= 600
DATA ?= $(SKMDE_DATA)

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
PIP_INTEGRATIONS := $(INTEGRATIONS)/bin/python -m pip --disable-pip-version-check install --quiet \
  --constraint constraints-integrations.txt
PIP_MIGRATION := $(MIGRATION)/bin/python -m pip --disable-pip-version-check install --quiet \
  --constraint constraints.txt

# Threads that wait do not spin: t-SNE's would, on a busy machine, for a minute.
SPHINX := OMP_WAIT_POLICY=PASSIVE $(BIN)/sphinx-build -W --keep-going

.PHONY: help demo test test-slow test-integrations test-migration test-browser fuzz soak lint \
  typecheck format explorer doc linkcheck test-site gallery-full wheel clean
.PHONY: test-lowest test-newest coverage release-check
.DELETE_ON_ERROR:
# Two installs into one environment at a time would break it.
.NOTPARALLEL:

help:
	@echo "make demo   embed scikit-learn's handwritten digits and write digits.png"
	@echo "make test   run the linters and the test suite (PYTEST_ARGS=... goes to pytest,"
	@echo "            PYTEST_WORKERS=0 runs it in one process)"
	@echo "make test-slow  run the tests that are too slow for each run"
	@echo "make test-integrations  run BERTopic, scanpy and others with skmde in them"
	@echo "make test-migration  run the tests of PyMDE and scikit-learn with skmde in their place"
	@echo "make test-lowest  run the tests with the lowest versions of what skmde needs (Python 3.11)"
	@echo "make test-newest  run the tests with the newest versions"
	@echo "make coverage  run the tests and fail if they run too small a share of the lines"
	@echo "make release-check  build sdist and wheel, check them, install the wheel and use it"
	@echo "make test-browser  open the pages of skmde.plotting.explore in Chromium"
	@echo "make fuzz   try random problems for ten minutes (FUZZ_SECONDS=...)"
	@echo "make soak   2,000 fits and 200,000 transforms in a process whose memory may not grow"
	@echo "make lint   run ruff, mypy and import-linter only"
	@echo "make typecheck  run mypy on the package, and on a user's code, strictly"
	@echo "make format rewrite the sources in the project's style"
	@echo "make explorer  bundle the page of skmde.plotting.explore anew, which needs node"
	@echo "make doc    build the HTML documentation into doc/_build/html"
	@echo "make gallery-full  the same, with the full data of a folder: DATA=..."
	@echo "make linkcheck  look for links between its pages that lead nowhere"
	@echo "make test-site  open its pages in Chromium, wide and narrow, light and dark"
	@echo "make wheel  build the wheel into dist"
	@echo "make clean  remove the virtual environment and everything built"

demo: $(VENV)/.installed-demo
	$(BIN)/python examples/plot_digits.py --output digits.png

test: lint
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal $(PYTEST_ARGS)

test-slow: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal -m slow $(PYTEST_ARGS)

# With its own settings, so that pyproject.toml can keep the folder out of `make test`.
test-integrations: $(INTEGRATIONS)/.installed
	$(INTEGRATIONS)/bin/python -m pytest --config-file tests/integrations/pytest.ini \
	  $(PYTEST_ARGS) tests/integrations

# The tests lie in the packages that are installed; --pyargs, in the settings, finds them.
test-migration: $(MIGRATION)/.installed
	$(MIGRATION)/bin/python -m pytest --config-file tests/migration/pytest.ini $(PYTEST_ARGS) \
	  tests/migration sklearn.manifold.tests pymde

test-browser: $(BROWSER)/.installed
	PYTHONPATH=. $(BROWSER)/bin/python -m pytest --config-file tests/browser/pytest.ini \
	  $(PYTEST_ARGS) tests/browser

# noxfile.py says what these install, and where: below .nox.
test-lowest: $(TOOLS)/.installed
	$(TOOLS)/bin/python -m nox -s lowest -- $(PYTEST_ARGS)

test-newest: $(TOOLS)/.installed
	$(TOOLS)/bin/python -m nox -s newest -- $(PYTEST_ARGS)

# [tool.coverage] in pyproject.toml has the floor and says what is left out.
coverage: $(VENV)/.installed-coverage
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal --cov --cov-report=term:skip-covered \
	  --cov-report=xml $(PYTEST_ARGS)

release-check: $(TOOLS)/.installed
	$(TOOLS)/bin/python tests/release/check.py $(RELEASE_ARGS)

fuzz: $(VENV)/.installed-test
	$(BIN)/python tests/fuzz.py --seconds $(FUZZ_SECONDS)

soak: $(VENV)/.installed-test
	$(BIN)/python tests/soak.py

lint: typecheck
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

typecheck: $(VENV)/.installed-test
	$(BIN)/mypy
	$(BIN)/mypy --strict --follow-imports=silent tests/typing/user_code.py

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

explorer:
	npm --prefix explorer ci --no-audit --no-fund
	npm --prefix explorer run build

doc: $(VENV)/.installed-doc
	$(SPHINX) -b html doc doc/_build/html

# All scripts run, and without their checksums the next `make doc` runs all of them again.
gallery-full: $(VENV)/.installed-doc
	@test -d "$(DATA)" || { \
	  echo "Name the folder of the data: make gallery-full DATA=folder"; exit 1; }
	SKMDE_DATA="$(abspath $(DATA))" $(SPHINX) -D sphinx_gallery_conf.run_stale_examples=True \
	  -b html doc doc/_build/html-full
	find doc/gallery -name '*.md5' -delete

# Links to other sites are not asked for: that needs a network, and such sites come and go.
linkcheck: doc
	$(BIN)/python tests/browser/check_links.py doc/_build/html

test-site: doc $(BROWSER)/.installed
	$(BROWSER)/bin/python tests/browser/look_at_pages.py doc/_build/html --output doc/_build/screenshots

wheel: $(VENV)/.installed-torch
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

clean:
	rm -rf $(VENV) $(INTEGRATIONS) $(MIGRATION) $(BROWSER) $(TOOLS) .nox explorer/node_modules \
	  build dist doc/_build doc/gallery doc/generated skmde.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "skmde needs Python 3.11 or newer and '$(PYTHON)' is not." \
	       "Name one that is: make PYTHON=python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# torch comes first and pinned: left to the resolver, pip may try several builds of many hundred
# megabytes before it finds the one that fits. setuptools is there for the editable install.
$(VENV)/.installed-torch: constraints.txt | $(VENV)/.created
	@echo "Installing the pinned packages; the first time this takes some minutes."
	$(PIP) torch setuptools
	@touch $@

$(VENV)/.installed-demo: pyproject.toml constraints.txt $(VENV)/.installed-torch
	$(PIP) --no-build-isolation --editable '.[plot]'
	@touch $@

$(VENV)/.installed-test: pyproject.toml constraints.txt $(VENV)/.installed-torch
	$(PIP) --no-build-isolation --editable '.[test]'
	@touch $@

$(VENV)/.installed-coverage: $(VENV)/.installed-test
	$(PIP) pytest-cov
	@touch $@

$(VENV)/.installed-doc: pyproject.toml constraints.txt $(VENV)/.installed-torch
	$(PIP) --no-build-isolation --editable '.[doc]'
	@touch $@

# As above, in an environment of its own: other programs have their own ideas of versions.
$(INTEGRATIONS)/.installed: pyproject.toml constraints-integrations.txt \
                            tests/integrations/requirements.txt | $(VENV)/.created
	$(VENV)/bin/python -m venv $(INTEGRATIONS)
	@echo "Installing other programs, 2.5 GB of them; the first time this takes some minutes."
	$(PIP_INTEGRATIONS) torch setuptools
	$(PIP_INTEGRATIONS) --no-build-isolation --editable '.[faiss,plot]' \
	  --requirement tests/integrations/requirements.txt
	@touch $@

# torch and the rest are those of `make test`. PyMDE comes without its dependencies, torchvision
# among them, which its tests do not need.
$(MIGRATION)/.installed: pyproject.toml constraints.txt tests/migration/requirements.txt \
                         | $(VENV)/.created
	$(VENV)/bin/python -m venv $(MIGRATION)
	@echo "Installing what the tests need; the first time this takes some minutes."
	$(PIP_MIGRATION) torch setuptools
	$(PIP_MIGRATION) --no-build-isolation --editable . --requirement tests/migration/requirements.txt
	$(PIP_MIGRATION) --no-deps pymde==0.3.0
	@touch $@

# skmde itself comes from PYTHONPATH: explore needs neither torch nor numba.
$(BROWSER)/.installed: tests/browser/requirements.txt | $(VENV)/.created
	$(VENV)/bin/python -m venv $(BROWSER)
	$(BROWSER)/bin/python -m pip --disable-pip-version-check install --quiet \
	  --requirement tests/browser/requirements.txt
	@touch $@

# Programs that run skmde's tests in other environments, or look at what is released.
$(TOOLS)/.installed: tests/release/requirements.txt | $(VENV)/.created
	$(VENV)/bin/python -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip --disable-pip-version-check install --quiet \
	  --requirement tests/release/requirements.txt
	@touch $@
