"""`python -m certus`."""

from certus.cli.main import run

run()
