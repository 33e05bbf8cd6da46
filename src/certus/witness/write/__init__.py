"""Write verdicts as verification witnesses, format 2.0."""

from certus.witness.write.render import render_witness, witness_of

__all__ = ["render_witness", "witness_of"]
