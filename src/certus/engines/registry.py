"""The engines there are. A new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping

from certus.core.task import Engine
from certus.engines.arrays import ArrayClaims
from certus.engines.bmc import BoundedModelChecking
from certus.engines.clp import ConstraintLogic
from certus.engines.kind import KInduction
from certus.engines.linear import LinearReachability
from certus.engines.predicate import PredicateAbstraction
from certus.engines.ranges import RangeAnalysis
from certus.engines.spacer import Spacer

_ALL: tuple[Engine, ...] = (
    BoundedModelChecking(),
    KInduction(),
    PredicateAbstraction(),
    LinearReachability(),
    RangeAnalysis(),
    ConstraintLogic(),
    Spacer(),
    ArrayClaims(),
)

ENGINES: Mapping[str, Engine] = {engine.name: engine for engine in _ALL}
