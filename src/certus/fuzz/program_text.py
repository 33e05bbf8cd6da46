"""Write programs as text: in the small language, as a C task, and as C that tries all inputs when it runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from certus.fuzz import syntax as p

_TASK = """extern int __VERIFIER_nondet_int(void);
extern void __VERIFIER_assume(int);
extern void reach_error(void);
"""
_START = """
__attribute__((used)) void start(void)
{
    long code = all();
    __asm__ volatile("syscall" : : "a"(60L), "D"(code));
}
__asm__(".globl _start\\n_start: xor %ebp, %ebp\\n and $-16, %rsp\\n call start\\n hlt\\n");
"""


@dataclass(frozen=True, slots=True)
class _Language:
    """The differences between the languages; `{}` stands for the condition, or the name of an input."""

    check: str
    restrict: str
    input: str
    after_call: str = ""
    no_parameters: str = "()"


_LP = _Language("assert({});", "assume({});", "int {} = *;")
_C = _Language(
    "if (!({})) reach_error();",
    "__VERIFIER_assume({});",
    "int {} = __VERIFIER_nondet_int();",
    no_parameters="(void)",
)
_NATIVE = _Language(
    "if (!({})) {{ failed = 1; return 0; }}",
    "if (!({})) {{ stopped = 1; return 0; }}",
    "",
    after_call="if (failed || stopped) return 0;",
)


def as_lp(program: p.FuzzProgram) -> str:
    """Return the program in the small language."""
    return _whole(program, _LP, _main(program, _LP, "void main()"))


def as_c(program: p.FuzzProgram) -> str:
    """Return the program as a C task."""
    return _TASK + _whole(program, _C, _main(program, _C, "int main(void)"))


def as_native(program: p.FuzzProgram) -> str:
    """Return C for x86-64 without a library; its exit code is 1 if some inputs violate an assertion, else
    0."""
    parameters = ", ".join(f"int {each.name}" for each in program.inputs) or "void"
    lines = [f"int run({parameters}) {{", *_declarations(program.main)]
    lines += [*_indented(program.main, _NATIVE, 1), "  return 0;", "}", "int all(void) {"]
    lines += [f"  for (long {i.name} = {i.low}; {i.name} <= {i.high}; {i.name}++)" for i in program.inputs]
    arguments = ", ".join(each.name for each in program.inputs)
    lines += [f"  {{ g = stopped = 0; run({arguments}); if (failed) return 1; }}", "  return 0;", "}"]
    return "int failed, stopped;\n" + _whole(program, _NATIVE, lines) + _START


def _whole(program: p.FuzzProgram, language: _Language, main: list[str]) -> str:
    step = ["int step(int a) {", "  int r = 0;", *_indented(program.step, language, 1), "  return r;", "}"]
    return "\n".join(["int g = 0;", *step, *main]) + "\n"


def _main(program: p.FuzzProgram, language: _Language, head: str) -> list[str]:
    lines = [f"{head} {{"]
    for each in program.inputs:
        lines += [f"  {line}" for line in _input(each, language)]
    lines += [*_declarations(program.main), *_indented(program.main, language, 1)]
    return [*lines, "  return 0;", "}"] if head.startswith("int") else [*lines, "}"]


def _input(source: p.Input, language: _Language) -> Iterator[str]:
    yield language.input.format(source.name)
    yield language.restrict.format(f"{source.low} <= {source.name} && {source.name} <= {source.high}")


def _declarations(body: p.Body) -> list[str]:
    return [f"  int {name} = 0;" for name in ("x", "y", *dict.fromkeys(_counters(body)))]


def _counters(body: p.Body) -> Iterator[str]:
    for statement in body:
        match statement:
            case p.Loop(counter, _, inside):
                yield counter
                yield from _counters(inside)
            case p.Branch(_, then, otherwise):
                yield from _counters((*then, *otherwise))


def _indented(body: p.Body, language: _Language, depth: int) -> Iterator[str]:
    for statement in body:
        for line in _lines(statement, language):
            yield "  " * depth + line


def _lines(statement: p.Statement, language: _Language) -> Iterator[str]:
    match statement:
        case p.Assign(target, value):
            yield f"{target} = {_text(value)};"
        case p.Step(target, argument):
            yield f"{target} = step({_text(argument)});"
            if language.after_call:
                yield language.after_call
        case p.Check(condition):
            yield language.check.format(_text(condition))
        case p.Restrict(condition):
            yield language.restrict.format(_text(condition))
        case p.Branch(condition, then, otherwise):
            yield f"if ({_text(condition)}) {{"
            yield from _indented(then, language, 1)
            yield "} else {"
            yield from _indented(otherwise, language, 1)
            yield "}"
        case p.Loop(counter, limit, inside):
            yield f"{counter} = 0;"
            yield f"while ({counter} < {limit}) {{"
            yield from _indented(inside, language, 1)
            yield f"  {counter} = {counter} + 1;"
            yield "}"


def _text(expression: p.Expression) -> str:
    match expression:
        case p.Operation(name, left, right):
            return f"({_text(left)} {name} {_text(right)})"
        case int() if expression < 0:
            return f"({expression})"
        case _:
            return str(expression)
