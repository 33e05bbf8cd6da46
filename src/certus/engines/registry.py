"""The registry of engines. Each describes itself (`core.engine`): a new one is one file and one line here."""

from __future__ import annotations

from typing import Any

from certus.core.engine import Engine
from certus.engines.arrays import ArrayClaims
from certus.engines.bmc import BoundedModelChecking
from certus.engines.boolean import BooleanReachability
from certus.engines.clp import ConstraintLogic
from certus.engines.execution import OnlyExecution
from certus.engines.kind import KInduction
from certus.engines.linear import LinearReachability
from certus.engines.predicate import PredicateAbstraction
from certus.engines.random import RandomRuns
from certus.engines.ranges import RangeAnalysis
from certus.engines.search import InputSearch
from certus.engines.spacer import Spacer

ENGINES: dict[str, Engine[Any]] = {
    engine.name: engine
    for engine in (
        BoundedModelChecking(),
        KInduction(),
        PredicateAbstraction(),
        LinearReachability(),
        RangeAnalysis(),
        ConstraintLogic(),
        Spacer(),
        BooleanReachability(),
        ArrayClaims(),
        OnlyExecution(),
        RandomRuns(),
        InputSearch(),
    )
}
