"""Textual LLVM IR as typed objects: the reader of the C front end.

Every token is understood, or `NotUnderstood` is raised with the line where it stands. Bodies of functions,
initialisers and metadata are read when they are asked for, so what a program does not use cannot be refused.
"""
