"""`certus fuzz --memory`: random programs with and without a memory bug, judged by the sanitized program.

`scenes` generates the programs, `campaign` runs the compiled program, the interpreter and `verify`.
"""
