# Single checks: `make lint`. All of them: `make check`. PYTHON needs `.[dev]` installed.
PYTHON ?= .venv/bin/python
CHECKS := lint format types layers spelling prose docs unit runs other browser

.PHONY: check fix package $(CHECKS)

check:
	$(PYTHON) scripts/check.py

$(CHECKS):
	$(PYTHON) scripts/check.py $@

fix:
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

package:
	$(PYTHON) -m build
	$(PYTHON) -m twine check --strict dist/*
