"""Reads from chains of writes: the same as one write after the other, and not one step for each of them."""

from __future__ import annotations

import random

from certus.core.build import const_array, integer, select, store, var
from certus.core.terms import INT, SHORT, Expr, Kind, array, read

ARRAY = var("m", array(INT, INT))
X = var("x", INT)


def steps(at: Expr) -> int:
    """How many steps it is through an array's writes, by what is remembered of them."""
    count = 0
    while at.kind is Kind.STORE:
        count, at = count + 1, at.args[0] if at.stretch is None else at.stretch[1]
    return count


def test_reads_of_random_chains_give_what_was_written_last() -> None:
    chance = random.Random(1)
    chains: list[tuple[Expr, dict[int, Expr]]] = [(ARRAY, {})]
    for number in range(3000):
        at, written = chance.choice(chains[-3:])
        place = chance.randrange(400)
        value = integer(number)
        chains.append((store(at, integer(place), value), {**written, place: value}))
        at, written = chance.choice(chains[-50:])
        place = chance.randrange(400)
        value, below = read(at, integer(place))
        assert value is written.get(place)
        assert value is not None or below is ARRAY


def test_a_chain_is_passed_in_few_steps() -> None:
    size = 20_000
    at = const_array(INT, X)
    for number in range(size):
        at = store(at, integer(number), integer(number + 1))
        if number % 7 == 0:
            assert select(at, integer(number // 2)) is integer(number // 2 + 1)
            assert select(at, integer(-1)) is X
    assert steps(at) <= SHORT + size.bit_length()


def test_writes_elsewhere_end_a_chain() -> None:
    at = store(ARRAY, integer(0), X)
    beyond = store(at, X, integer(5))
    above = beyond
    for number in range(1, 3 * SHORT):
        above = store(above, integer(number), integer(number))
    for _ in range(2):
        assert select(above, integer(7)) is integer(7)
        assert read(above, integer(0)) == (None, beyond)
        assert select(above, integer(0)).args[0] is beyond
