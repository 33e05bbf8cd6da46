"""`certus fuzz`: run every engine on random programs, and compare with the verdict that trying all inputs
gives.

`syntax` defines the programs and how to reduce them, `random_programs` draws them, `program_text` writes them
as `.lp` and C, `semantics` interprets them, `campaign` runs the engines and compares.
"""
