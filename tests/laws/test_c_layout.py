"""Sizes of random records are those that Clang computes, and their cells lie within them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from tests.laws.c_layouts import clang_layouts, record_texts

from certus.frontend.c.compile import compile_file
from certus.frontend.c.ir.module import Module
from certus.frontend.c.model.cells import scalars


@pytest.mark.parametrize("model", ["ILP32", "LP64"])
def test_layouts_agree_with_clang(model: str) -> None:
    compared = 0

    @settings(derandomize=True, deadline=None, max_examples=15, database=None)
    @given(record_texts())
    def check(text: str) -> None:
        nonlocal compared
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "records.c"
            path.write_text(text)
            module = Module(compile_file(path, "unreach-call", model).text)
            theirs = clang_layouts(path, model)
        for tag, (size, _, _) in theirs.items():
            variable = module.globals.get("v" + tag.split()[1].removeprefix("r"))
            if variable is not None:
                assert module.layout.size(variable.type) == size, f"{tag} in\n{text}"
                end = 0
                for offset, width in scalars(module.layout, variable.type) or ():
                    assert end <= offset, f"{tag} in\n{text}"
                    end = offset + width
                assert end <= size, f"{tag} in\n{text}"
                compared += 1

    check()
    assert compared > 60
