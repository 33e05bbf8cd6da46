"""`certus fuzz --corners`: compare Certus with compiled random C programs that use unusual features of C.

`program_tree` holds programs as trees of text, `c_types` their types; `drawing`, `records`, `initialisers`,
`declarations`, `expressions`, `idioms`, `observations` and `scenes` draw them; `native` compiles and runs
them, `judge` asks Certus, `campaign` compares, reduces and counts.

No expected value is computed here: a program observes sizes, offsets and values, and the compiled program
reports them. The front end is used only through `certus.frontend`, so any front end can be tested.
"""
