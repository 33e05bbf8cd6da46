"""Load a program of the small language: parse, check and lower it to a `Program`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError
from certus.core.program import ErrorSite, Havoc, Procedure, Program
from certus.frontend.graph import LoadedProgram, Numbering, collection_paused
from certus.frontend.lp import ast
from certus.frontend.lp.definite_assignment import Flow, UnwrittenLocals, unwritten_globals
from certus.frontend.lp.draft import TreeDraft
from certus.frontend.lp.lower import NO_DIV_ZERO, UNREACH_CALL, Lowering
from certus.frontend.lp.messages import Findings
from certus.frontend.lp.parser import parse
from certus.frontend.lp.symbols import Symbols, collect
from certus.frontend.source import Source

PROPERTIES: Final = (UNREACH_CALL, NO_DIV_ZERO)


def load_lp(text: str, file: str, property: str = UNREACH_CALL) -> LoadedProgram:
    """Load the program of a text; raise `InputError` with all errors in it."""
    if property not in PROPERTIES:
        message = f"The property `{property}` does not apply to the small language."
        raise InputError([Diagnostic("unknown-property", message, hint=f"Choose {' or '.join(PROPERTIES)}.")])
    with collection_paused():
        return _load(Source(text, file), property)


def _load(source: Source, property_name: str) -> LoadedProgram:
    tree = parse(source)
    findings = Findings(source)
    symbols = collect(tree, findings)
    lowered = {}
    for name, unit in symbols.procedures.items():
        lowered[name] = Lowering(unit, symbols, findings, property_name)
        lowered[name].run()
    findings.raise_errors()
    program = _finish(lowered, symbols, source, findings)
    return LoadedProgram(program, findings.warnings())


def _finish(lowered: Mapping[str, Lowering], symbols: Symbols, source: Source, findings: Findings) -> Program:
    flows = {name: Flow(lowering.draft) for name, lowering in lowered.items()}
    _warn_of_globals(flows, symbols, findings)
    numbering = Numbering()
    procedures: dict[str, Procedure] = {}
    errors: list[ErrorSite] = []
    names = {variable: name for name, variable in symbols.globals.items()}
    for name, lowering in lowered.items():
        _warn_of_end(lowering, flows[name], findings)
        _begin(lowering, flows[name], findings)
        unit = lowering.unit
        graph = lowering.draft.finish(numbering)
        scope = lowering.scope
        procedures[name] = Procedure(
            name,
            scope.parameters,
            lowering.results,
            (*dict.fromkeys((*scope.parameters, *lowering.results, *scope.names)), *scope.invented),
            graph.entry,
            graph.exit,
            graph.edges,
            _header(unit, source),
        )
        errors += graph.errors
        names |= scope.names
        for node in graph.unreached:
            kind, claim = lowering.draft.errors[node].kind, lowering.draft.claims[node]
            if kind != "division-by-zero":
                what = "label" if kind == "error-label" else "assertion"
                message, hint = f"No path leads to this {what}.", "Check the conditions and jumps before it."
                findings.warning(f"unreachable-{what}", message, claim.start, claim.end, hint)
    return Program(
        procedures,
        "main",
        tuple(symbols.globals.values()),
        tuple(errors),
        symbols.initial,
        names,
        source.text,
        source.file,
    )


def _header(unit: ast.ProcedureDefinition, source: Source) -> Span:
    return source.span(unit.start, unit.header)


def _warn_of_end(lowering: Lowering, flow: Flow, findings: Findings) -> None:
    unit = lowering.unit
    if lowering.results and lowering.body_end in flow.reached:
        message = f"`{unit.name}` can end here without `return`; its result is then nondeterministic."
        hint = "Return a value on every path."
        findings.warning("missing-return", message, unit.end - 1, unit.end, hint)


def _begin(lowering: Lowering, flow: Flow, findings: Findings) -> None:
    """Make variables without a value at the entry nondeterministic: the parameters of `main`, and locals
    whose declaration is jumped over. Drop the inputs of declared variables that are written before they are
    read."""
    unit, draft = lowering.unit, lowering.draft
    unwritten = UnwrittenLocals(flow, [v for v in lowering.scope.names if v not in lowering.scope.parameters])
    draft.drop(
        {
            edge
            for edge in draft.edges
            if edge.declares
            and isinstance(edge.op, Havoc)
            and not any(v in unwritten.since_declaration for v in edge.op.targets)
        }
    )
    for variable, place in (unwritten.since_entry | unwritten.since_declaration).items():
        _warn_of_read(lowering.scope.names[variable], place, findings)
    arguments = lowering.scope.parameters if unit.name == "main" else ()
    targets = (*arguments, *unwritten.since_entry)
    if targets:
        header = ast.Node(start=unit.start, end=unit.header)
        left = ", ".join(lowering.scope.names[v] for v in targets)
        right = ", ".join("*" for _ in targets)
        del draft.stands_for[TreeDraft.ENTRY]
        op, text = Havoc(targets), f"{left} = {right};"
        draft.step(TreeDraft.ENTRY, op, lowering.body_start, header, text, order=TreeDraft.FIRST)


def _warn_of_globals(flows: Mapping[str, Flow], symbols: Symbols, findings: Findings) -> None:
    for variable, place in unwritten_globals(flows, "main", symbols.free).items():
        _warn_of_read(variable.name, place, findings)


def _warn_of_read(name: str, place: ast.Node, findings: Findings) -> None:
    message = f"`{name}` may be read here before it is written; its value is then nondeterministic."
    hint = "Initialise it in its declaration: with a constant, or with `*` for any value."
    findings.warning("read-before-write", message, place.start, place.end, hint)
