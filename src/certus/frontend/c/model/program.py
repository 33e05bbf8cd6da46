"""Lower the whole program: everything that control can reach, then numbered in the order of the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from certus.core import build
from certus.core.diagnostic import Diagnostic, Span
from certus.core.effects import targets, terms
from certus.core.errors import Inconsistent, InputError, Unsupported
from certus.core.program import Assign, Assume, Call, ErrorSite, Havoc, Procedure, Program, SourceText
from certus.core.terms import Expr
from certus.core.vocabulary import is_input
from certus.core.walk import variables
from certus.frontend.c.ir.module import Module
from certus.frontend.c.model import indirect_calls
from certus.frontend.c.model.body import Body
from certus.frontend.c.model.function import Lowering
from certus.frontend.c.model.library import ALLOCATING, FUNCTIONS, Model
from certus.frontend.c.model.start import START, Start
from certus.frontend.c.model.terms import Unmodelled
from certus.frontend.c.model.unit import Unit
from certus.frontend.graph import Draft, DraftEdge, Numbering, Settled

_OF_CLANG: Final = ("llvm.", "__ubsan_handle_")  # functions that Clang itself calls


def lower_program(unit: Unit, digests: Sequence[str], entry: str) -> Program:
    """Lower everything that `entry` can reach; `digests` are the SHA-256 sums of the files. Warnings are left
    in the unit. Raises `InputError`, `Unsupported`, `BudgetExceeded`."""
    main = unit.program.functions.get(entry)
    if main is None or not main.defined:
        raise InputError([_missing(unit, entry)])
    _note_heap(unit)
    try:
        start = Start(unit, main)
    except Unmodelled as error:
        span = unit.span_of(unit.program, main)
        message = f"`{entry}` has parameters or a result that are not modelled: {error.what}."
        raise Unsupported(Diagnostic(error.code, message, span=span)) from error
    _lower_reachable(unit, start)
    program = _assembled(unit, start, digests)
    vars(start.body).clear()
    return program


def _note_heap(unit: Unit) -> None:
    """Note whether the program may have objects on the heap, and whether it may call functions that nothing
    is known about."""
    functions = unit.program.functions
    mentioned = [name for name in unit.symbols.usage.mentioned if name in functions]
    declared = [name for name in mentioned if not functions[name].defined]
    named = {name for name in declared if not name.startswith(_OF_CLANG) and not is_input(name)}
    environment = unit.environment
    environment.strangers = not named <= FUNCTIONS.keys()
    environment.allocates = environment.strangers or not named.isdisjoint(ALLOCATING)


def _missing(unit: Unit, entry: str) -> Diagnostic:
    names = [source.shown for source in unit.sources.files]
    code = "no-main"
    hint = "Name the file that defines it, too, or write a `main` that calls the functions to verify."
    if entry != "main":
        others = ", ".join(name for name, f in unit.program.functions.items() if f.defined)
        code, hint = "no-function", f"Functions: {others}."
    subject = f"{names[0]} defines no" if len(names) == 1 else f"None of {', '.join(names)} defines a"
    return Diagnostic(code, f"{subject} function `{entry}`.", span=unit.sources.start(), hint=hint)


def _lower_reachable(unit: Unit, start: Start) -> None:
    """Lower everything in use. The functions that calls through pointers may mean become part of the program
    before these calls are expanded, so that no call misses one."""
    while True:
        _lower_queue(unit)
        if start.initialise_new():
            continue
        if unit.indirect:
            _want_callees(unit)
        if not unit.queue:
            break
    if unit.indirect:
        _expand_calls(unit, start)
    start.finish()


def _want_callees(unit: Unit) -> None:
    for _, functions in indirect_calls.resolved(unit):
        for module, name, *_ in functions:
            _want(unit, module, name)


def _expand_calls(unit: Unit, start: Start) -> None:
    """Expand the calls through pointers."""
    taken = len(unit.symbols.addresses)
    for call, functions in indirect_calls.resolved(unit):
        indirect_calls.expand(call, functions)
        _lower_queue(unit)
    while start.initialise_new():
        _lower_queue(unit)
    if len(unit.symbols.addresses) != taken:
        what = "A call through a pointer may call a function whose address only a library model takes."
        raise Unsupported(Diagnostic("unsupported-call", what, span=unit.sources.start()))


def _lower_queue(unit: Unit) -> None:
    while unit.queue:
        unit.budget.check()
        body = unit.queue.pop(0)
        if unit.is_program(body.module) and body.name.startswith("$"):
            what = f"The function `{body.name}` has a name that begins with `$`, which is not supported."
            raise Unsupported(Diagnostic("unsupported-name", what, span=body.draft.span, hint="Rename it."))
        Lowering(body).run()


def _want(unit: Unit, module: Module, name: str) -> None:
    """Make a function that may be called through a pointer, or its model, part of the program."""
    try:
        if unit.definition(module, name) is not None:
            return
    except Unmodelled:
        return
    entry = FUNCTIONS.get(name)
    if entry is not None and isinstance(entry.meaning, Model) and entry.meaning.callback is None:
        unit.model(entry.meaning.symbol)


def _assembled(unit: Unit, start: Start, digests: Sequence[str]) -> Program:
    """Build the program from the drafts of all procedures that control can reach."""
    bodies = {START: start.body, **unit.bodies}
    main = START if start.needed else start.main.name
    settled = _settle(unit, bodies, main)
    refused = [diagnostic for graph in settled.values() for diagnostic in graph.refused]
    if refused:
        raise Unsupported(min(refused, key=lambda d: (_position(d.span), d.code)))
    unit.budget.check()
    numbering = Numbering()
    procedures: dict[str, Procedure] = {}
    errors: list[ErrorSite] = []
    decided: list[str] = []
    for name in sorted(settled, key=lambda name: _rank(bodies[name])):
        body, graph = bodies[name], settled[name].number(numbering)
        mentioned = _mentioned(settled[name])
        parameters, results = tuple(body.signature.parameters), body.signature.results
        used = (v for v in body.variables if v in mentioned)
        local = tuple(dict.fromkeys((*parameters, *results, *used)))
        span = body.draft.span if name != START else None
        procedures[name] = Procedure(
            name, parameters, results, local, graph.entry, graph.exit, graph.edges, span
        )
        errors += graph.errors
        decided += [name] if graph.decided else []
    bases = dict.fromkeys(unit.symbols.objects, build.integer(0))
    library, sizes = unit.library.initial(), dict[Expr, Expr]()
    if unit.library.sizes is not None:
        sizes[unit.library.sizes] = build.const_array(unit.pointer_sort, build.constant(0, unit.pointer_sort))
    files = [SourceText(s.shown, s.text, d) for s, d in zip(unit.sources.files, digests, strict=True)]
    return Program(
        procedures,
        main,
        (*unit.symbols.scalars, *library, *bases, *sizes),
        tuple(errors),
        bases | library | sizes | start.initial,
        unit.names.variables,
        files[0].text,
        files[0].file,
        unit.program.layout.pointer_bits,
        unit.names.scopes,
        unit.names.objects,
        files[0].digest,
        tuple(decided),
        tuple(files[1:]),
        unit.names.formats,
    )


def _settle(unit: Unit, bodies: dict[str, Body], main: str) -> dict[str, Settled]:
    """Return the graphs of the procedures that control can reach."""
    order, settled, stack = {main: None}, dict[str, Settled](), [main]
    while stack:
        name = stack.pop()
        if bodies[name] in unit.queue:
            raise Inconsistent(f"the procedure {name} has not been lowered")
        settled[name] = _tidied(bodies[name])
        for edge in settled[name].edges:
            if isinstance(edge.op, Call) and edge.op.procedure not in order:
                order[edge.op.procedure] = None
                stack.append(edge.op.procedure)
    return settled


def _rank(body: Body) -> tuple[int, tuple[str, int, int], str]:
    """Return the sort key of a procedure: the order of the source, with models of the library last."""
    span = body.draft.span
    if body.name == START:
        return 0, _position(None), START
    return (2 if span is None else 1), _position(span), body.name


def _mentioned(graph: Settled) -> set[Expr]:
    """Return the variables that the steps of a procedure read or write."""
    written = [variable for edge in graph.edges for variable in targets(edge.op)]
    read = dict.fromkeys(term for edge in graph.edges for term in terms(edge.op))
    return {*written, *variables(*read)}


def _position(span: Span | None) -> tuple[str, int, int]:
    return (span.file, span.line, span.column) if span is not None else ("", 0, 0)


def _tidied(body: Body) -> Settled:
    """Return the graph of a procedure without steps that have no effect: values of declarations that are
    never read are dropped, and variables that are read without a value get any value at the start."""
    draft, names = body.draft, body.unit.names.variables
    settled = draft.settle()
    if body.function is None:
        return settled
    parameters = {*body.signature.parameters}
    slots = {s.variable: s for s in body.locals.slots.values() if s.variable is not None}
    bits = {v: 1 << number for number, v in enumerate(v for v in slots if v not in parameters)}
    live = _liveness(settled, bits) if bits else {}
    unnamed = {v for v in bits if v not in names}
    dropped = {
        edge
        for edge in settled.edges
        if ((edge.declares and isinstance(edge.op, Havoc)) or _sets_only(edge, unnamed))
        and not any(live.get(edge.target, 0) & bits.get(v, 0) for v in targets(edge.op))
    }
    unwritten = tuple(v for v, bit in bits.items() if live.get(settled.entry, 0) & bit)
    if unwritten:
        entry = draft.stands_for.pop(Draft.ENTRY, settled.entry)
        named = ", ".join(names[v] for v in unwritten if v in names)
        text = f"{named} without a value" if named else ""
        draft.edge(Draft.ENTRY, Havoc(unwritten), entry, draft.span, text, declares=True, order=(-1, 0))
    if dropped:
        for edge in settled.edges:
            if edge in dropped and edge.source in draft.starts and edge.target not in draft.loops:
                draft.starts.setdefault(edge.target, draft.starts[edge.source])
        draft.drop(dropped)
    declared = [edge for edge in draft.edges if edge.declares]
    booleans = {v for v in bits if slots[v].boolean}
    for edge in declared:
        _restrict_to_type(body, edge, booleans)
    return draft.settle() if dropped or declared else settled


def _sets_only(edge: DraftEdge, variables: set[Expr]) -> bool:
    """Return whether a step only gives values to some of these variables."""
    return isinstance(edge.op, Assign) and all(v in variables for v in edge.op.targets)


def _restrict_to_type(body: Body, declared: DraftEdge, booleans: set[Expr]) -> None:
    """Restrict variables without a value to their types: a pointer is some address, a `_Bool` is 0 or 1."""
    assert isinstance(declared.op, Havoc)
    unset = declared.op.targets
    small = [build.le(v, build.constant(1, v.sort)) for v in unset if v in booleans]
    proper = build.conjunction((body.are_addresses(unset), *small))
    if proper is not build.TRUE:
        after, declared.target = declared.target, body.draft.node()
        place = (declared.order[0], declared.order[1] + 1)
        body.draft.edge(declared.target, Assume(proper), after, declared.span, declared.text, order=place)


def _liveness(graph: Settled, bits: Mapping[Expr, int]) -> dict[int, int]:
    """Return, for each node, the set of variables that may be read from there on before they are written.
    Sets are integers: `bits` has the bit of each variable."""
    incoming: dict[int, list[tuple[int, int, int]]] = {}
    for edge in graph.edges:
        read = sum(bits.get(v, 0) for v in variables(*terms(edge.op)))
        written = sum(bits.get(v, 0) for v in dict.fromkeys(targets(edge.op)))
        incoming.setdefault(edge.target, []).append((edge.source, read, ~written))
    live: dict[int, int] = {}
    pending = dict.fromkeys(incoming)
    while pending:
        node, _ = pending.popitem()
        now = live.get(node, 0)
        for source, read, kept in incoming.get(node, ()):
            before = live.get(source, 0)
            after = before | read | (now & kept)
            if after != before:
                live[source] = after
                pending[source] = None
    return live
