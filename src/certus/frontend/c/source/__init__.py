"""The text of C files: what is written at a position that debug information names.

Clang decides what a program means; this package only finds how it is written. Nothing here is trusted: a
mistake gives a bad text in a report, or makes Certus refuse a witness.
"""
