"""`certus fuzz`: random programs whose verdict is known by trying all their inputs, given to every engine.

`programs` are the programs and what makes them smaller, `meaning` runs them, `texts` writes them as `.lp`, C
and a C program that tries all inputs itself, `make` draws them, `campaign` compares.
"""
