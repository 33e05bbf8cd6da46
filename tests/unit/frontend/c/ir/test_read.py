"""The reader of LLVM IR: every form of instruction, constants, types, and what is refused."""

from __future__ import annotations

import pytest

from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import (
    Aggregate,
    BlockAddress,
    Bytes,
    Expression,
    Integer,
    Local,
    Null,
    Symbol,
    Undefined,
    Zero,
)
from certus.frontend.c.ir.module import Module
from certus.frontend.c.ir.types import ArrayType, NotUnderstood, StructType

IDENT = '!llvm.ident = !{!0}\n!0 = !{!"clang version 22.1.8"}\n'
LP64 = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
ILP32 = "e-m:e-p:32:32-p270:32:32-p271:32:32-p272:64:64-i128:128-f64:32:64-f80:32-n8:16:32-S128"


def module(text: str, layout: str = LP64) -> Module:
    return Module(f'target datalayout = "{layout}"\n{text}\n{IDENT}')


def line(text: str) -> ir.Instruction:
    """Read one instruction in a function of its own."""
    made = module(f"define void @f() {{\nentry:\n  {text}\n}}")
    (block,) = made.blocks(made.functions["f"])
    (found,) = block.instructions
    return found


def constant(type_: str, text: str) -> object:
    made = module(f"@x = global {type_} {text}, align 4")
    return made.initialiser(made.globals["x"])


class TestInstructions:
    def test_alloca(self) -> None:
        plain, counted = line("%x = alloca i32, align 4"), line("%v = alloca i32, i64 %n, align 16")
        assert isinstance(plain, ir.Alloca)
        assert (plain.name, plain.type.text, plain.count, plain.align) == ("x", "i32", None, 4)
        assert isinstance(counted, ir.Alloca)
        assert isinstance(counted.count, Local)
        assert counted.count.name == "n"

    def test_loads_and_stores(self) -> None:
        load = line("%1 = load volatile i32, ptr @g, align 4, !dbg !7, !tbaa !3, !range !9")
        assert isinstance(load, ir.Load)
        assert load.volatile
        assert load.location == 7
        assert dict(load.attached) == {"tbaa": 3, "range": 9}
        assert isinstance(load.pointer, Symbol)
        store = line("store atomic i32 -5, ptr %p seq_cst, align 4")
        assert isinstance(store, ir.Store)
        assert isinstance(store.value, Integer)
        assert store.value.value == -5

    def test_pointers_into_objects(self) -> None:
        found = line("%a = getelementptr inbounds nuw [3 x i32], ptr @arr, i64 0, i64 %i")
        assert isinstance(found, ir.GetElementPointer)
        assert found.source.text == "[3 x i32]"
        assert [type(index) for index in found.indices] == [Integer, Local]

    def test_arithmetic(self) -> None:
        found = line("%add = add nuw nsw i32 %0, 1")
        assert isinstance(found, ir.Binary)
        assert (found.operation, sorted(found.flags)) == ("add", ["nsw", "nuw"])
        assert isinstance(line("%n = fneg double %x"), ir.Negate)
        assert isinstance(line("%f = fmul double %x, 2.000000e+00"), ir.Binary)
        assert isinstance(line("%f = fmul contract double %x, 2.000000e+00"), ir.Loose)

    def test_conversions_and_comparisons(self) -> None:
        convert, compare = line("%c = zext nneg i1 %b to i32"), line("%c = icmp samesign ult ptr %a, null")
        assert isinstance(convert, ir.Convert)
        assert (convert.operation, convert.type.text) == ("zext", "i32")
        assert isinstance(compare, ir.Compare)
        assert (compare.predicate, compare.floating) == ("ult", False)
        assert isinstance(compare.right, Null)

    def test_choices(self) -> None:
        phi = line("%c = phi i1 [ false, %entry ], [ %cmp, %land.rhs ]")
        assert isinstance(phi, ir.Phi)
        assert [*phi.incoming] == ["entry", "land.rhs"]
        select = line("%s = select i1 %c, i32 1, i32 undef")
        assert isinstance(select, ir.Select)
        assert isinstance(select.otherwise, Undefined)
        assert isinstance(line("%z = freeze i32 %x"), ir.Freeze)

    def test_aggregates_and_vectors(self) -> None:
        extract = line("%e = extractvalue { i32, i1 } %p, 1")
        assert isinstance(extract, ir.ExtractValue)
        assert extract.indices == [1]
        insert = line("%i = insertvalue { i64, i64 } poison, i64 %a, 0")
        assert isinstance(insert, ir.InsertValue)
        shuffle = line("%s = shufflevector <2 x i32> %a, <2 x i32> poison, <2 x i32> <i32 1, i32 poison>")
        assert isinstance(shuffle, ir.ShuffleVector)
        assert shuffle.mask == [1, None]
        assert isinstance(line("%x = extractelement <4 x i32> %v, i64 2"), ir.ExtractElement)
        assert isinstance(line("%x = insertelement <4 x i32> %v, i32 7, i64 2"), ir.InsertElement)

    def test_calls(self) -> None:
        call = line(
            "%r = tail call zeroext i8 (ptr, ...) @p(ptr noundef byval(%struct.S) align 8 %p, i32 signext 3)"
        )
        assert isinstance(call, ir.Call)
        assert call.result.text == "i8"
        assert call.declared is not None
        assert call.declared.variadic
        first, second = call.arguments
        assert first.passing.byval is not None
        assert second.passing.extension == "signext"
        indirect = line("call void %f(ptr sret(%struct.S) %r) noreturn")
        assert isinstance(indirect, ir.Call)
        assert isinstance(indirect.callee, Local)
        assert "noreturn" in indirect.words

    def test_assembly(self) -> None:
        call = line('%0 = call i32 asm sideeffect "mov $1, $0 \\0A, !x !1", "=r,*m"(ptr elementtype(i32) %p)')
        assert isinstance(call, ir.Call)
        assert isinstance(call.callee, ir.Assembly)
        assert call.callee.constraints == "=r,*m"
        assert call.callee.template == "mov $1, $0 \n, !x !1"
        assert call.arguments[0].passing.element is not None

    def test_atomic_operations(self) -> None:
        update = line("%o = atomicrmw volatile add ptr %p, i32 1 seq_cst, align 4")
        assert isinstance(update, ir.AtomicUpdate)
        assert update.operation == "add"
        exchange = line("%o = cmpxchg weak ptr %p, i32 %a, i32 %b acq_rel monotonic, align 4")
        assert isinstance(exchange, ir.CompareExchange)
        assert exchange.weak
        assert isinstance(line("fence seq_cst"), ir.Fence)

    def test_control(self) -> None:
        branch = line("br i1 %c, label %a, label %b, !dbg !3, !llvm.loop !4")
        assert ir.successors(branch) == ["a", "b"]
        assert dict(branch.attached) == {"llvm.loop": 4}
        switch = line("switch i32 %x, label %d [\n    i32 1, label %a\n    i32 -2, label %b\n  ], !dbg !9")
        assert isinstance(switch, ir.Switch)
        assert switch.cases == [(1, "a"), (-2, "b")]
        assert switch.location == 9
        assert ir.successors(line("indirectbr ptr %p, [label %a, label %b]")) == ["a", "b"]
        assert isinstance(line("unreachable"), ir.Unreachable)
        assert isinstance(line("ret void"), ir.Return)

    def test_assembly_with_labels(self) -> None:
        call = line('callbr void asm "", "!i"() #1\n          to label %next [label %out], !dbg !9')
        assert ir.successors(call) == ["next", "out"]

    def test_debug_records(self) -> None:
        declare = line("  #dbg_declare(ptr %x, !5, !DIExpression(), !9)")
        assert isinstance(declare, ir.Declare)
        assert (declare.variable, declare.location) == (5, 9)
        value = line("  #dbg_value(i32 0, !5, !DIExpression(), !9)")
        assert isinstance(value, ir.DebugRecord)

    @pytest.mark.parametrize(
        "text",
        [
            "%x = frobnicate i32 1",
            "%x = add i32 1, 2 gently",
            "%x = load i32, ptr addrspace(1) %p",
            "%x = add strange i32 1, 2",
            '%x = call i32 @f() [ "deopt"(i32 1) ]',
            "store i32 1, ptr %p unknown",
        ],
    )
    def test_what_is_not_understood_is_refused_with_its_line(self, text: str) -> None:
        with pytest.raises(NotUnderstood) as caught:
            line(f"{text}, !dbg !12")
        assert text in caught.value.line
        assert caught.value.location == 12


class TestConstants:
    def test_numbers(self) -> None:
        data = constant("[3 x i32]", "[i32 1, i32 -2, i32 3]")
        assert isinstance(data, Aggregate)
        assert [part.value for part in data.parts if isinstance(part, Integer)] == [1, -2, 3]
        string = constant("[4 x i8]", 'c"a\\0A\\\\\\00"')
        assert isinstance(string, Bytes)
        assert string.data == b"a\n\\\0"
        assert isinstance(constant("%struct.S", "zeroinitializer"), Zero)

    def test_relocations(self) -> None:
        moved = constant("ptr", "getelementptr inbounds (i8, ptr @y, i64 4)")
        assert isinstance(moved, Expression)
        assert moved.source is not None
        assert isinstance(moved.operands[0], Symbol)
        nested = constant("i32", "trunc (i64 sub (i64 ptrtoint (ptr @a to i64), i64 3) to i32)")
        assert isinstance(nested, Expression)
        assert (nested.operation, len(nested.operands)) == ("trunc", 1)
        label = constant("ptr", "blockaddress(@main, %one)")
        assert isinstance(label, BlockAddress)
        assert (label.function, label.label) == ("main", "one")

    def test_structures(self) -> None:
        found = constant(
            "<{ i8, { ptr, [0 x i8] } }>", "<{ i8 1, { ptr, [0 x i8] } { ptr @f, [0 x i8] [] } }>"
        )
        assert isinstance(found, Aggregate)
        inner = found.parts[1]
        assert isinstance(inner, Aggregate)
        assert isinstance(inner.parts[0], Symbol)

    def test_a_wrong_number_of_parts_is_refused(self) -> None:
        with pytest.raises(NotUnderstood):
            constant("[2 x ptr]", "[ptr null]")

    @pytest.mark.no_cover
    def test_long_and_deep_constants(self) -> None:
        count, depth = 300_000, 5_000
        long = constant(f"[{count} x i32]", "[" + ", ".join(["i32 7"] * count) + "]")
        assert isinstance(long, Aggregate)
        assert sum(part.value for part in long.parts if isinstance(part, Integer)) == 7 * count
        type_, value = "ptr", "null"
        for _ in range(depth):
            type_, value = "{ " + type_ + " }", "{ " + type_ + " " + value + " }"
            if len(value) > 2_000_000:
                break
        assert isinstance(constant(type_, value), Aggregate)
        arrays = "[1 x " * depth + "i8" + "]" * depth
        made = module(f"@x = global {arrays} zeroinitializer")
        assert made.layout.size(made.globals["x"].type) == 1


class TestTypes:
    RECORD = (
        "%struct.S = type { i8, i64, i16, x86_fp80, [3 x i24], %struct.T }\n%struct.T = type <{ i8, i32 }>\n"
    )

    @pytest.mark.parametrize(
        ("layout", "offsets", "size"),
        [(LP64, (0, 8, 16, 32, 48, 60), 80), (ILP32, (0, 4, 12, 16, 28, 40), 48)],
    )
    def test_layout(self, layout: str, offsets: tuple[int, ...], size: int) -> None:
        made = module(self.RECORD + "@x = external global %struct.S", layout)
        type_ = made.globals["x"].type
        assert isinstance(type_, StructType)
        assert made.layout.offsets(type_) == offsets
        assert made.layout.size(type_) == size

    def test_types_are_one_object(self) -> None:
        made = module("@x = global [2 x i32] zeroinitializer\n@y = global [2 x i32] zeroinitializer")
        first = made.globals["x"].type
        assert isinstance(first, ArrayType)
        assert first is made.globals["y"].type

    def test_store_size_is_less_than_the_size_of_odd_integers(self) -> None:
        made = module("@x = global i24 0")
        type_ = made.globals["x"].type
        assert (made.layout.store_size(type_), made.layout.size(type_)) == (3, 4)

    def test_an_unknown_data_layout_is_refused(self) -> None:
        with pytest.raises(NotUnderstood):
            module("", "e-p:16:16")


class TestModule:
    def test_another_version_of_clang_is_refused(self) -> None:
        with pytest.raises(NotUnderstood, match="21"):
            Module('!llvm.ident = !{!0}\n!0 = !{!"clang version 21.0.0"}\n')

    def test_globals(self) -> None:
        made = module(
            '@a = internal thread_local global i32 0, section "x", align 8, !dbg !4\n'
            "@b = external dso_local constant [0 x i8]\n@c = weak alias i32, ptr @a"
        )
        a, b = made.globals["a"], made.globals["b"]
        assert (a.linkage, a.thread_local, a.align, a.section, a.debug) == ("internal", True, 8, "x", 4)
        assert (b.constant, b.initialiser) == (True, None)
        assert isinstance(made.aliases["c"].target, Symbol)

    def test_functions(self) -> None:
        made = module(
            "attributes #0 = { noreturn nounwind }\n"
            "declare !dbg !4 void @stop(i32 noundef) #0\n"
            "define internal zeroext i1 @f(ptr byval(i32) align 4 %p, ...) local_unnamed_addr !dbg !3 {\n"
            "entry:\n  ret i1 true\n}"
        )
        stop, f = made.functions["stop"], made.functions["f"]
        assert "noreturn" in stop.attributes
        assert not stop.defined
        assert (f.type.variadic, f.debug, f.parameters[0].name) == (True, 3, "p")
        assert f.parameters[0].passing.byval is not None


def test_debug_information() -> None:
    made = module(
        '!1 = !DIFile(filename: "a.c", directory: "/d")\n'
        '!2 = distinct !DISubprogram(name: "f", file: !1, line: 3, type: !8)\n'
        "!3 = distinct !DILexicalBlock(scope: !2, file: !1, line: 4, column: 5)\n"
        "!4 = !DILocation(line: 6, column: 7, scope: !3, atomGroup: 1)\n"
        '!5 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)\n'
        '!6 = !DIDerivedType(tag: DW_TAG_typedef, name: "t", baseType: !7)\n'
        "!7 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !5)\n"
        "!8 = !DISubroutineType(types: !9)\n!9 = !{null, !6}\n"
        '!10 = !DILocalVariable(name: "x", arg: 1, scope: !3, file: !1, line: 6, type: !6)\n'
        "!11 = distinct !{!11, !4, !12}\n!12 = !DILocation(line: 9, column: 1, scope: !3)\n"
    )
    debug = made.debug
    place = debug.place(4)
    assert place is not None
    assert (place.line, place.column) == (6, 7)
    assert debug.file(3) == "/d/a.c"
    assert debug.signed(6) is True
    assert debug.is_const(6)
    assert debug.signature(2) == [None, 6]
    variable = debug.variable(10)
    assert (variable.name, variable.argument, variable.type) == ("x", 1, 6)
    assert debug.loop(11) == 4
