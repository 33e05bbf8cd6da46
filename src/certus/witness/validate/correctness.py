"""Validate a correctness witness: prove its invariants, and with their help the property."""

from __future__ import annotations

from dataclasses import replace

from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.effects import uses_memory
from certus.core.evidence import Inductive, Partitioned, Proof, Safe, Trace, Unknown, Unsafe
from certus.core.outcome import Outcome
from certus.core.witness import UNDEFINED, CorrectnessWitness, probe_number
from certus.engines.registry import ENGINES
from certus.witness.validate.case import Case, Judgement, note
from certus.witness.validate.checking import DIRECT_SHARE, check, check_in_child, in_child, reason_of, search
from certus.witness.validate.invariant_claims import claimed_invariants


def validate_correctness(case: Case, witness: CorrectnessWitness) -> Judgement:
    """Check the invariants as a proof; otherwise let engines prove the program that asserts them."""
    if case.probes:
        direct = in_child(case, DIRECT_SHARE, lambda budget: _invariants_as_proof(case, budget))
        if direct is not None and isinstance(direct.verdict, Safe):
            message = "the invariants of the witness prove the property"
            return Judgement("CONFIRMED", note("witness-confirmed", message), direct)
    refusal: Diagnostic | None = None
    explicit = tuple(name for name, engine in ENGINES.items() if engine.explicit_proofs)
    for engines in ((), explicit):
        outcome = search(case, case.probed, engines)
        if isinstance(outcome.verdict, Unsafe):
            return _counterexample(case, outcome)
        if isinstance(outcome.verdict, Unknown):
            return Judgement("UNKNOWN", refusal or reason_of(outcome))
        checked = _carry_back(case, outcome)
        if isinstance(checked.verdict, Safe):
            message = "the invariants of the witness hold, and with their help the property was proved"
            if not witness.invariants:
                message = "the witness has no invariants; the property was proved without them"
            return Judgement("CONFIRMED", note("witness-confirmed", message), checked)
        refusal = reason_of(checked)
    assert refusal is not None
    return Judgement("UNKNOWN", refusal)


def _invariants_as_proof(case: Case, budget: Budget) -> Outcome | None:
    """Check the proof that consists of the invariants alone; None if some of them are not plain terms."""
    from certus.passes.memory import find_partition

    partition = find_partition(case.program) if uses_memory(case.program) else None
    claims = claimed_invariants(case, partition)
    if len(claims.complete) < len(case.probes):
        return None
    proof: Proof = Inductive(claims.formulas)
    if partition is not None:
        proof = Partitioned(partition, proof)
    return check(case, Safe(proof), "witness", budget)


def _carry_back(case: Case, outcome: Outcome) -> Outcome:
    """Turn a proof about the program with probes into one about the program itself, and check that."""
    assert isinstance(outcome.verdict, Safe)
    if case.probed is case.program:
        return outcome
    proof: Proof | None = outcome.verdict.proof
    partition = case.back_map.partition(proof.partition) if isinstance(proof, Partitioned) else None
    claims = claimed_invariants(case, partition)
    proof = case.back_map.proof(outcome.verdict.proof, claims.formulas)
    if proof is None:
        reason = note("proof-not-carried-back", "the proof does not apply to the program without invariants")
        return replace(outcome, subject=case.program, verdict=Unknown(reason), check=None)
    return check_in_child(case, Safe(proof), outcome.engine)


def _counterexample(case: Case, outcome: Outcome) -> Judgement:
    """Judge an execution that violates an invariant (replayed on the program with probes) or the property."""
    assert isinstance(outcome.verdict, Unsafe)
    assert isinstance(outcome.verdict.refutation, Trace)
    site = case.probed.error_at(case.probed.location[outcome.verdict.refutation.error])
    number = probe_number(site.kind)
    if number is not None:
        probe = case.probes[number]
        shown = _with_invariant_texts(outcome, case)
        if site.text == UNDEFINED:
            cause = "it divides by zero, shifts by a wrong amount, or overflows"
            message = f"`{probe.text}` has no defined value in an execution at line {probe.place}: {cause}"
            return Judgement("REFUTED", note("invariant-undefined", message, probe.span), shown)
        message = f"`{probe.text}` does not always hold at line {probe.place}"
        return Judgement("REFUTED", note("invariant-violated", message, probe.span), shown)
    own = case.back_map.trace(outcome.verdict.refutation)
    checked = outcome if own is None else check_in_child(case, Unsafe(own), outcome.engine)
    if isinstance(checked.verdict, Unsafe):
        message = "an execution violates the property"
        return Judgement("REFUTED", note("witness-refuted", message), checked)
    return Judgement("UNKNOWN", reason_of(checked))


def _with_invariant_texts(outcome: Outcome, case: Case) -> Outcome:
    """Replace the internal names of probes by the expressions of the witness, for reports."""
    program = case.probed

    def text(name: str) -> str:
        number = probe_number(name)
        return name if number is None else f"invariant {case.probes[number].text}"

    procedures = {
        name: replace(p, edges=tuple(replace(e, text=text(e.text)) for e in p.edges))
        for name, p in program.procedures.items()
    }
    errors = tuple(
        site
        if probe_number(site.kind) is None
        else replace(site, kind="invariant", text=text(site.kind).removeprefix("invariant "))
        for site in program.errors
    )
    return replace(outcome, subject=replace(program, procedures=procedures, errors=errors))
