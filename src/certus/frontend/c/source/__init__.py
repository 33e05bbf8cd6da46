"""The text of C files: what stands at a place that debug information names.

Clang says what a program means; this package only says how its author wrote it. Nothing here is trusted: a
mistake costs a good word in a report, or makes a witness be refused.
"""
