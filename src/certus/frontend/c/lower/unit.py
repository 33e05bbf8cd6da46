"""The whole unit: which functions and static objects the program has, and how it starts.

Lowering begins with `main` and goes on with what lowered code mentions. A call through a pointer may mean any
function whose address is taken and whose type fits, so these calls are expanded when nothing new is found any
more. What is not modelled is reported only if control can reach it.
"""

from __future__ import annotations

from dataclasses import dataclass

from certus.core import build
from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError, Unsupported
from certus.core.program import Assume, Call, ErrorSite, Havoc, Procedure, Program
from certus.core.sorts import INT, array, machine
from certus.core.terms import Expr
from certus.frontend.c import ast
from certus.frontend.c.layout import Layout
from certus.frontend.c.library import EXITING
from certus.frontend.c.lower.body import Body, IndirectCall
from certus.frontend.c.lower.calls import expand, fits, runs_anyway
from certus.frontend.c.lower.exits import EXIT, exit_body, registers
from certus.frontend.c.lower.function import RULES, lower_function
from certus.frontend.c.lower.liveness import Liveness, reads, writes
from certus.frontend.c.lower.order import warn_of_orders
from certus.frontend.c.lower.routines import Routine
from certus.frontend.c.lower.shapes import Shapes
from certus.frontend.c.lower.sourcetext import SourceText
from certus.frontend.c.lower.standins import callee
from certus.frontend.c.lower.start import START, Start
from certus.frontend.c.lower.survey import Survey, survey
from certus.frontend.c.lower.values import are_addresses
from certus.frontend.c.lower.world import ErrorRules, World
from certus.frontend.graph import Draft, DraftEdge, Numbering, Settled


@dataclass(frozen=True, slots=True)
class Lowered:
    program: Program
    warnings: tuple[Diagnostic, ...]


def lower_unit(
    unit: ast.Unit,
    property_: ErrorRules,
    budget: Budget | None = None,
    watched: frozenset[tuple[int, int | None]] = frozenset(),
    *,
    invariants: bool = False,
) -> Lowered:
    """The program of a unit; `watched` are places of `?` that must be branches. With `invariants`, probes
    claim that their evaluation is defined. Raises `InputError` if there
    is no `main` (or what else is its entry), `Unsupported`, `BudgetExceeded`."""
    main = unit.functions.get(unit.entry)
    if main is None or main.body is None:
        message = f"{unit.file} defines no function `{unit.entry}`."
        span = Span(unit.file, 1, 1, 1, 1, unit.file, 1)
        code, hint = "no-main", "Certus verifies whole programs."
        if unit.entry != ast.MAIN:
            others = ", ".join(name for name, function in unit.functions.items() if function.body is not None)
            code, hint = "no-function", f"Functions: {others}."
        raise InputError([Diagnostic(code, message, span=span, hint=hint)])
    budget = budget or Budget()
    world = _world(unit, property_, budget)
    world.watched, world.invariants = watched, invariants
    budget.check()
    warn_of_orders(world)
    bodies = _lower_reachable(world, main)
    return _Assembly(world, bodies).run()


def _world(unit: ast.Unit, property_: ErrorRules, budget: Budget) -> World:
    initialised = {v.identity: expression for v, expression in unit.initialisers}
    surveys, addressed = _surveys(unit, initialised)
    text = SourceText(unit.source, unit.file)
    sized = any("realloc" in each.functions for each in surveys.values())
    address = machine(unit.types.model.pointer, signed=False)
    sizes = build.var("$sizes", array(address, address)) if sized else None
    layout = Layout(unit.types)
    shapes = Shapes(layout)
    return World(unit, layout, shapes, text, property_, surveys, addressed, initialised, sizes, budget)


def _surveys(
    unit: ast.Unit, initialised: dict[str, ast.Expression]
) -> tuple[dict[str, Survey], frozenset[str]]:
    """Surveys of the functions that the entry mentions, directly or not, and all variables whose address
    these (or initialisers of what they mention) take."""
    surveys: dict[str, Survey] = {}
    addressed: dict[str, None] = {}
    seen: set[str] = set()
    roots = (unit.entry, *unit.constructors, *unit.destructors)
    stack: list[tuple[str, object]] = [(name, unit.functions[name].body) for name in roots]
    while stack:
        name, tree = stack.pop()
        if name in seen or tree is None:
            continue
        seen.add(name)
        found = survey(tree)
        if name in unit.functions and unit.functions[name].body is tree:
            surveys[name] = found
        addressed.update(found.addressed)
        stack.extend((f, unit.functions[f].body) for f in found.functions if f in unit.functions)
        stack.extend((v, initialised[v]) for v in found.variables if v in initialised)
    return surveys, frozenset(addressed)


def _lower_reachable(world: World, main: ast.Function) -> dict[str, Body]:
    """The bodies of all functions that can be called, and the start of the program."""
    start = Start(world, main)
    if world.unit.destructors and world.mentions(*EXITING):
        start.body.refuse(main.span, "unsupported-attribute", "`exit` in a program with destructors")
    bodies: dict[str, Body] = {START: start.body}
    if registers(world):
        bodies[EXIT] = exit_body(world, RULES, main.span)
    for name in (*world.unit.constructors, world.unit.entry, *world.unit.destructors):
        world.wanted[name] = None
    while True:
        _refuse_made_up(world)
        missing = [name for name in world.wanted if name not in bodies]
        if missing:
            for name in missing:
                world.budget.check()
                bodies[name] = lower_function(world, callee(world, name))
        elif not start.initialise_new():
            for call in world.indirect:
                for name in world.addresses:
                    function = world.unit.functions[name]
                    if fits(call, function.type) or runs_anyway(call, function):
                        world.wanted[name] = None
            if all(name in bodies for name in world.wanted):
                break
    for call in world.indirect:
        functions = [callee(world, name) for name in world.addresses]
        meant = [f for f in functions if fits(call, f.type) or runs_anyway(call, f)]
        _refuse_unknown_arguments(call, meant)
        expand(call, meant)
    world.indirect.clear()  # these hold the bodies, which hold the world
    start.finish()
    return bodies


def _refuse_made_up(world: World) -> None:
    """Names of functions that could be those of procedures that are made up."""
    for name in world.wanted:
        if name.startswith("$"):
            what = f"The function `{name}` has a name that begins with `$`, which is not supported."
            span = world.unit.functions[name].span
            raise Unsupported(Diagnostic("unsupported-name", what, span=span, hint="Rename it."))


def _refuse_unknown_arguments(call: IndirectCall, functions: list[ast.Function]) -> None:
    """A function without prototype and definition might write through the pointers it gets."""
    for function in functions:
        defined = call.body.world.unit.functions[function.name].body is not None
        if function.type.parameters is None and not defined and any(a.sort is INT for a in call.arguments):
            what = f"`{function.name}` is not declared with its parameters and may be called here."
            diagnostic = Diagnostic("unsupported-external-function", what, span=call.span)
            call.body.draft.refusals.append((call.source, diagnostic))


class _Assembly:
    """From drafts to the program."""

    def __init__(self, world: World, bodies: dict[str, Body]) -> None:
        self.world = world
        self.bodies = bodies
        self.settled: dict[str, Settled] = {}

    def run(self) -> Lowered:
        world = self.world
        main = START if self.bodies[START].draft.edges else world.unit.entry
        used = self._settle(main)
        self._refuse(used)
        numbering = Numbering()
        procedures: dict[str, Procedure] = {}
        errors: list[ErrorSite] = []
        decided: list[str] = []
        for name in self._in_source_order(used):
            world.budget.check()
            graph = self.settled[name].number(numbering)
            drafted = self._drafted(name)
            mentioned = self._mentioned(name)
            keep = (*drafted.parameters, *drafted.results)
            local = tuple(dict.fromkeys((*keep, *(v for v in drafted.variables if v in mentioned))))
            span = self.world.unit.functions[name].span if name in world.unit.functions else None
            parameters = tuple(drafted.parameters)
            procedures[name] = Procedure(
                name, parameters, drafted.results, local, graph.entry, graph.exit, graph.edges, span
            )
            errors += graph.errors
            decided += (name,) * graph.decided
        sizes = () if world.sizes is None else (world.sizes,)
        shared = (*world.globals, *(o.base for o in world.objects), *sizes)
        names = {v: variable.name for v, variable in world.globals.items()} | world.source_names
        program = Program(
            procedures,
            main,
            shared,
            tuple(errors),
            self._initial(),
            names,
            world.unit.source,
            world.unit.file,
            world.pointer_width,
            world.scopes,
            world.named,
            world.unit.digest,
            tuple(decided),
        )
        return Lowered(program, tuple(world.warnings.values()))

    def _drafted(self, name: str) -> Body | Routine:
        return self.bodies[name] if name in self.bodies else self.world.routines[name]

    def _settle(self, main: str) -> dict[str, None]:
        """The procedures that control can reach."""
        used = {main: None}
        stack = [main]
        while stack:
            self.world.budget.check()
            name = stack.pop()
            drafted = self._drafted(name)
            self.settled[name] = _tidy(drafted) if isinstance(drafted, Body) else drafted.draft.settle()
            for edge in self.settled[name].edges:
                if isinstance(edge.op, Call) and edge.op.procedure not in used:
                    used[edge.op.procedure] = None
                    stack.append(edge.op.procedure)
        return used

    def _refuse(self, used: dict[str, None]) -> None:
        refused = [d for name in used for d in self.settled[name].refused]
        if refused:
            raise Unsupported(min(refused, key=lambda d: (_position(d.span), d.code)))

    def _in_source_order(self, used: dict[str, None]) -> list[str]:
        functions = self.world.unit.functions

        def key(name: str) -> tuple[int, tuple[str, int, int], str]:
            if name in functions:
                return 1, _position(functions[name].span), name
            return (0 if name == START else 2), ("", 0, 0), name

        return sorted(used, key=key)

    def _mentioned(self, name: str) -> set[Expr]:
        from certus.core.walk import variables

        found: set[Expr] = set()
        terms: dict[Expr, None] = {}
        for edge in self.settled[name].edges:
            self.world.budget.check()
            found.update(writes(edge.op))
            terms.update(dict.fromkeys(reads(edge.op)))
        found.update(variables(*terms))
        return found

    def _initial(self) -> dict[Expr, Expr]:
        initial = {base.base: build.integer(0) for base in self.world.objects}
        if self.world.sizes is not None:
            address = self.world.pointer_sort
            initial[self.world.sizes] = build.const_array(address, build.constant(0, address))
        return initial | self.world.initial


def _position(span: Span | None) -> tuple[str, int, int]:
    return (span.file, span.line, span.column) if span is not None else ("", 0, 0)


def _tidy(body: Body) -> Settled:
    """Drop the inputs of declarations that are never read; make inputs of what is read without a value."""
    settled = body.draft.settle()
    bound = {*body.parameters, *body.results, *body.temporaries}
    candidates = [v for v in body.variables if v not in bound and v in body.world.source_names]
    live = Liveness(settled, candidates)
    dropped = {
        edge
        for edge in settled.edges
        if edge.declares
        and isinstance(edge.op, Havoc)
        and not any(live.is_live(v, edge.target) for v in edge.op.targets)
    }
    unwritten = live.at(settled.entry)
    if unwritten:
        body.draft.stands_for.pop(Draft.ENTRY)
        text = ", ".join(body.world.source_names[v] for v in unwritten)
        body.draft.edge(
            Draft.ENTRY,
            Havoc(unwritten),
            settled.entry,
            body.draft.span,
            f"{text} without a value",
            declares=True,
            order=(-1, 0),
        )
    if dropped:
        body.draft.drop(dropped)
    declared = [edge for edge in body.draft.edges if edge.declares]
    for edge in declared:
        _only_addresses(body, edge)
    return body.draft.settle() if dropped or declared else settled


def _only_addresses(body: Body, declared: DraftEdge) -> None:
    """A pointer without a value is some address nevertheless."""
    assert isinstance(declared.op, Havoc)
    proper = are_addresses(declared.op.targets, body.world.pointer_width)
    if proper is not build.TRUE:
        after, declared.target = declared.target, body.draft.node()
        place = (declared.order[0], declared.order[1] + 1)
        body.draft.edge(declared.target, Assume(proper), after, declared.span, declared.text, order=place)
