"""The engine `clp`: abstraction refinement of constraint logic queries (seed 003)."""

from certus.engines.clp.engine import ConstraintLogic

__all__ = ["ConstraintLogic"]
