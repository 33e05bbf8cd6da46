"""Generate the eureka library (Armando et al. 2004, section 4): families of programs that get harder with N.

The paper gives outlines; the texts are written for Certus. Each family lists the aspects of the paper's Table
1 that it stresses: data, control, iteration, recursion. With a number, the program is one instance; in a
*symbolic* program N is any non-negative integer, so that one proof covers every instance. The *buggy* variant
fails only after work that grows with N.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from certus.core.diagnostic import Diagnostic
from certus.core.errors import InputError

ASPECTS = ("data", "control", "iteration", "recursion")
MOST = 1_000_000  # the largest N, whose program has about a million calls


@dataclass(frozen=True, slots=True)
class Family:
    """A family of programs; `text` builds one from N (None if symbolic) and whether it should fail."""

    name: str
    summary: str
    aspects: tuple[str, ...]
    text: Callable[[int | None, bool], str]
    symbolic: bool = True  # whether N may be symbolic
    least: int = 0  # the smallest N whose buggy variant fails


def program(name: str, number: int | None, *, buggy: bool = False) -> str:
    """Return the text of a program of the library; without a number, the symbolic one."""
    family = FAMILIES.get(name)
    if family is None:
        raise _usage(f"there is no family {name!r}", f"families: {', '.join(FAMILIES)}")
    if number is None and not family.symbolic:
        raise _usage(f"{name} has no symbolic form: its text or property depends on N", "give a number")
    if number is not None and not 0 <= number <= MOST:
        raise _usage(f"N is {number}, but must be from 0 to {MOST}", "choose a smaller number")
    if buggy and number is not None and number < family.least:
        raise _usage(f"the bug of {name} needs N of at least {family.least}", "choose a larger number")
    what = "any N >= 0" if number is None else f"N = {number}"
    verdict = "VIOLATED" if buggy else "HOLDS"
    return f"// {verdict}: {family.summary}, for {what}.\n{family.text(number, buggy)}"


def _usage(message: str, hint: str) -> InputError:
    return InputError([Diagnostic("usage", message, hint=hint)])


def _main(number: int | None, body: str, locals_: str = "") -> str:
    """Return `main` with N as a number or as any non-negative integer `n`."""
    open_ = "    int n = *;\n    assume(n >= 0);\n" if number is None else ""
    return f"void main() {{\n{locals_}{open_}{body}}}\n"


def _n(number: int | None, factor: int = 1, more: int = 0) -> str:
    """Return `factor * N + more` as text."""
    if number is not None:
        return str(factor * number + more)
    text = "n" if factor == 1 else f"{factor} * n"
    return text if more == 0 else f"{text} {'+' if more > 0 else '-'} {abs(more)}"


_SWAP = """
void swap() {
    int t = a;
    a = b;
    b = t;
}
"""
_START = "    int a0 = a, b0 = b;\n"
_UNCHANGED = "    assert(a == a0 && b == b0);\n"


def _swap_seq(number: int | None, buggy: bool) -> str:
    assert number is not None
    calls = "    swap();\n" * (2 * number + buggy)
    return "int a, b;\n\n" + _main(number, calls + _UNCHANGED, _START) + _SWAP


def _swap_iter(number: int | None, buggy: bool) -> str:
    loop = f"""    int i = 0;
    while (i {"<=" if buggy else "<"} {_n(number, 2)}) {{
        swap();
        i = i + 1;
    }}
"""
    return "int a, b;\n\n" + _main(number, loop + _UNCHANGED, _START) + _SWAP


def _delays(number: int | None, buggy: bool, delay: str) -> str:
    call = "delay(x);"
    if buggy:
        call = f"if (x == {_n(number, 1, -1)}) {{ delay(x + 1); }} else {{ delay(x); }}"
    loop = f"""    int x = 0;
    while (x < {_n(number)}) {{
        {call}
        assert(d == x);
        x = x + 1;
    }}
"""
    return "int d;\n\n" + _main(number, loop) + delay


def _delay_iter(number: int | None, buggy: bool) -> str:
    delay = """
void delay(int m) {
    d = 0;
    while (d < m) { d = d + 1; }
}
"""
    return _delays(number, buggy, delay)


def _delay_recur(number: int | None, buggy: bool) -> str:
    delay = """
void delay(int m) {
    d = 0;
    count(m);
}

void count(int m) {
    if (d < m) {
        d = d + 1;
        count(m);
    }
}
"""
    return _delays(number, buggy, delay)


def _parities(number: int | None, buggy: bool, body: str) -> str:
    claim = "(even == 1) == (n % 2 == 0)" if number is None else f"even == {1 - number % 2}"
    main = f"    even = 1;\n    parity({_n(number)});\n    assert({claim});\n"
    return f"""int even;

{_main(number, main)}
void parity(int m) {{
    if (m {">=" if buggy else ">"} 0) {{
{body}    }}
}}
"""


def _parity(number: int | None, buggy: bool) -> str:
    return _parities(number, buggy, "        even = 1 - even;\n        parity(m - 1);\n")


def _parity_after(number: int | None, buggy: bool) -> str:
    return _parities(number, buggy, "        parity(m - 1);\n        even = 1 - even;\n")


def _sum(number: int | None, buggy: bool) -> str:
    claim = "i == n + 1 && 2 * s == i * (i - 1)" if number is None else f"s == {number * (number + 1) // 2}"
    limit = "    int n = *;\n    assume(n >= 0);\n" if number is None else f"    int n = {number};\n"
    return f"""void main() {{
{limit}    int i = 1, s = 0;
    while (i <= n{" + 1" if buggy else ""}) {{
        s = s + i;
        i = i + 1;
    }}
    assert({claim});
}}
"""


def _even_odd(number: int | None, buggy: bool) -> str:
    claim = "e == (n % 2 == 0)" if number is None else f"e == {'true' if number % 2 == 0 else 'false'}"
    main = f"    bool e = even({_n(number)});\n    assert({claim});\n"
    return f"""{_main(number, main)}
bool even(int m) {{
    bool r = {"false" if buggy else "true"};
    if (m > 0) {{ r = odd(m - 1); }}
    return r;
}}

bool odd(int m) {{
    bool r = {"true" if buggy else "false"};
    if (m > 0) {{ r = even(m - 1); }}
    return r;
}}
"""


def _pour(number: int | None, buggy: bool) -> str:
    loop = f"""    int a = {_n(number)}, b = 0, rounds = 0;
    while (rounds < {_n(number)}) {{
        while (a > 0) {{ a, b = a - 1, b + 1; }}
        while (b > {1 if buggy else 0}) {{ a, b = a + 1, b - 1; }}
        rounds = rounds + 1;
    }}
    assert(a == {_n(number)} && b == 0);
"""
    return _main(number, loop)


def _walk(number: int | None, buggy: bool) -> str:
    loop = f"""    int steps = 0, at = 0;
    while (steps < {_n(number)}) {{
        bool right = *;
        if (right) {{ at = at + 1; }} else {{ at = at - 1; }}
        steps = steps + 1;
    }}
    assert({_n(number, -1)} <= at && at {"<" if buggy else "<="} {_n(number)});
"""
    return _main(number, loop)


_DATA = ("data",)
_LOOP = ("data", "iteration")
_BRANCHES = ("data", "control", "iteration")
_RECURSION = ("data", "recursion")

_ALL = (
    Family("swap_seq", "2N calls in sequence exchange two globals", _DATA, _swap_seq, symbolic=False),
    Family("swap_iter", "2N calls in a loop exchange two globals", _LOOP, _swap_iter),
    Family("delay_iter", "a procedure counts to 0, 1 .. N-1 in a loop", _BRANCHES, _delay_iter, least=1),
    Family("delay_recur", "a procedure counts to 0, 1 .. N-1 by recursion", ASPECTS, _delay_recur, least=1),
    Family("parity", "a procedure flips a global and calls itself, N times", _RECURSION, _parity),
    Family("parity_after", "a procedure calls itself and flips a global, N times", _RECURSION, _parity_after),
    Family("sum", "a loop adds 1 + 2 + .. + N", _LOOP, _sum),
    Family("even_odd", "two procedures call each other N times", _RECURSION, _even_odd),
    Family("pour", "two loops in a loop move N units there and back", _BRANCHES, _pour, least=1),
    Family("walk", "N steps to the left or right, as an input says", _BRANCHES, _walk),
)

FAMILIES: Mapping[str, Family] = {family.name: family for family in _ALL}
