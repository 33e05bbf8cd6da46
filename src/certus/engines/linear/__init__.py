"""Seed 000: reachability of Linear Programs by linear constraints and summary edges."""

from certus.engines.linear.engine import LinearReachability, Options

__all__ = ["LinearReachability", "Options"]
