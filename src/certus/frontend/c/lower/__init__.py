"""From the syntax tree of a C translation unit to the `Program`.

`unit` decides which functions and static objects are part of the program, `body` holds the state while one
function is lowered, and one module each treats expressions, lvalues, calls, initialisers and statements.
"""

from certus.frontend.c.lower.unit import Lowered, lower_unit

__all__ = ["Lowered", "lower_unit"]
