"""The engine `arrays`."""

from certus.engines.arrays.engine import ArrayClaims

__all__ = ["ArrayClaims"]
