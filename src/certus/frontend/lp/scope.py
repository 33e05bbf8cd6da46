"""Resolve the names of variables in one procedure, and check its declarations."""

from __future__ import annotations

from certus.core import build
from certus.core.terms import BOOL, REAL, Expr, Sort
from certus.frontend.lp import ast
from certus.frontend.lp.messages import Findings
from certus.frontend.lp.symbols import SORTS, Symbols


class ProcedureScope:
    """The names in scope at the current statement, and all variables so far.

    A local is in scope from its declaration to the end of its block and must not hide another name. Disjoint
    blocks may use the same name for different variables; the later ones are called `proc.x$2`, `proc.x$3`.
    Inputs are called `proc.$int1`, `proc.$bool1`, ...; every statement reuses them."""

    def __init__(self, unit: ast.ProcedureDefinition, symbols: Symbols, findings: Findings) -> None:
        self.names: dict[Expr, str] = {}  # declared variables
        self.invented: dict[Expr, None] = {}
        self.reads: list[tuple[Expr, ast.Node]] = []  # of the current statement
        self.inputs: list[Expr] = []  # of the current statement
        self._procedure = unit.name
        self._symbols = symbols
        self._findings = findings
        self._visible: dict[str, Expr] = {}
        self._blocks: list[list[str]] = [[]]
        self._uses: dict[str, int] = {}  # the number of variables with this name so far
        self._reported: set[str] = set()
        self._fresh: dict[Sort, int] = {}
        self.parameters = tuple(
            self.declare(p.name, SORTS[p.type], p.end - len(p.name)) for p in unit.parameters
        )

    def enter(self) -> None:
        self._blocks.append([])

    def leave(self) -> None:
        for name in self._blocks.pop():
            self._visible.pop(name, None)

    def begin_statement(self) -> None:
        self.reads = []
        self.inputs = []
        self._fresh = {}

    # ---------------------------------------------------------------------------- declarations

    def pending(self, name: str, sort: Sort) -> Expr:
        """Return the variable that the next declaration of `name` will create."""
        use = self._uses.get(name, 0) + 1
        return build.var(f"{self._procedure}.{name}" + (f"${use}" if use > 1 else ""), sort)

    def declare(self, name: str, sort: Sort, start: int) -> Expr:
        self._check_new(name, start)
        variable = self.pending(name, sort)
        self._uses[name] = self._uses.get(name, 0) + 1
        self.names[variable] = name
        self._visible[name] = variable
        self._blocks[-1].append(name)
        return variable

    def _check_new(self, name: str, start: int) -> None:
        if name in self._blocks[-1]:
            code, message = "duplicate-declaration", f"`{name}` is declared twice in this block."
        elif name in self._visible:
            code, message = "shadowed-name", f"`{name}` hides the variable `{name}` of an outer block."
        elif name in self._symbols.globals:
            code, message = "shadowed-name", f"`{name}` hides the global variable `{name}`."
        elif name in self._symbols.procedures:
            code, message = "shadowed-name", f"`{name}` hides the procedure `{name}`."
        else:
            return
        self._findings.error(code, message, start, start + len(name), "Choose another name.")

    # ------------------------------------------------------------------------------------ uses

    def fresh(self, sort: Sort) -> Expr:
        """Return a variable for a value that only the current statement needs."""
        number = self._fresh[sort] = self._fresh.get(sort, 0) + 1
        kind = {BOOL: "bool", REAL: "real"}.get(sort, "int")
        variable = build.var(f"{self._procedure}.${kind}{number}", sort)
        self.invented[variable] = None
        return variable

    def _find(self, name: str) -> Expr | None:
        return self._visible.get(name) or self._symbols.globals.get(name)

    def sort_of(self, name: str) -> Sort | None:
        variable = self._find(name)
        return variable.sort if variable is not None else None

    def variable(self, name: ast.Name) -> Expr | None:
        variable = self._find(name.name)
        if variable is None:
            self._undeclared(name)
        else:
            self.reads.append((variable, name))
        return variable

    def target(self, name: ast.Name) -> Expr | None:
        """Return the target of an assignment; None if there is no variable of that name."""
        variable = self._find(name.name)
        if variable is None:
            self._undeclared(name)
        return variable

    def _undeclared(self, name: ast.Name) -> None:
        if name.name in self._reported:
            return
        self._reported.add(name.name)
        hint = f"Declare it, for example as `int {name.name};`."
        if name.name in self._symbols.procedures:
            hint = f"`{name.name}` is a procedure: to call it, write `{name.name}(...)`."
        elif name.name in self._uses:
            hint = "It was declared in a block that ends before this line."
        message = f"The variable `{name.name}` is not declared."
        self._findings.error("undeclared-variable", message, name.start, name.end, hint)

    def any_value(self, star: ast.Nondet, sort: Sort) -> Expr:
        variable = self.fresh(sort)
        self.inputs.append(variable)
        return variable

    def invocation(self, call: ast.Invocation) -> None:
        message = "A call cannot be part of an expression."
        hint = f"Call first, then use the result: `r = {call.procedure}(...);`."
        self._findings.error("nested-call", message, call.start, call.end, hint)
