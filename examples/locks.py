"""Print a lock program: N conditions and N locks (Mertens 2014, section 5.3).

    python examples/locks.py 5 > locks5.lp
    python examples/locks.py 5 --bug --persist

In every round of a loop each lock is taken if its condition is not zero, and then, again if its
condition is not zero, checked and released; a lock that should be held but is not is an error. Within
one round all this happens between two visits of the loop head, so large blocks need no invariant.

--persist      a lock may stay held, and is then not taken again: the loop needs to know that no lock
               is taken twice
--correlate    locks are taken in one round and checked in the next: the loop needs to know which
               conditions go with which locks
--bug          the last lock is not taken if its condition is negative
"""

from __future__ import annotations

import argparse


def locks(number: int, *, bug: bool = False, persist: bool = False, correlate: bool = False) -> str:
    """The text of the program with `number` locks."""
    numbers = range(1, number + 1)
    take = [line for n in numbers for line in _take(n, buggy=bug and n == number, persist=persist)]
    check = [line for n in numbers for line in _check(n, persist=persist)]
    choose = [f"p{n} = *;" for n in numbers]
    free = [f"lock{n} = 0;" for n in numbers]
    begin = choose if persist else choose + free
    if correlate:
        rounds = [
            "if (checking) {",
            *_indent(check),
            "} else {",
            *_indent(begin + take),
            "}",
            "checking = !checking;",
        ]
    else:
        rounds = begin + take + check
    variables = [f"int p{n} = 0, lock{n} = 0;" for n in numbers]
    body = [
        *variables,
        *(["bool checking = false;"] if correlate else []),
        "while (*) {",
        *_indent(rounds),
        "}",
        "return;",
    ]
    verdict = "VIOLATED" if bug else "HOLDS"
    variant = "".join(f", {name}" for name, on in (("persist", persist), ("correlate", correlate)) if on)
    lines = [
        f"// {verdict}: {number} locks{variant}.",
        "void main() {",
        *_indent(body),
        "ERROR:",
        "    ;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _take(n: int, *, buggy: bool, persist: bool) -> list[str]:
    wanted = f"p{n} > 0" if buggy else f"p{n} != 0"
    if persist:
        return [f"if ({wanted} && lock{n} == 0) {{", f"    lock{n} = lock{n} + 1;", "}"]
    return [f"if ({wanted}) {{", f"    lock{n} = 1;", "}"]


def _check(n: int, *, persist: bool) -> list[str]:
    if persist:
        release = ["    if (*) {", f"        lock{n} = lock{n} - 1;", "    }"]
    else:
        release = [f"    lock{n} = 0;"]
    return [f"if (p{n} != 0) {{", f"    if (lock{n} != 1) {{", "        goto ERROR;", "    }", *release, "}"]


def _indent(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="locks.py N [options]",
    )
    parser.add_argument("number", metavar="N", type=int, help="how many locks")
    for option in ("bug", "persist", "correlate"):
        parser.add_argument(f"--{option}", action="store_true")
    given = parser.parse_args()
    if given.number < 1:
        parser.error("N must be at least 1")
    print(locks(given.number, bug=given.bug, persist=given.persist, correlate=given.correlate), end="")


if __name__ == "__main__":
    main()
