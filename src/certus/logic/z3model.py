"""Values out of a z3 model, as Certus represents them."""

from __future__ import annotations

import ctypes
from fractions import Fraction
from typing import Any, Final

from certus.core.diagnostic import Diagnostic
from certus.core.errors import Unsupported
from certus.core.evaluate import ArrayValue, Datum
from certus.core.sorts import BOOL, REAL, ArraySort, MachineSort, Sort
from certus.logic.z3api import Z3Context
from certus.logic.z3terms import from_decimal

_NUMERAL, _APPLICATION = 0, 1  # kinds of syntax trees
_EQ, _ITE, _STORE, _CONST_ARRAY, _AS_ARRAY = 0x102, 0x104, 0x300, 0x302, 0x30A  # kinds of operators


class Z3Model:
    """One model of one context."""

    def __init__(self, context: Z3Context, model: int | None) -> None:
        if model is None:
            raise context.error()
        self._context: Final = context
        self._call: Final = context.call
        self._pointer: Final = context.pointer
        self._model: Final = model
        self._call["model_inc_ref"](self._pointer, model)

    def close(self) -> None:
        self._call["model_dec_ref"](self._pointer, self._model)

    def value(self, ast: int, sort: Sort) -> Datum:
        """The value of the term `ast` of `sort`; what the model leaves open is completed."""
        result = ctypes.c_void_p()
        if not self._call["model_eval"](self._pointer, self._model, ast, True, ctypes.byref(result)):
            raise self._context.error()
        value = result.value
        assert value is not None
        self._call["inc_ref"](self._pointer, value)
        try:
            return self._read(value, sort)
        finally:
            self._call["dec_ref"](self._pointer, value)

    def _read(self, value: int, sort: Sort) -> Datum:
        if isinstance(sort, ArraySort):
            return self._array(value, sort)
        if sort is BOOL:
            truth = self._call["get_bool_value"](self._pointer, value)
            if truth == 0:
                raise _indescribable(sort)
            return bool(truth == 1)
        if self._call["get_ast_kind"](self._pointer, value) != _NUMERAL:
            raise _indescribable(sort)  # an irrational number
        if sort is REAL:
            numerator, _, denominator = self._numeral(value).partition("/")
            return Fraction(from_decimal(numerator), from_decimal(denominator or "1"))
        small = ctypes.c_int64()
        if self._call["get_numeral_int64"](self._pointer, value, ctypes.byref(small)):
            number = small.value
        else:
            number = from_decimal(self._numeral(value))
        return sort.wrap(number) if isinstance(sort, MachineSort) else number

    def _numeral(self, value: int) -> str:
        text: bytes = self._call["get_numeral_string"](self._pointer, value)
        return text.decode()

    def _array(self, value: int, sort: ArraySort) -> ArrayValue:
        """Peel stores off a constant array or a function table."""
        entries: dict[Any, Datum] = {}
        while True:
            kind = self._operator(value)
            if kind == _STORE:
                base, index, element = (self._argument(value, i) for i in range(3))
                entries.setdefault(self._read(index, sort.index), self._read(element, sort.element))
                value = base
            elif kind == _CONST_ARRAY:
                return ArrayValue(sort, self._read(self._argument(value, 0), sort.element), entries)
            elif kind == _AS_ARRAY:
                return self._table(value, sort, entries)
            else:
                raise _indescribable(sort)

    def _table(self, value: int, sort: ArraySort, entries: dict[Any, Datum]) -> ArrayValue:
        call, pointer = self._call, self._pointer
        declaration = call["get_as_array_func_decl"](pointer, value)
        table = call["model_get_func_interp"](pointer, self._model, declaration)
        if table is None:
            raise _indescribable(sort)
        call["func_interp_inc_ref"](pointer, table)
        try:
            for position in range(call["func_interp_get_num_entries"](pointer, table)):
                entry = call["func_interp_get_entry"](pointer, table, position)
                call["func_entry_inc_ref"](pointer, entry)
                try:
                    index = self._read(call["func_entry_get_arg"](pointer, entry, 0), sort.index)
                    element = self._read(call["func_entry_get_value"](pointer, entry), sort.element)
                finally:
                    call["func_entry_dec_ref"](pointer, entry)
                entries.setdefault(index, element)
            default = self._read(call["func_interp_get_else"](pointer, table), sort.element)
        finally:
            call["func_interp_dec_ref"](pointer, table)
        return ArrayValue(sort, default, entries)

    def _operator(self, value: int) -> int | None:
        if self._call["get_ast_kind"](self._pointer, value) != _APPLICATION:
            return None
        declaration = self._call["get_app_decl"](self._pointer, value)
        kind: int = self._call["get_decl_kind"](self._pointer, declaration)
        return kind

    def _argument(self, value: int, position: int) -> int:
        argument: int = self._call["get_app_arg"](self._pointer, value, position)
        return argument


def _indescribable(sort: Sort) -> Unsupported:
    return Unsupported(
        Diagnostic(
            code="unsupported-model-value",
            message=f"z3's model has a value of sort {sort} without a finite description",
        )
    )
