"""The small language: Linear Programs (seed 000) and recursive integer programs (seed 001) in one."""

from certus.frontend.graph import LoadedProgram
from certus.frontend.lp.annotation import parse_expression
from certus.frontend.lp.load import load_lp
from certus.frontend.lp.parser import parse
from certus.frontend.lp.printer import print_lp

__all__ = ["LoadedProgram", "load_lp", "parse", "parse_expression", "print_lp"]
