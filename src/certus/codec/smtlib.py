"""Print terms as SMT-LIB text: stand-alone scripts for any solver.

Machine integers become bit-vectors with exactly the semantics of `core.terms`. The value of a division by
zero, of an oversized shift and of a float that an integer cannot hold is arbitrary but a function of the
arguments: where SMT-LIB fixes a value, an uninterpreted function is used instead. (`div`, `mod` and `/` by
zero are arbitrary in SMT-LIB itself.)

The text is linear in the DAG: a subterm used twice is defined once, by `define-fun`, or by `let` if it
depends on a bound variable. Definitions also keep the nesting of parentheses shallow.

The text uses `int_to_bv`, `ubv_to_int`, `sbv_to_int` of SMT-LIB 2.7 and `(as const ...)`, which z3 and cvc5
both support. cvc5 accepts only values after `as const`, so other constant arrays are axiomatised.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from certus.codec import smtlib_floats
from certus.core import floats
from certus.core.diagnostic import Diagnostic
from certus.core.errors import Unsupported
from certus.core.terms import BOOL, FLOATS, INT, REAL, ArraySort, Expr, Function, Kind, MachineSort, Sort
from certus.core.values import decimal
from certus.core.walk import QUANTIFIERS, postorder

_NESTING: Final = 40  # operators within one definition or assertion
_Symbol = tuple[Kind, tuple[Sort, ...], Sort]  # an operation that is undefined for some operands
_Key = Expr | Function | _Symbol
Scope = tuple[str, ...]  # the bound variables around a term, outermost first; () around a closed one


def script(asserted: Sequence[Expr], *, logic: str | None = None, comment: str = "") -> str:
    """Return a script that asserts the formulas, one by one, and checks whether they are satisfiable."""
    writer = Writer(asserted)
    assertions = [f"(assert {writer.text(formula)})" for formula in asserted]
    comments = [f"; {line}".rstrip() for line in comment.splitlines()]
    head = ["(set-info :smt-lib-version 2.6)", f"(set-logic {logic or 'ALL'})"]
    return "\n".join([*comments, *head, *writer.lines, *assertions, "(check-sat)", ""])


def sort_text(sort: Sort) -> str:
    """Return a sort in SMT-LIB. Signed and unsigned integers of one width are the same bit-vectors."""
    if isinstance(sort, MachineSort):
        return f"(_ BitVec {sort.width})"
    if isinstance(sort, ArraySort):
        return f"(Array {sort_text(sort.index)} {sort_text(sort.element)})"
    return sort.name


def constant_text(term: Expr) -> str:
    """Return a constant in SMT-LIB."""
    value, sort = term.value, term.sort
    if sort is BOOL:
        return "true" if value else "false"
    if isinstance(sort, MachineSort):
        return f"(_ bv{decimal(int(value) % (1 << sort.width))} {sort.width})"
    magnitude = abs(Fraction(value))
    text = decimal(magnitude.numerator) + ("" if sort is INT else ".0")
    if magnitude.denominator != 1:
        text = f"(/ {text} {decimal(magnitude.denominator)}.0)"
    return text if value >= 0 else f"(- {text})"


# ------------------------------------------------------------------------------------- symbols

_SIMPLE: Final = re.compile(r"[A-Za-z~!$%^&*_+=<>?/-][A-Za-z0-9~!@$%^&*_+=<>.?/-]*")
_QUOTABLE: Final = re.compile(r"[^|\\\x00-\x1f\x7f]*")
_WORDS: Final = re.compile(  # commands, theory symbols, and families of these in common solvers
    r"(bag|ff|fp|int|nullable|re|real|rel|sep|seq|set|str|table|tuple)(\..*)?|bv.*|arc.*|round.*|R[NT][AENPZ]"
    r"|abs|and|as|concat|const|cos|cot|csc|distinct|div|div_total|eqrange|exists|exp|extract|false|forall|iand|if|iff"
    r"|implies|int2bv|int_to_bv|is|is_int|ite|let|match|mod|mod_total|nat2bv|not|or|par|pi|piand|pto|rem|repeat"
    r"|rotate_left|rotate_right|sbv_to_int|sec|select|sign_extend|sin|sqrt|store|tan|to_int|to_real|true"
    r"|ubv_to_int|update|wand|xor|zero_extend|[_!=<>+*/-]|<=|>=|=>"
)


def symbol(name: str) -> str:
    """Return `name` as a symbol: quoted if necessary, with a `!` added if it is a reserved word.

    Characters that no symbol can have are replaced: distinct names may then coincide."""
    if _WORDS.fullmatch(name) or name[:1] in ("@", "."):
        name = f"_{name}" if name[:1] in ("@", ".") else f"{name}!"
    if _SIMPLE.fullmatch(name):
        return name
    if not _QUOTABLE.fullmatch(name):
        name = re.sub(r"[|\\\x00-\x1f\x7f]", "?", name)
    return f"|{name}|"


# -------------------------------------------------------------------------------------- writer


class Writer:
    """Prints the subterms of some roots, with the declarations and definitions they need."""

    def __init__(self, roots: Sequence[Expr], declared: Mapping[Function, str] | None = None) -> None:
        """Prepare to print `roots`. `declared` are the symbols of functions that are declared elsewhere."""
        self.lines: list[str] = []  # declarations and definitions, each after what it uses
        self._uses: Counter[Expr] = Counter(roots)  # how often the text of a term is needed
        self._open: dict[Expr, int] = {}  # how many of the binders around a term it refers to or past
        self._symbols: dict[_Key, str] = {}
        for function, name in (declared or {}).items():
            self._symbols[function] = name
        self._taken: set[str] = set(self._symbols.values())
        self._texts: dict[tuple[Expr, Scope], str] = {}
        self._depths: dict[tuple[Expr, Scope], int] = {}
        self._bindings: dict[Scope, list[tuple[str, str]]] = {}  # the `let`s of each scope
        self._scopes: dict[tuple[Expr, Scope], Scope] = {}  # inside each quantifier
        self._fresh = 0
        self._numbers: dict[Expr, str] = {}  # the floating-point numbers of results, by their terms
        self._read_as_bits: set[Expr] = set()  # terms with a use other than as a floating-point operand
        for term in postorder(*roots):
            self._study(term)

    def _study(self, term: Expr) -> None:
        """Count the uses of the arguments, declare symbols, and compute how many binders the term refers
        to."""
        times = 2 if _repeats_arguments(term) else 1
        for argument in term.args:
            self._uses[argument] += times
        if term.kind not in FLOATS or term.kind in (Kind.F_FROM, Kind.F_TO):
            self._read_as_bits.update(term.args)
        depth = max((self._open[a] for a in term.args), default=0)
        if term.kind is Kind.BOUND:
            assert isinstance(term.data, int)
            depth = term.data + 1
        elif term.kind in QUANTIFIERS:
            depth = max(0, depth - len(term.bound_sorts))
        elif term.kind is Kind.VAR:
            name = self._declare(term, term.name, term.sort)
            self.lines.append(f"(declare-const {name} {sort_text(term.sort)})")
        elif term.kind is Kind.APPLY and term.function not in self._symbols:
            name = self._declare(term.function, term.function.name, term.sort)
            self._declare_function(name, term.function.parameters, term.sort)
        elif term.kind in _ARBITRARY and _partial(term):
            key = _symbol_key(term)
            if key not in self._symbols:
                name = self._declare(key, f"{_ARBITRARY[term.kind]}!{term.sort.name}", term.sort)
                self._declare_function(name, key[1], term.sort)
        self._open[term] = depth

    def _declare(self, key: _Key, name: str, sort: Sort) -> str:
        """Declare a new symbol, even if another sort has a variable of that name, and return it."""
        declared = self._free_symbol(name, f"{name}!{sort.name}")
        self._symbols[key] = declared
        return declared

    def _free_symbol(self, *candidates: str) -> str:
        for candidate in candidates:
            if symbol(candidate) not in self._taken:
                break
        else:
            number = 1
            while symbol(f"{candidates[-1]}!{number}") in self._taken:
                number += 1
            candidate = f"{candidates[-1]}!{number}"
        self._taken.add(symbol(candidate))
        return symbol(candidate)

    def _declare_function(self, name: str, parameters: Sequence[Sort], result: Sort) -> None:
        inside = " ".join(sort_text(s) for s in parameters)
        self.lines.append(f"(declare-fun {name} ({inside}) {sort_text(result)})")

    def open(self, names: Sequence[str]) -> Scope:
        """Open a scope with variables of these names, or similar ones where the names are used already."""
        scope = tuple(self._free_symbol(name) for name in names)
        self._bindings[scope] = []
        return scope

    def within(self, scope: Scope, text: str) -> str:
        """Return the text inside the definitions that terms of the scope need."""
        bindings = self._bindings[scope]
        return "".join(f"(let (({name} {value})) " for name, value in bindings) + text + ")" * len(bindings)

    def text(self, root: Expr, scope: Scope = ()) -> str:
        """Return the text of a term whose free bound variables are those of the scope."""
        start = self._placed(root, scope)
        stack = [start]
        while stack:
            item = stack[-1]
            if item in self._texts:
                stack.pop()
                continue
            parts = self._parts(item)
            missing = [part for part in parts if part not in self._texts]
            if missing:
                stack.extend(reversed(missing))
            else:
                stack.pop()
                self._finish(item, parts)
        return self._texts[start]

    def _placed(self, term: Expr, scope: Scope) -> tuple[Expr, Scope]:
        return (term, scope if self._open[term] else ())

    def _parts(self, item: tuple[Expr, Scope]) -> list[tuple[Expr, Scope]]:
        """Return the arguments of a term with their scope; a quantifier opens a new one."""
        term, scope = item
        if term.kind in QUANTIFIERS:
            if item not in self._scopes:
                own = tuple(self._name("q") for _ in term.bound_sorts)
                self._scopes[item] = (*scope, *own)
                self._bindings[(*scope, *own)] = []
            scope = self._scopes[item]
        return [self._placed(a, scope) for a in term.args]

    def _name(self, letter: str) -> str:
        """Return a new name for a definition or a bound variable."""
        self._fresh += 1
        return self._free_symbol(f"{letter}!{self._fresh}")

    def _finish(self, item: tuple[Expr, Scope], parts: Sequence[tuple[Expr, Scope]]) -> None:
        term, scope = item
        depth = 1 + max((self._depths[p] for p in parts), default=-1)
        text = self._render(item, [self._texts[p] for p in parts])
        if (
            term.args
            and not _is_value(term)
            and term not in self._numbers
            and (self._uses[term] > 1 or depth > _NESTING)
        ):
            name = self._name("t")
            if scope:
                self._bindings[scope].append((name, text))
            else:
                self.lines.append(f"(define-fun {name} () {sort_text(term.sort)} {text})")
            text, depth = name, 0
        self._texts[item] = text
        self._depths[item] = depth

    def _render(self, item: tuple[Expr, Scope], args: list[str]) -> str:
        term, scope = item
        kind = term.kind
        if kind is Kind.CONST:
            return constant_text(term)
        if kind is Kind.VAR:
            return self._symbols[term]
        if kind is Kind.BOUND:
            assert isinstance(term.data, int)
            return scope[-1 - term.data]
        if kind is Kind.APPLY:
            return _applied(self._symbols[term.function], args)
        if kind in QUANTIFIERS:
            return self._quantifier(item, args[0])
        if kind is Kind.CONST_ARRAY and not scope and not _is_value(term):
            return self._constant_array(term, args[0])
        if kind in FLOATS:
            return self._float(item, args)
        text = _operation(term, args)
        if kind in _ARBITRARY and _partial(term):
            arbitrary = _applied(self._symbols[_symbol_key(term)], args)
            return f"(ite {_undefined(term, args[1])} {arbitrary} {text})"
        return text

    # ------------------------------------------------------------------------- floating point

    def _float(self, item: tuple[Expr, Scope], args: list[str]) -> str:
        """Return an operation on floating-point numbers: a condition, an integer, or the bits of a result,
        which are a new symbol that converts to the result. SMT-LIB has no function from floats to bits."""
        term, scope = item
        assert isinstance(term.data, str)
        kind, formats = term.kind, [floats.FORMATS[name] for name in term.data.split()]
        if kind is Kind.F_FROM:
            source = term.args[0].sort
            assert isinstance(source, MachineSort)
            cast = "to_fp" if source.signed else "to_fp_unsigned"
            mode = smtlib_floats.mode_text(term.args[1], args[1])
            number = f"({smtlib_floats.float_cast(cast, formats[0])} {mode} {args[0]})"
        else:
            count = len(args) if kind in smtlib_floats.UNROUNDED else len(args) - 1
            operands = [self._number(t, formats[0], a) for t, a in zip(term.args[:count], args, strict=False)]
            if kind is Kind.F_TO:
                arbitrary = _applied(self._symbols[_symbol_key(term)], args)
                return smtlib_floats.integer_text(term, formats[0], operands[0], arbitrary)
            words = (
                [] if kind in smtlib_floats.UNROUNDED else [smtlib_floats.mode_text(term.args[-1], args[-1])]
            )
            operator = (
                smtlib_floats.float_cast("to_fp", formats[1])
                if kind is Kind.F_CONVERT
                else smtlib_floats.OPERATORS[kind]
            )
            number = _applied(operator, [*words, *operands])
            if kind in smtlib_floats.CONDITIONS:
                return number
        if scope:
            message = "A floating-point result that depends on a quantified variable is not supported."
            raise Unsupported(Diagnostic("unsupported-float", message))
        return self._result(term, formats[-1], number)

    def _number(self, term: Expr, format: floats.Format, text: str) -> str:
        """Return a pattern as a number."""
        return self._numbers.get(term) or self._from_bits(format, text)

    def _from_bits(self, format: floats.Format, text: str) -> str:
        if not format.explicit:
            return f"({smtlib_floats.float_cast('to_fp', format)} {text})"
        name = f"from_{format.name}!"
        if name not in self._taken:
            self._taken.add(name)
            self.lines.append(smtlib_floats.explicit_cast(name, format))
        return f"({name} {text})"

    def _result(self, term: Expr, format: floats.Format, number: str) -> str:
        """Define the number of a result, and its bits if something reads them."""
        name = self._numbers[term] = self._name("n")
        self.lines.append(f"(define-fun {name} () {smtlib_floats.float_sort(format)} {number})")
        if term not in self._read_as_bits:
            return name  # only `_numbers` is used
        bits = self._name("f")
        self.lines.append(f"(declare-const {bits} {sort_text(term.sort)})")
        same = f"(= {self._from_bits(format, bits)} {name})"
        canonical = f"(= {bits} (_ bv{format.nan} {format.width}))"
        self.lines.append(f"(assert (ite (fp.isNaN {name}) {canonical} {same}))")
        if format.explicit:
            fraction = format.precision - 1
            exponent = f"((_ extract {format.width - 2} {fraction + 1}) {bits})"
            leading = f"((_ extract {fraction} {fraction}) {bits})"
            small = f"(= {exponent} (_ bv0 {format.exponent}))"
            self.lines.append(f"(assert (= {small} (= {leading} #b0)))")
        return bits

    def _constant_array(self, term: Expr, element: str) -> str:
        """Return a symbol for an array whose elements all equal `element`."""
        assert isinstance(term.sort, ArraySort)
        name, index = self._name("k"), self._name("q")
        self.lines.append(f"(declare-const {name} {sort_text(term.sort)})")
        everywhere = f"(= (select {name} {index}) {element})"
        self.lines.append(f"(assert (forall (({index} {sort_text(term.sort.index)})) {everywhere}))")
        return name

    def _quantifier(self, item: tuple[Expr, Scope], body: str) -> str:
        term, _ = item
        inner = self._scopes[item]
        own = inner[len(inner) - len(term.bound_sorts) :]
        declared = " ".join(f"({n} {sort_text(s)})" for n, s in zip(own, term.bound_sorts, strict=True))
        word = "forall" if term.kind is Kind.FORALL else "exists"
        return f"({word} ({declared}) {self.within(inner, body)})"


# ---------------------------------------------------------------------------------- operations

_ARBITRARY: Final = {
    Kind.QUOT: "quot",
    Kind.REM: "rem",
    Kind.SHL: "shl",
    Kind.SHR: "shr",
    Kind.F_TO: "truncated",
}


def _symbol_key(term: Expr) -> _Symbol:
    """Return the key of the function for the undefined values of an operation."""
    return term.kind, tuple(a.sort for a in term.args), term.sort


def _is_value(term: Expr) -> bool:
    """Return whether a constant array consists of literals; for cvc5, `(- 2)` and `(/ 1.0 2.0)` are not."""
    while term.kind is Kind.CONST_ARRAY:
        term = term.args[0]
    if term.kind is not Kind.CONST or term.sort not in (INT, REAL):
        return term.kind is Kind.CONST
    return term.value >= 0 and Fraction(term.value).denominator == 1


def _partial(term: Expr) -> bool:
    """Return whether the operation has no definite value for some second argument."""
    if term.kind is Kind.F_TO:
        return True
    divisor = term.args[1]
    if divisor.kind is not Kind.CONST:
        return True
    if term.kind in (Kind.QUOT, Kind.REM):
        return divisor.value == 0
    assert isinstance(term.sort, MachineSort)
    return not 0 <= divisor.value < term.sort.width


def _repeats_arguments(term: Expr) -> bool:
    """Return whether the text of the term contains that of an argument more than once."""
    if term.kind in (Kind.QUOT, Kind.REM) and term.sort is INT:
        return True
    return term.kind in _ARBITRARY and _partial(term)


def _undefined(term: Expr, second: str) -> str:
    """Return the condition on the second argument under which the value is arbitrary."""
    if term.sort is INT:
        return f"(= {second} 0)"
    assert isinstance(term.sort, MachineSort)
    width = term.sort.width
    if term.kind in (Kind.QUOT, Kind.REM):
        return f"(= {second} (_ bv0 {width}))"
    return f"(bvuge {second} (_ bv{width} {width}))"  # a negative amount is a large one


def _applied(operator: str, args: Sequence[str]) -> str:
    return f"({operator} {' '.join(args)})" if args else operator


def _operation(term: Expr, args: list[str]) -> str:
    kind, sort = term.kind, term.args[0].sort
    if isinstance(sort, MachineSort) and kind in _MACHINE:
        unsigned, signed = _MACHINE[kind]
        return _applied(signed if sort.signed else unsigned, args)
    if kind in (Kind.QUOT, Kind.REM):
        a, b = args
        word = "div" if kind is Kind.QUOT else "mod"
        return f"(ite (>= {a} 0) ({word} {a} {b}) (- ({word} (- {a}) {b})))"
    if kind is Kind.WRAP:
        return _wrap(term, args[0])
    if kind is Kind.TO_INT:
        assert isinstance(sort, MachineSort)
        return f"({'sbv_to_int' if sort.signed else 'ubv_to_int'} {args[0]})"
    if kind is Kind.CONST_ARRAY:
        return f"((as const {sort_text(term.sort)}) {args[0]})"
    return _applied(_PLAIN[kind], args)


def _wrap(term: Expr, text: str) -> str:
    source, target = term.args[0].sort, term.sort
    assert isinstance(target, MachineSort)
    if not isinstance(source, MachineSort):
        return f"((_ int_to_bv {target.width}) {text})"
    if target.width < source.width:
        return f"((_ extract {target.width - 1} 0) {text})"
    if target.width == source.width:
        return text
    return f"((_ {'sign' if source.signed else 'zero'}_extend {target.width - source.width}) {text})"


_PLAIN: Final = {
    Kind.NOT: "not",
    Kind.AND: "and",
    Kind.OR: "or",
    Kind.ITE: "ite",
    Kind.EQ: "=",
    Kind.LE: "<=",
    Kind.LT: "<",
    Kind.ADD: "+",
    Kind.MUL: "*",
    Kind.DIV: "div",
    Kind.MOD: "mod",
    Kind.RDIV: "/",
    Kind.TO_REAL: "to_real",
    Kind.FLOOR: "to_int",
    Kind.SELECT: "select",
    Kind.STORE: "store",
}

# Operators on unsigned and on signed machine integers.
_MACHINE: Final = {
    Kind.LE: ("bvule", "bvsle"),
    Kind.LT: ("bvult", "bvslt"),
    Kind.ADD: ("bvadd", "bvadd"),
    Kind.MUL: ("bvmul", "bvmul"),
    Kind.SUB: ("bvsub", "bvsub"),
    Kind.NEG: ("bvneg", "bvneg"),
    Kind.QUOT: ("bvudiv", "bvsdiv"),
    Kind.REM: ("bvurem", "bvsrem"),
    Kind.BIT_AND: ("bvand", "bvand"),
    Kind.BIT_OR: ("bvor", "bvor"),
    Kind.BIT_XOR: ("bvxor", "bvxor"),
    Kind.BIT_NOT: ("bvnot", "bvnot"),
    Kind.SHL: ("bvshl", "bvshl"),
    Kind.SHR: ("bvlshr", "bvashr"),
}
