"""Predicate abstraction with large blocks, summaries and interpolation (seeds 001 and 004)."""

from certus.engines.predicate.engine import Options, PredicateAbstraction

__all__ = ["Options", "PredicateAbstraction"]
