"""Validate a violation witness: look for an execution that follows it and violates the property."""

from __future__ import annotations

from dataclasses import replace

from certus.core.accounting import Budget
from certus.core.evidence import Safe, Trace, Unsafe
from certus.core.outcome import Outcome
from certus.core.program import Program
from certus.core.witness import ViolationWitness
from certus.witness.validate.case import Case, Judgement, note
from certus.witness.validate.checking import DIRECT_SHARE, check, check_in_child, in_child, reason_of, search
from certus.witness.validate.product import WitnessProduct, named_result, witness_product


def validate_violation(case: Case, witness: ViolationWitness) -> Judgement:
    """Replay the inputs that the witness names; otherwise search its product with the program."""
    product = witness_product(case.probed, witness)
    trace = _named_inputs(product.program, witness)
    direct = in_child(case, DIRECT_SHARE, lambda budget: _replay(case, product, trace, budget))
    if direct is not None and isinstance(direct.verdict, Unsafe):
        message = "the inputs that the witness names lead to the violation"
        return Judgement("CONFIRMED", note("witness-confirmed", message), direct)
    outcome = search(case, product.program)
    if isinstance(outcome.verdict, Unsafe):
        assert isinstance(outcome.verdict.refutation, Trace)
        own = case.back_map.trace(product.trace(outcome.verdict.refutation))
        if own is None:
            message = "the violation that the engines report is not one of the program itself"
            return Judgement("UNKNOWN", note("trace-not-carried-back", message))
        checked = check_in_child(case, Unsafe(own), outcome.engine)
        if isinstance(checked.verdict, Unsafe):
            message = "an execution that follows the witness violates the property"
            return Judgement("CONFIRMED", note("witness-confirmed", message), checked)
        return Judgement("UNKNOWN", reason_of(checked))
    if isinstance(outcome.verdict, Safe):
        message = "no execution that follows the witness violates the property at its target"
        return Judgement("REFUTED", note("witness-refuted", message), outcome)
    return Judgement("UNKNOWN", reason_of(outcome))


def _named_inputs(program: Program, witness: ViolationWitness) -> Trace:
    r"""Return the trace that gives calls the results of `\result == constant`, in order: the n-th constant at
    a call is its n-th result."""
    inputs: dict[int, list[tuple[int, ...]]] = {}
    for segment in witness.segments:
        named = named_result(program, segment[-1])
        if named is not None:
            inputs.setdefault(named[0], []).append((named[1],))
    return Trace(program.errors[0].location.name, {}, {e: tuple(values) for e, values in inputs.items()})


def _replay(case: Case, product: WitnessProduct, trace: Trace, budget: Budget) -> Outcome | None:
    """Run the product on these inputs; return the checked violation if the run reaches one."""
    from certus.interpreter.compile import compile_program
    from certus.interpreter.inputs import ReplayInputs
    from certus.interpreter.interpreter import Ending, run

    end = run(compile_program(product.program), ReplayInputs(product.program, trace), budget=budget)
    if end.ending is not Ending.ERROR:
        return None
    own = case.back_map.trace(product.trace(replace(trace, error=end.location.name)))
    return None if own is None else check(case, Unsafe(own), "replay", budget)
