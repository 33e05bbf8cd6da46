"""Abstract programs to Boolean programs over predicates (seed 001, section 3)."""

from certus.passes.boolean.abstraction import abstract_program

__all__ = ["abstract_program"]
