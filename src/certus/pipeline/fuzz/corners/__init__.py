"""`certus fuzz --corners`: random C programs full of front-end corners, checked against the compiled program.

`parts` holds programs as trees of text, `shapes` the types they use, `drawing`, `declarations`, `expressions`
and `scenes` draw them, `native` compiles and runs them, `judge` asks Certus, `campaign` compares, reduces and
counts.

No expected value is computed here: a program observes sizes, offsets and values, and the compiled program
says what they are. The front end is used only through `certus.frontend`, so any front end can be checked.
"""
