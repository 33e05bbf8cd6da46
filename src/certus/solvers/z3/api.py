"""Bind z3's C interface directly, for speed: pointers are plain Python integers, NULL is None.

Only the functions that Certus uses are declared. The library comes from the z3-solver wheel. Its Python
package is not imported: it takes three times as long to start, searches the current directory for a library,
and needs twice the time for each call.

z3 may free an object without references as soon as it creates another one. So `Z3Context.keep` takes a
reference to every result at once and holds it as long as the context lives.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from certus.core.errors import BudgetExceeded, CertusError, Inconsistent

_TYPES: Final = {
    "p": ctypes.c_void_p,
    "s": ctypes.c_char_p,
    "u": ctypes.c_uint,
    "i": ctypes.c_int,
    "b": ctypes.c_bool,
    "l": ctypes.c_int64,
    "m": ctypes.c_uint64,
    "d": ctypes.c_double,
    "-": None,
}

# Result type and argument types of each function, whose names omit the prefix Z3_.
_SIGNATURES: Final[Mapping[str, str]] = {
    "mk_config": "p",
    "del_config": "-p",
    "set_param_value": "-pss",
    "mk_context_rc": "pp",
    "del_context": "-p",
    "update_param_value": "-pss",
    "set_error_handler": "-pp",
    "get_error_code": "up",
    "get_error_msg": "spu",
    "toggle_warning_messages": "-b",
    "interrupt": "-p",
    "inc_ref": "-pp",
    "dec_ref": "-pp",
    "mk_string_symbol": "pps",
    "mk_int_symbol": "ppi",
    "mk_bool_sort": "pp",
    "mk_int_sort": "pp",
    "mk_real_sort": "pp",
    "mk_bv_sort": "ppu",
    "mk_array_sort": "pppp",
    "mk_func_decl": "pppupp",
    "mk_const": "pppp",
    "mk_app": "pppup",
    "mk_true": "pp",
    "mk_false": "pp",
    "mk_numeral": "ppsp",
    "mk_int64": "pplp",
    "mk_unsigned_int64": "ppmp",
    "mk_eq": "pppp",
    "mk_not": "ppp",
    "mk_ite": "ppppp",
    "mk_implies": "pppp",
    "mk_and": "ppup",
    "mk_or": "ppup",
    "mk_add": "ppup",
    "mk_mul": "ppup",
    "mk_sub": "ppup",
    "mk_unary_minus": "ppp",
    "mk_div": "pppp",
    "mk_mod": "pppp",
    "mk_le": "pppp",
    "mk_lt": "pppp",
    "mk_ge": "pppp",
    "mk_int2real": "ppp",
    "mk_real2int": "ppp",
    "mk_bvnot": "ppp",
    "mk_bvneg": "ppp",
    "mk_bvand": "pppp",
    "mk_bvor": "pppp",
    "mk_bvxor": "pppp",
    "mk_bvadd": "pppp",
    "mk_bvsub": "pppp",
    "mk_bvmul": "pppp",
    "mk_bvudiv": "pppp",
    "mk_bvsdiv": "pppp",
    "mk_bvurem": "pppp",
    "mk_bvsrem": "pppp",
    "mk_bvult": "pppp",
    "mk_bvslt": "pppp",
    "mk_bvule": "pppp",
    "mk_bvsle": "pppp",
    "mk_bvshl": "pppp",
    "mk_bvlshr": "pppp",
    "mk_bvashr": "pppp",
    "mk_extract": "ppuup",
    "mk_sign_ext": "ppup",
    "mk_zero_ext": "ppup",
    "mk_int2bv": "ppup",
    "mk_bv2int": "pppb",
    "mk_fpa_sort": "ppuu",
    "mk_fpa_nan": "ppp",
    "mk_fpa_fp": "ppppp",
    "mk_fpa_round_nearest_ties_to_even": "pp",
    "mk_fpa_round_nearest_ties_to_away": "pp",
    "mk_fpa_round_toward_positive": "pp",
    "mk_fpa_round_toward_negative": "pp",
    "mk_fpa_round_toward_zero": "pp",
    "mk_fpa_add": "ppppp",
    "mk_fpa_sub": "ppppp",
    "mk_fpa_mul": "ppppp",
    "mk_fpa_div": "ppppp",
    "mk_fpa_rem": "pppp",
    "mk_fpa_fma": "pppppp",
    "mk_fpa_sqrt": "pppp",
    "mk_fpa_round_to_integral": "pppp",
    "mk_fpa_eq": "pppp",
    "mk_fpa_lt": "pppp",
    "mk_fpa_leq": "pppp",
    "mk_fpa_is_nan": "ppp",
    "mk_fpa_is_infinite": "ppp",
    "mk_fpa_to_fp_bv": "pppp",
    "mk_fpa_to_fp_float": "ppppp",
    "mk_fpa_to_fp_signed": "ppppp",
    "mk_fpa_to_fp_unsigned": "ppppp",
    "mk_fpa_to_sbv": "ppppu",
    "mk_fpa_to_ubv": "ppppu",
    "mk_select": "pppp",
    "mk_store": "ppppp",
    "mk_const_array": "pppp",
    "mk_bound": "ppup",
    "mk_forall": "ppuupuppp",
    "mk_exists": "ppuupuppp",
    "mk_forall_const": "ppuupupp",
    "mk_fixedpoint": "pp",
    "fixedpoint_inc_ref": "-pp",
    "fixedpoint_dec_ref": "-pp",
    "fixedpoint_set_params": "-ppp",
    "fixedpoint_register_relation": "-ppp",
    "fixedpoint_add_rule": "-pppp",
    "fixedpoint_query": "ippp",
    "fixedpoint_get_answer": "ppp",
    "fixedpoint_get_reason_unknown": "spp",
    "mk_params": "pp",
    "params_inc_ref": "-pp",
    "params_dec_ref": "-pp",
    "params_set_bool": "-pppb",
    "params_set_uint": "-pppu",
    "params_set_double": "-pppd",
    "params_set_symbol": "-pppp",
    "params_validate": "-ppp",
    "param_descrs_inc_ref": "-pp",
    "param_descrs_dec_ref": "-pp",
    "mk_solver": "pp",
    "mk_solver_for_logic": "ppp",
    "mk_tactic": "pps",
    "tactic_and_then": "pppp",
    "tactic_inc_ref": "-pp",
    "tactic_dec_ref": "-pp",
    "mk_solver_from_tactic": "ppp",
    "solver_inc_ref": "-pp",
    "solver_dec_ref": "-pp",
    "solver_get_param_descrs": "ppp",
    "solver_set_params": "-ppp",
    "solver_push": "-pp",
    "solver_pop": "-ppu",
    "solver_reset": "-pp",
    "solver_assert": "-ppp",
    "solver_check_assumptions": "ippup",
    "solver_get_model": "ppp",
    "solver_get_unsat_core": "ppp",
    "solver_get_reason_unknown": "spp",
    "mk_ast_vector": "pp",
    "ast_vector_push": "-ppp",
    "ast_vector_inc_ref": "-pp",
    "ast_vector_dec_ref": "-pp",
    "ast_vector_size": "upp",
    "ast_vector_get": "pppu",
    "model_inc_ref": "-pp",
    "model_dec_ref": "-pp",
    "model_eval": "bpppbp",
    "model_get_func_interp": "pppp",
    "func_interp_inc_ref": "-pp",
    "func_interp_dec_ref": "-pp",
    "func_interp_get_num_entries": "upp",
    "func_interp_get_entry": "pppu",
    "func_interp_get_else": "ppp",
    "func_entry_inc_ref": "-pp",
    "func_entry_dec_ref": "-pp",
    "func_entry_get_value": "ppp",
    "func_entry_get_arg": "pppu",
    "get_ast_kind": "upp",
    "get_app_decl": "ppp",
    "get_app_num_args": "upp",
    "get_app_arg": "pppu",
    "get_decl_kind": "upp",
    "get_as_array_func_decl": "ppp",
    "get_quantifier_body": "ppp",
    "get_bool_value": "ipp",
    "get_numeral_int64": "bppp",
    "get_numeral_uint64": "bppp",
    "get_numeral_string": "spp",
    "get_index_value": "upp",
    "get_decl_int_parameter": "ippu",
    "get_sort": "ppp",
    "get_sort_kind": "upp",
    "get_bv_sort_size": "upp",
    "get_array_sort_domain": "ppp",
    "get_array_sort_range": "ppp",
}

_MEMORY_ERROR: Final = 7  # Z3_MEMOUT_FAIL
_Function = Callable[..., Any]  # a foreign function: `_SIGNATURES` determines its types


class Z3Unavailable(CertusError):
    """The z3 library cannot be loaded."""


@cache
def functions() -> Mapping[str, _Function]:
    """Return the declared functions; load the library at the first call."""
    library = _load()
    declared: dict[str, _Function] = {}
    for name, signature in _SIGNATURES.items():
        function = getattr(library, f"Z3_{name}")
        function.restype = _TYPES[signature[0]]
        function.argtypes = [_TYPES[letter] for letter in signature[1:]]
        declared[name] = function
    declared["toggle_warning_messages"](False)
    return declared


def _load() -> ctypes.CDLL:
    spec = find_spec("z3")
    for place in (spec.submodule_search_locations if spec else None) or ():
        # The versioned name first: z3's own Python package would load this file.
        for pattern in ("libz3.so.*", "libz3.so", "libz3.*.dylib", "libz3.dylib", "libz3.dll"):
            for file in sorted((Path(place) / "lib").glob(pattern)):
                try:
                    return ctypes.CDLL(str(file))
                except OSError as problem:
                    raise Z3Unavailable(f"cannot load {file}: {problem}") from problem
    raise Z3Unavailable("z3 is not installed: run `pip install z3-solver`")


def pointers(asts: Sequence[int]) -> ctypes.Array[ctypes.c_void_p]:
    """Return a C array of these pointers."""
    return (ctypes.c_void_p * len(asts))(*asts)


class Z3Context:
    """A z3 context, which owns all its terms. Two threads must not use it at the same time."""

    def __init__(self) -> None:
        self.call: Final = functions()
        config = self.call["mk_config"]()
        try:
            self.pointer: Final[int] = self.call["mk_context_rc"](config)
        finally:
            self.call["del_config"](config)
        self.call["set_error_handler"](self.pointer, None)  # otherwise z3 prints the error and exits
        self._kept: Final[int] = self.call["mk_ast_vector"](self.pointer)
        self.call["ast_vector_inc_ref"](self.pointer, self._kept)
        self.is_open = True

    def close(self) -> None:
        """Free the context. Its objects must not be used afterwards.

        The terms are freed first: z3 takes quadratic time for a context that still holds some."""
        if self.is_open:
            self.is_open = False
            self.call["ast_vector_dec_ref"](self.pointer, self._kept)
            self.call["del_context"](self.pointer)

    def __del__(self) -> None:
        self.close()

    def keep(self, ast: int | None) -> int:
        """Take a reference to a new term, sort or declaration until the context is closed."""
        if ast is None:
            raise self.error()
        self.call["ast_vector_push"](self.pointer, self._kept, ast)
        return ast

    def check(self) -> None:
        """Raise the error of the last call, if any."""
        if self.call["get_error_code"](self.pointer):
            raise self.error()

    def error(self) -> CertusError:
        """Return the error of the last call as an exception."""
        code = self.call["get_error_code"](self.pointer)
        if code == _MEMORY_ERROR:
            return BudgetExceeded("memory")
        message = self.call["get_error_msg"](self.pointer, code) or b""
        return Inconsistent(f"z3 rejected a call: {message.decode(errors='replace')}")
