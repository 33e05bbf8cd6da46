"""Verdicts as verification witnesses, format 2.0."""

from certus.report.witness.render import render_witness, witness_of

__all__ = ["render_witness", "witness_of"]
