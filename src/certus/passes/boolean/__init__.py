"""Abstract programs to Boolean programs over predicates (Wolff 2015, section 3)."""

from certus.passes.boolean.abstraction import abstract_program

__all__ = ["abstract_program"]
