"""Large-block encoding keeps what an automaton does, on random automata, by brute force."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.automata import W, X, Y, Z, assign, automaton, number, numbers, reachable

from certus.core import build
from certus.core.loops import loop_forest
from certus.core.program import Assume, Call, Havoc, Location, Program, Return, leaves
from certus.passes.large_blocks import encode_program

DOMAIN = (0, 1, 2)
STARTS = [(a, b, 0, 0) for a in DOMAIN for b in DOMAIN]
EXIT, ERRORS = 8, (9, 10)

variable = st.sampled_from([X, Y, Z, W])
value = st.sampled_from(DOMAIN).map(number)
modulo = variable.map(lambda v: build.mod(build.add(v, number(1)), number(3)))
operations = st.one_of(
    st.builds(assign, variable, st.one_of(value, variable, modulo)),
    st.builds(lambda a, b: Assume(build.eq(a, b)), variable, value),
    st.builds(lambda a, b: Assume(build.lt(a, b)), variable, st.one_of(value, variable)),
    st.builds(lambda v: Havoc((v,)), st.sampled_from([X, Y])),
    st.just(Assume(build.TRUE)),
    st.just(Call("f", (), ())),
    st.just(Return(())),
)
location = st.integers(0, EXIT - 1)
anywhere = st.one_of(location, location, st.sampled_from([EXIT, *ERRORS]))
steps = st.tuples(anywhere, operations, anywhere)
programs = st.lists(steps, max_size=18).map(lambda s: automaton(s, exit_at=EXIT, errors=ERRORS))
rarely_joined = st.lists(  # long chains with forward edges: the sequence rule has much to do
    st.tuples(st.integers(0, EXIT - 1), operations, st.integers(1, 3)), max_size=18
).map(lambda s: automaton([(a, op, min(a + d, 10)) for a, op, d in s], exit_at=EXIT, errors=ERRORS))

laws = settings(derandomize=True, deadline=None, max_examples=150)


def kept(program: Program) -> set[int]:
    """The locations no rule may remove, as far as they are in the graph."""
    main = program.procedures["main"]
    single = encode_program(program, "single")[0].procedures["main"]
    calls = [at for e in single.edges if isinstance(e.op, Call) for at in (e.source, e.target)]
    anchors = {main.entry, main.exit, *loop_forest(main).heads, *calls}
    return {at.index for at in single.locations if at in anchors} | set(ERRORS)


def naive(program: Program, *, advanced: bool) -> set[int]:
    """The locations left when the rules are applied as printed, until none of them applies."""
    stay = kept(program)
    errors = {at.index for at in program.error_locations}
    main = program.procedures["main"]
    steps = {(e.source.index, e.target.index) for e in main.edges if e.source.index not in errors}
    left = set(numbers(main))
    changed = True
    while changed:
        changed = False
        for at in sorted(left):
            sources = [s for s, t in steps if t == at]
            targets = [t for s, t in steps if s == at]
            dead = (not sources or not targets) and at not in stay
            unreached_error = at in errors and not sources
            if dead or unreached_error or (at not in stay and (advanced or len(sources) == 1)):
                steps = {(s, t) for s, t in steps if at not in (s, t)}
                steps |= {(s, t) for s in sources for t in targets}
                left.remove(at)
                changed = True
    return left


@laws
@given(st.one_of(programs, rarely_joined), st.sampled_from([2, 4, 64]))
def test_blocks_reach_the_same_states_at_the_locations_that_stay(program: Program, limit: int):
    whole = reachable(encode_program(program, "single")[0].procedures["main"], STARTS, DOMAIN)
    for mode in ("large", "advanced"):
        main = encode_program(program, mode, limit=limit)[0].procedures["main"]
        staying = {*numbers(main), *ERRORS}
        assert reachable(main, STARTS, DOMAIN) == {(at, state) for at, state in whole if at in staying}


@laws
@given(st.one_of(programs, rarely_joined))
def test_the_error_sink_rule_keeps_whether_an_error_is_reached(program: Program):
    before, after = (
        {at for at, _ in reachable(p.procedures["main"], STARTS, DOMAIN)} & set(ERRORS)
        for p in (program, encode_program(program, "single")[0])
    )
    assert bool(before) == bool(after)
    assert after <= before


@laws
@given(st.one_of(programs, rarely_joined))
def test_what_must_stay_stays_and_the_rest_goes(program: Program):
    needed = kept(program) - set(ERRORS)
    for mode in ("large", "advanced"):
        main = encode_program(program, mode, limit=10**6)[0].procedures["main"]
        assert needed <= set(numbers(main))
        assert set(numbers(main)) == naive(program, advanced=mode == "advanced") | needed


@laws
@given(st.one_of(programs, rarely_joined))
def test_blocks_hold_original_edges_and_no_calls(program: Program):
    given_ops = {id(e.op) for p in program.procedures.values() for e in p.edges}
    encoded, _ = encode_program(program, "advanced")
    for edge in encoded.procedures["main"].edges:
        ops = list(leaves(edge.op))
        assert all(id(op) in given_ops for op in ops)
        assert len(ops) == 1 or not any(isinstance(op, Call) for op in ops)
        assert isinstance(edge.source, Location)


@laws
@given(st.one_of(programs, rarely_joined))
def test_no_two_blocks_are_parallel(program: Program):
    main = encode_program(program, "large")[0].procedures["main"]
    pairs = [(e.source.index, e.target.index) for e in main.edges if not isinstance(e.op, Call)]
    assert len(pairs) == len(set(pairs))
