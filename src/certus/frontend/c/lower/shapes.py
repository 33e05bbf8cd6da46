"""The shapes of C types: how people name the parts of an object (`core.objects`)."""

from __future__ import annotations

from collections.abc import Sequence

from certus.core.objects import ArrayShape, RecordShape, ScalarShape, Shape
from certus.frontend.c.layout import Layout, NoSize
from certus.frontend.c.types import ArrayType, CType, IntegerType, PointerType, RecordType, unqualified


class Shapes:
    """The shapes of the types of one unit, each made once."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._done: dict[CType, Shape | None] = {}

    def of(self, type_: CType) -> Shape | None:
        """None: nothing in an object of this type has a name that we know."""
        stack = [type_]
        while stack:
            part = stack[-1]
            missing = [each for each in self._parts(part) if each not in self._done]
            if missing and len(stack) < 1000:
                stack.extend(missing)
                continue
            stack.pop()
            try:
                self._done[part] = self._made(unqualified(part))
            except NoSize:
                self._done[part] = None
        return self._done[type_]

    def _parts(self, type_: CType) -> Sequence[CType]:
        plain = unqualified(type_)
        if isinstance(plain, ArrayType):
            return (plain.element,)
        record = self._layout.types.records.get(plain.identity) if isinstance(plain, RecordType) else None
        return () if record is None else [field.type for field in record.fields]

    def _made(self, type_: CType) -> Shape | None:
        if isinstance(type_, IntegerType):
            return None if type_.exact or type_.width > 64 else ScalarShape(type_.width, type_.signed)
        if isinstance(type_, PointerType):
            return ScalarShape(self._layout.types.model.pointer, False, pointer=True)
        if isinstance(type_, ArrayType):
            element = self._done.get(type_.element)
            if element is None or not type_.length:
                return None
            return ArrayShape(type_.length, self._layout.size(type_.element), element)
        if not isinstance(type_, RecordType) or type_.identity not in self._layout.types.records:
            return None
        members: list[tuple[str, int, Shape]] = []
        for field in self._layout.types.records[type_.identity].fields:
            shape = self._done.get(field.type)
            if field.bits is None and shape is not None:
                place = self._layout.field_offset(type_.identity, field.identity)
                members.append((field.name, place.offset, shape))
        return RecordShape(tuple(members)) if members else None
