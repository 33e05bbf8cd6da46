"""The small language: the Linear Programs of Armando et al. 2004 and the integer programs of Wolff 2015."""

from certus.frontend.graph import LoadedProgram
from certus.frontend.lp.annotation import parse_expression
from certus.frontend.lp.load import load_lp
from certus.frontend.lp.parser import parse
from certus.frontend.lp.printer import print_lp

__all__ = ["LoadedProgram", "load_lp", "parse", "parse_expression", "print_lp"]
