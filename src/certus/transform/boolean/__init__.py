"""Boolean programs from predicates (seed 001, section 3)."""

from certus.transform.boolean.abstraction import abstract_program

__all__ = ["abstract_program"]
