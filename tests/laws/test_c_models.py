"""The models of the C library that are written in C do what the C library of this machine does.

They are compiled natively and called beside the originals on random and special arguments.
Where C leaves a value open, signs are compared, or what all allowed results have in common.
"""

from __future__ import annotations

import ctypes
import locale
import random
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from certus.frontend.c.library.models import OTHER_NAMES
from certus.system.tools import TARGETS, find_clang, find_tool

MODELS = Path(__file__).parents[2] / "src/certus/frontend/c/library/c"
SUPPORT = """
static unsigned long long state = 88172645463325252u;
static unsigned long long next(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}
void certus_seed(unsigned long long seed) { state = 88172645463325252u + seed; }
int __certus_unspecified_int(void) { return next() & 1 ? (int)next() : (int)(next() % 5) - 2; }
int __certus_unspecified_natural(void) { return next() & 1 ? (int)(next() % (1u << 30)) : (int)(next() % 5); }
unsigned char __certus_unknown_byte(void) { return next(); }
unsigned short __certus_unknown_short(void) { return next(); }
unsigned __certus_unknown_int(void) { return next() % 8; }
unsigned long long __certus_unknown_word(void) { return next() % 4; }
double __certus_unknown_part(void) { return next(); }
float __certus_unknown_partf(void) { return next(); }
long double __certus_unknown_partl(void) { return next(); }
unsigned char __certus_input_byte(void) { return next() % 4 ? next() : 10; }
unsigned __certus_input_argument_length(void) { return next() % 9; }
unsigned char __certus_input_argument_byte(void) { return next() % 255 + 1; }
void *malloc(__SIZE_TYPE__);
void *__certus_static_object(__SIZE_TYPE__ size, const char *name) { return malloc(size); }
_Bool certus_assumed = 1;
void __certus_assume(_Bool condition) { certus_assumed = certus_assumed && condition; }
void __certus_readable(const void *start, __SIZE_TYPE__ size) { }
void __certus_writable(void *start, __SIZE_TYPE__ size) { }
_Bool __certus_is_readable(const void *start, __SIZE_TYPE__ size) { return 1; }
"""
MODEL_OF = {other: name for name, other in map(str.split, OTHER_NAMES)}
LONG = ctypes.sizeof(ctypes.c_long) * 8
TEXTS = [b"", b"a", b"A", b"ab", b"abc", b"abab", b"b,a;;c", b",;", b"\xff", b"\x80z", b"Zz", b"aaaaaaab"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The models as a library of their own, whose functions call one another."""
    directory = tmp_path_factory.mktemp("models")
    (directory / "support.c").write_text(SUPPORT)
    compiler = find_tool("gcc")
    assert compiler is not None
    made = directory / "models.so"
    flags = ("-shared", "-fPIC", "-O1", "-w", "-std=gnu17", "-ffreestanding", "-fwrapv", "-Wl,-Bsymbolic")
    # These use builtins that gcc lacks; programs in tests/programs/c compare them with the compiled program.
    models = (path for path in sorted(MODELS.glob("*.c")) if path.name not in ("classes.c", "math.c"))
    sources = [str(path) for path in (*models, directory / "support.c")]
    subprocess.run([str(compiler), *flags, *sources, "-o", str(made)], check=True)
    return ctypes.CDLL(str(made))


@pytest.fixture(autouse=True)
def seeded(models: ctypes.CDLL) -> None:
    """Start every test with the same unspecified values, whichever tests ran before it."""
    models.certus_seed(ctypes.c_ulonglong(0))


@pytest.fixture(scope="module")
def library() -> Iterator[ctypes.CDLL]:
    """The C library of this machine, in the locale "C"."""
    before = locale.setlocale(locale.LC_ALL)
    locale.setlocale(locale.LC_ALL, "C")
    yield ctypes.CDLL(None, use_errno=True)
    locale.setlocale(locale.LC_ALL, before)


def sign(value: int) -> int:
    return (value > 0) - (value < 0)


def some_text(draw: random.Random, length: int = 8) -> bytes:
    if draw.random() < 0.2:
        return draw.choice(TEXTS)
    return bytes(draw.choice(b"abAB,; \xe4\x80\xff") for _ in range(draw.randrange(length)))


def model(models: ctypes.CDLL, name: str) -> Any:
    """The model of a function, which may have the name of another function."""
    return getattr(models, MODEL_OF.get(name, name))


class Buffer:
    """Two equal stretches of memory, one for the model, one for the library. `size` includes room."""

    def __init__(self, contents: bytes, size: int, unit: int = 1) -> None:
        filled = contents + bytes(range(0x30, 0x30 + size - len(contents)))
        self.pair = [ctypes.create_string_buffer(filled, size) for _ in range(2)]
        self.unit = unit

    def address(self, side: int) -> int:
        return ctypes.addressof(self.pair[side])

    def offset(self, side: int, pointer: int | None) -> int | None:
        return None if pointer is None else pointer - self.address(side)

    def check(self) -> None:
        assert self.pair[0].raw == self.pair[1].raw


Argument = int | bytes | Buffer


class Pair:
    """A function of the library and its model."""

    def __init__(self, models: ctypes.CDLL, library: ctypes.CDLL, name: str, result: type | None) -> None:
        self.name = name
        self.sides: list[Callable[..., int | None]] = []
        for function in (model(models, name), getattr(library, name)):
            function.restype = result
            self.sides.append(function)

    def call(self, side: int, given: Sequence[Argument]) -> int | None:
        passed: list[object] = []
        for argument in given:
            if isinstance(argument, Buffer):
                passed.append(ctypes.c_void_p(argument.address(side)))
            elif isinstance(argument, bytes):
                passed.append(ctypes.c_char_p(argument))
            else:
                passed.append(ctypes.c_size_t(argument & (1 << LONG) - 1))
        return self.sides[side](*passed)

    def both(self, *given: Argument) -> tuple[int | None, int | None]:
        """The results: pointers as offsets into the first buffer."""
        found = (self.call(0, given), self.call(1, given))
        buffers = [argument for argument in given if isinstance(argument, Buffer)]
        for buffer in buffers:
            buffer.check()
        if self.sides[0].restype is ctypes.c_void_p and buffers:  # type: ignore[attr-defined]
            return buffers[0].offset(0, found[0]), buffers[0].offset(1, found[1])
        return found


@pytest.fixture
def pair(models: ctypes.CDLL, library: ctypes.CDLL) -> Callable[[str, type | None], Pair]:
    return lambda name, result: Pair(models, library, name, result)


MakePair = Callable[[str, type | None], Pair]
DRAWS = 250


class TestCharacters:
    @pytest.mark.parametrize(
        "name",
        [
            "isalnum",
            "isalpha",
            "isascii",
            "isblank",
            "iscntrl",
            "isdigit",
            "isgraph",
            "islower",
            "isprint",
            "ispunct",
            "isspace",
            "isupper",
            "isxdigit",
        ],
    )
    def test_classes(self, pair: MakePair, name: str) -> None:
        function = pair(name, ctypes.c_int)
        for c in range(-1, 256):
            ours, theirs = function.both(c)
            assert bool(ours) == bool(theirs), c

    @pytest.mark.parametrize("name", ["tolower", "toupper", "toascii"])
    def test_mappings(self, pair: MakePair, name: str) -> None:
        function = pair(name, ctypes.c_int)
        for c in range(-1, 256):
            ours, theirs = function.both(c)
            assert ours == theirs, c

    @pytest.mark.parametrize("name", ["__ctype_b_loc", "__ctype_tolower_loc", "__ctype_toupper_loc"])
    def test_tables(self, models: ctypes.CDLL, library: ctypes.CDLL, name: str) -> None:
        entry = ctypes.c_ushort if name == "__ctype_b_loc" else ctypes.c_int
        tables = []
        for function in (getattr(models, name), getattr(library, name)):
            function.restype = ctypes.POINTER(ctypes.POINTER(entry))
            table = function()[0]
            tables.append([table[c] for c in range(-128, 256)])
        assert tables[0] == tables[1]


class TestStrings:
    @pytest.mark.parametrize("name", ["strcmp", "strcasecmp", "strcoll"])
    def test_comparisons(self, pair: MakePair, name: str) -> None:
        draw = random.Random(1)
        function = pair(name, ctypes.c_int)
        for _ in range(DRAWS):
            ours, theirs = function.both(some_text(draw, 4), some_text(draw, 4))
            assert ours is not None
            assert theirs is not None
            assert sign(ours) == sign(theirs)

    @pytest.mark.parametrize("name", ["strncmp", "strncasecmp", "memcmp"])
    def test_comparisons_with_a_limit(self, pair: MakePair, name: str) -> None:
        draw, function = random.Random(2), pair(name, ctypes.c_int)
        for _ in range(DRAWS):
            one, other = (some_text(draw, 4).ljust(5, b"\0") for _ in range(2))
            ours, theirs = function.both(one, other, draw.randrange(6))
            assert ours is not None
            assert theirs is not None
            assert sign(ours) == sign(theirs)

    @pytest.mark.parametrize("name", ["strspn", "strcspn"])
    def test_spans(self, pair: MakePair, name: str) -> None:
        draw, function = random.Random(3), pair(name, ctypes.c_size_t)
        for _ in range(DRAWS):
            ours, theirs = function.both(some_text(draw), some_text(draw, 4))
            assert ours == theirs

    def test_lengths(self, pair: MakePair) -> None:
        draw, plain, limited = (
            random.Random(4),
            pair("strlen", ctypes.c_size_t),
            pair("strnlen", ctypes.c_size_t),
        )
        for _ in range(DRAWS):
            text = some_text(draw)
            ours, theirs = plain.both(text)
            assert ours == theirs
            ours, theirs = limited.both(text, draw.randrange(10))
            assert ours == theirs

    @pytest.mark.parametrize("name", ["strchr", "strrchr", "strchrnul", "rawmemchr"])
    def test_find_a_character(self, pair: MakePair, name: str) -> None:
        draw, function = random.Random(5), pair(name, ctypes.c_void_p)
        for _ in range(DRAWS):
            text = some_text(draw)
            wanted = 0 if name == "rawmemchr" else draw.choice([*b"ab,\xff\x80", 0, ord("b") + 256, -1])
            ours, theirs = function.both(Buffer(text + b"\0", 12), wanted)
            assert ours == theirs

    @pytest.mark.parametrize("name", ["memchr", "memrchr"])
    def test_find_a_byte(self, pair: MakePair, name: str) -> None:
        draw, function = random.Random(6), pair(name, ctypes.c_void_p)
        for _ in range(DRAWS):
            wanted = draw.choice([*b"ab,\xff\x80", 0, ord("b") + 256, -1])
            ours, theirs = function.both(Buffer(some_text(draw) + b"\0", 12), wanted, draw.randrange(12))
            assert ours == theirs

    @pytest.mark.parametrize("name", ["strstr", "strcasestr", "strpbrk"])
    def test_search(self, pair: MakePair, name: str) -> None:
        draw, function = random.Random(7), pair(name, ctypes.c_void_p)
        for _ in range(DRAWS):
            ours, theirs = function.both(Buffer(some_text(draw) + b"\0", 12), some_text(draw, 3))
            assert ours == theirs

    def test_search_memory(self, pair: MakePair) -> None:
        draw, function = random.Random(8), pair("memmem", ctypes.c_void_p)
        for _ in range(DRAWS):
            part = bytes(draw.choice(b"ab") for _ in range(draw.randrange(3)))
            text = bytes(draw.choice(b"ab") for _ in range(8))
            ours, theirs = function.both(Buffer(text, 12), draw.randrange(9), part, len(part))
            assert ours == theirs

    @pytest.mark.parametrize("name", ["strcpy", "stpcpy", "strcat"])
    def test_copies(self, pair: MakePair, name: str) -> None:
        draw, function = random.Random(9), pair(name, ctypes.c_void_p)
        for _ in range(DRAWS):
            ours, theirs = function.both(Buffer(some_text(draw) + b"\0", 24), some_text(draw))
            assert ours == theirs

    @pytest.mark.parametrize("name", ["strncpy", "stpncpy", "strncat"])
    def test_copies_with_a_limit(self, pair: MakePair, name: str) -> None:
        draw, function = random.Random(10), pair(name, ctypes.c_void_p)
        for _ in range(DRAWS):
            text = some_text(draw).ljust(9, b"\0")
            ours, theirs = function.both(Buffer(some_text(draw) + b"\0", 24), text, draw.randrange(10))
            assert ours == theirs

    def test_copy_up_to_a_byte(self, pair: MakePair) -> None:
        draw, function = random.Random(12), pair("memccpy", ctypes.c_void_p)
        for _ in range(DRAWS):
            text = some_text(draw).ljust(9, b"\0")
            last = draw.choice([*b"ab,\xff", 0, -1])
            ours, theirs = function.both(Buffer(b"", 24), text, last, draw.randrange(10))
            assert ours == theirs

    @pytest.mark.parametrize("name", ["strdup", "strndup"])
    def test_duplicates(self, pair: MakePair, name: str) -> None:
        draw, function = random.Random(14), pair(name, ctypes.c_char_p)
        for _ in range(DRAWS):
            limit = [draw.randrange(10)] if name == "strndup" else []
            ours, theirs = function.both(some_text(draw), *limit)
            assert ours == theirs

    @pytest.mark.parametrize("name", ["strtok", "strtok_r", "strsep"])
    def test_tokens(self, models: ctypes.CDLL, library: ctypes.CDLL, name: str) -> None:
        draw = random.Random(15)
        for _ in range(DRAWS):
            memory, sets = Buffer(some_text(draw) + b"\0", 12), [some_text(draw, 3) for _ in range(9)]
            results: list[list[int | None]] = []
            for side, function in enumerate((getattr(models, name), getattr(library, name))):
                function.restype = ctypes.c_void_p
                found, start = [], ctypes.c_void_p(memory.address(side))
                rest = ctypes.c_void_p(memory.address(side))
                for number, chars in enumerate(sets):
                    first = start if number == 0 else None
                    if name == "strsep":
                        token = function(ctypes.byref(rest), chars)
                    else:
                        token = function(first, chars, *([ctypes.byref(rest)] if name == "strtok_r" else []))
                    found.append(memory.offset(side, token))
                    if token is None:
                        break
                if name == "strsep":
                    found.append(memory.offset(side, rest.value))
                results.append(found)
            assert results[0] == results[1]
            memory.check()


NUMBERS = [
    *(
        b"0",
        b"-0",
        b"+7",
        b" \t\n\v\f\r12x",
        b"",
        b"-",
        b"+",
        b"+-3",
        b"0x",
        b"0xg",
        b"0x1fG",
        b"0X7f",
        b"-0x80",
        b"08",
    ),
    *(
        b"077",
        b"0b101",
        b"zZ",
        b"-zz",
        b"\xff1",
        b"1 2",
        b"2147483647",
        b"2147483648",
        b"-2147483648",
        b"-2147483649",
    ),
    *(
        b"4294967295",
        b"4294967296",
        b"-4294967295",
        b"-4294967296",
        b"9223372036854775807",
        b"9223372036854775808",
    ),
    *(b"-9223372036854775808", b"-9223372036854775809", b"18446744073709551615", b"18446744073709551616"),
    *(
        b"-18446744073709551615",
        b"-18446744073709551616",
        b"99999999999999999999999999",
        b"-99999999999999999999",
    ),
    *(b"0x7fffffffffffffff", b"0xffffffffffffffff", b"0x10000000000000000", b"1777777777777777777777"),
]
BASES = [0, 2, 3, 8, 10, 16, 36, 1, -1, 37]


def some_number(draw: random.Random) -> bytes:
    if draw.random() < 0.3:
        return draw.choice(NUMBERS)
    digits = bytes(draw.choice(b"0123456789abfxXzZ ") for _ in range(draw.randrange(24)))
    return draw.choice([b"", b"-", b"+", b" ", b"0", b"0x", b" -0x"]) + digits


class TestNumbers:
    @pytest.mark.parametrize(
        ("name", "type_"),
        [
            ("strtol", ctypes.c_long),
            ("strtoll", ctypes.c_longlong),
            ("strtoul", ctypes.c_ulong),
            ("strtoull", ctypes.c_ulonglong),
            ("strtoimax", ctypes.c_longlong),
            ("strtoumax", ctypes.c_ulonglong),
        ],
    )
    def test_texts(self, models: ctypes.CDLL, library: ctypes.CDLL, name: str, type_: type) -> None:
        draw = random.Random(16)
        location = models["__errno_location"]
        location.restype = ctypes.POINTER(ctypes.c_int)
        ours, theirs = model(models, name), getattr(library, name)
        ours.restype = theirs.restype = type_
        cases = [(text, base) for text in NUMBERS for base in BASES]
        cases += [(some_number(draw), draw.choice(BASES[:7])) for _ in range(2000)]
        for text, base in cases:
            memory = Buffer(text + b"\0", len(text) + 1)
            ends = [ctypes.c_void_p(memory.address(side) - 1) for side in range(2)]
            location()[0] = 5
            ctypes.set_errno(5)
            places = [ctypes.c_void_p(memory.address(side)) for side in range(2)]
            values = (
                ours(places[0], ctypes.byref(ends[0]), base),
                theirs(places[1], ctypes.byref(ends[1]), base),
            )
            assert values[0] == values[1], (text, base)
            assert location()[0] == ctypes.get_errno(), (text, base)
            assert memory.offset(0, ends[0].value) == memory.offset(1, ends[1].value), (text, base)
            assert ours(text, None, base) == values[0]

    @pytest.mark.parametrize(
        ("name", "type_"),
        [("atoi", ctypes.c_int), ("atol", ctypes.c_long), ("atoll", ctypes.c_longlong)],
    )
    def test_plain_texts(self, pair: MakePair, name: str, type_: type) -> None:
        draw, function = random.Random(17), pair(name, type_)
        for text in [*NUMBERS, *(some_number(draw) for _ in range(500))]:
            ours, theirs = function.both(text)
            assert ours == theirs, text

    def test_binary_numbers_of_c23(self, models: ctypes.CDLL) -> None:
        function, end = models["__isoc23_strtol"], ctypes.c_char_p()
        function.restype = ctypes.c_long
        found = []
        for text, base in ((b"0b101", 0), (b"-0B11x", 2), (b"0b2", 0), (b"0b1", 16), (b"0b1", 10)):
            found.append((function(text, ctypes.byref(end), base), end.value))
        assert found == [(5, b""), (-3, b"x"), (0, b"b2"), (0xB1, b""), (0, b"b1")]

    @pytest.mark.parametrize(
        ("name", "type_"),
        [
            *(("abs", ctypes.c_int), ("labs", ctypes.c_long), ("llabs", ctypes.c_longlong)),
            *(("imaxabs", ctypes.c_longlong), ("ffs", ctypes.c_int), ("htonl", ctypes.c_uint)),
            *(("ntohl", ctypes.c_uint), ("htons", ctypes.c_ushort), ("ntohs", ctypes.c_ushort)),
        ],
    )
    def test_functions_of_a_number(
        self, models: ctypes.CDLL, library: ctypes.CDLL, name: str, type_: type
    ) -> None:
        draw = random.Random(18)
        ours, theirs = model(models, name), getattr(library, name)
        ours.restype = theirs.restype = type_
        bits = 8 * ctypes.sizeof(type_)
        special = [0, 1, -1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)) + 1, 1 << bits - 2]
        for value in [*special, *(draw.getrandbits(bits) for _ in range(200))]:
            assert ours(type_(value)) == theirs(type_(value))

    @pytest.mark.parametrize(
        ("name", "width", "type_"),
        [("ffsl", LONG, ctypes.c_long), ("ffsll", 64, ctypes.c_longlong)],
    )
    def test_first_bits(
        self, models: ctypes.CDLL, library: ctypes.CDLL, name: str, width: int, type_: type
    ) -> None:
        for value in [0, *(1 << bit for bit in range(width)), -1, -4, 3 << width - 3]:
            given = type_(value)
            assert model(models, name)(given) == getattr(library, name)(given)

    @pytest.mark.parametrize(
        ("name", "type_"),
        [
            *(("div", ctypes.c_int), ("ldiv", ctypes.c_long), ("lldiv", ctypes.c_longlong)),
            ("imaxdiv", ctypes.c_longlong),
        ],
    )
    def test_divisions(self, models: ctypes.CDLL, library: ctypes.CDLL, name: str, type_: type) -> None:
        class Quotient(ctypes.Structure):
            _fields_ = [("quot", type_), ("rem", type_)]

        ours, theirs = model(models, name), getattr(library, name)
        ours.restype = theirs.restype = Quotient
        for a in (0, 1, 7, -7, 2**31 - 1, -(2**31)):
            for b in (1, 2, -2, 7, -7, 2**31 - 1):
                one, other = ours(type_(a), type_(b)), theirs(type_(a), type_(b))
                assert (one.quot, one.rem) == (other.quot, other.rem)


COMPARISON = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class TestSorting:
    @pytest.mark.parametrize(
        ("name", "type_"),
        [
            *(
                ("qsort", ctypes.c_int),
                ("__certus_qsort1", ctypes.c_byte),
                ("__certus_qsort2", ctypes.c_short),
            ),
            *(("__certus_qsort4", ctypes.c_int), ("__certus_qsort8", ctypes.c_longlong)),
        ],
    )
    def test_sort(self, models: ctypes.CDLL, name: str, type_: type[ctypes.c_int]) -> None:
        """The elements are those before, in an order that the comparison allows; the order of equal ones
        is open, and both orders of two equal ones occur."""
        draw, orders = random.Random(19), set()
        size = ctypes.sizeof(type_)

        def compare(a: int, b: int) -> int:
            return sign(type_.from_address(a).value // 10 - type_.from_address(b).value // 10)

        for _ in range(150):
            values = [draw.randrange(-40, 40) for _ in range(draw.randrange(8))]
            array = (type_ * len(values))(*values)
            getattr(models, name)(
                array, ctypes.c_size_t(len(values)), ctypes.c_size_t(size), COMPARISON(compare)
            )
            found = list(array)
            assert sorted(found) == sorted(values)
            assert [value // 10 for value in found] == sorted(value // 10 for value in values)
            orders.add(found == sorted(values, key=lambda value: value // 10))
        assert orders == {True, False}

    def test_every_order_of_equal_elements(self, models: ctypes.CDLL) -> None:
        orders = set()
        for _ in range(1000):
            array = (ctypes.c_int * 3)(1, 2, 3)
            models.qsort(array, ctypes.c_size_t(3), ctypes.c_size_t(4), COMPARISON(lambda a, b: 0))
            orders.add(tuple(array))
        assert len(orders) == 6

    @pytest.mark.parametrize("bytes_", [1, 2, 4, 8])
    def test_any_comparisons(self, models: ctypes.CDLL, bytes_: int) -> None:
        """In the executions that are not cut off, elements are permuted, and any two of them compared."""
        assumed = ctypes.c_bool.in_dll(models, "certus_assumed")
        orders, compared = set(), set()
        array = (ctypes.c_longlong * 64)()
        inside = range(3)

        def compare(a: int, b: int) -> int:
            places = tuple((place - ctypes.addressof(array)) // 8 for place in (a, b))
            if all(place in inside for place in places):
                compared.add(places)
            return 0

        for _ in range(1000):
            array[:3] = [1, 2, 3]
            assumed.value = True
            number, size = ctypes.c_size_t(3), ctypes.c_size_t(8)
            models[f"__certus_qsort_any{bytes_}"](array, number, size, COMPARISON(compare))
            if assumed.value:
                assert sorted(array[:3]) == [1, 2, 3]
                orders.add(tuple(array[:3]))
        assert len(orders) == 6
        assert len(compared) == 9

    def test_search(self, models: ctypes.CDLL) -> None:
        """An element that equals the key, any of several, or null if there is none."""
        draw, places = random.Random(20), set()
        models.bsearch.restype = ctypes.c_void_p

        def compare(a: int, b: int) -> int:
            return sign(ctypes.c_int.from_address(a).value - ctypes.c_int.from_address(b).value)

        for _ in range(300):
            values = sorted(draw.randrange(5) for _ in range(draw.randrange(7)))
            array, key = (ctypes.c_int * len(values))(*values), ctypes.c_int(draw.randrange(5))
            number, size = ctypes.c_size_t(len(values)), ctypes.c_size_t(4)
            found = models.bsearch(ctypes.byref(key), array, number, size, COMPARISON(compare))
            if found is None:
                assert key.value not in values
            else:
                place = (found - ctypes.addressof(array)) // 4
                assert values[place] == key.value
                places.add(place - values.index(key.value))
        assert places >= {0, 1, 2}


WIDE = "ab\u4e00,"


def some_wide(draw: random.Random, length: int = 6) -> bytes:
    return b"".join(ord(draw.choice(WIDE)).to_bytes(4, "little") for _ in range(draw.randrange(length)))


END = bytes(4)


class TestWideStrings:
    @pytest.mark.parametrize("name", ["wcscmp", "wcscoll", "wcsncmp", "wmemcmp"])
    def test_comparisons(self, pair: MakePair, name: str) -> None:
        draw = random.Random(21)
        function = pair(name, ctypes.c_int)
        for _ in range(DRAWS):
            one, other = (Buffer(some_wide(draw, 4) + 4 * END, 32) for _ in range(2))
            limit = [draw.randrange(5)] if name in ("wcsncmp", "wmemcmp") else []
            ours, theirs = function.both(one, other, *limit)
            assert ours is not None
            assert theirs is not None
            assert sign(ours) == sign(theirs)

    @pytest.mark.parametrize("name", ["wcslen", "wcsnlen"])
    def test_lengths(self, pair: MakePair, name: str) -> None:
        draw, function = random.Random(22), pair(name, ctypes.c_size_t)
        for _ in range(DRAWS):
            limit = [draw.randrange(8)] if name == "wcsnlen" else []
            ours, theirs = function.both(Buffer(some_wide(draw) + END, 32), *limit)
            assert ours == theirs

    @pytest.mark.parametrize("name", ["wcscpy", "wcscat", "wcsncpy", "wcsncat", "wmemcpy", "wmemmove"])
    def test_copies(self, pair: MakePair, name: str) -> None:
        draw, function = random.Random(23), pair(name, ctypes.c_void_p)
        for _ in range(DRAWS):
            to, source = Buffer(some_wide(draw) + END, 64), Buffer(some_wide(draw) + END, 64)
            limit = [draw.randrange(8)] if name not in ("wcscpy", "wcscat") else []
            ours, theirs = function.both(to, source, *limit)
            assert ours == theirs

    @pytest.mark.parametrize("name", ["wcschr", "wcsrchr", "wmemchr", "wmemset"])
    def test_characters(self, pair: MakePair, name: str) -> None:
        draw, function = random.Random(24), pair(name, ctypes.c_void_p)
        for _ in range(DRAWS):
            memory, wanted = Buffer(some_wide(draw) + END, 32), draw.choice([*map(ord, WIDE), 0])
            limit = [draw.randrange(6)] if name.startswith("wmem") else []
            ours, theirs = function.both(memory, wanted, *limit)
            assert ours == theirs

    @pytest.mark.parametrize("name", ["wcsstr", "wcspbrk", "wcsspn", "wcscspn"])
    def test_search(self, pair: MakePair, name: str) -> None:
        result = ctypes.c_size_t if name.endswith("spn") else ctypes.c_void_p
        draw, function = random.Random(25), pair(name, result)
        for _ in range(DRAWS):
            ours, theirs = function.both(
                Buffer(some_wide(draw) + END, 32), Buffer(some_wide(draw, 3) + END, 32)
            )
            assert ours == theirs

    def test_overlapping_copies(self, models: ctypes.CDLL, library: ctypes.CDLL) -> None:
        draw = random.Random(26)
        for _ in range(DRAWS):
            memory = Buffer(some_wide(draw), 48)
            to, source, count = draw.randrange(6), draw.randrange(6), draw.randrange(6)
            for side, function in enumerate((models.wmemmove, library.wmemmove)):
                places = [ctypes.c_void_p(memory.address(side) + 4 * at) for at in (to, source)]
                function(*places, ctypes.c_size_t(count))
            memory.check()


class TestSurroundings:
    def test_arguments_are_strings_that_a_null_pointer_follows(self, models: ctypes.CDLL) -> None:
        function = models["__certus_arguments"]
        function.restype = ctypes.POINTER(ctypes.c_char_p)
        for number in range(4):
            found = function(number)
            assert all(found[i] is not None for i in range(number))
            assert found[number] is None

    def test_registered_functions_run_the_last_first(self, models: ctypes.CDLL) -> None:
        ran: list[int] = []
        handler = ctypes.CFUNCTYPE(None)
        late = handler(lambda: ran.append(9))

        def registers() -> None:
            ran.append(2)
            models.atexit(late)

        kept = [handler(lambda: ran.append(1)), handler(registers), handler(lambda: ran.append(3))]
        for function in kept:
            assert models.atexit(function) == 0
        models["__certus_run_registered"]()
        assert ran == [3, 2, 9, 1]

    def test_lines(self, models: ctypes.CDLL) -> None:
        lengths = set()
        for size in (-1, 0, 1, 2, 5):
            for _ in range(100):
                memory = Buffer(b"#", 8)
                models["__certus_line"](ctypes.c_void_p(memory.address(0)), size)
                raw = memory.pair[0].raw
                if size <= 0:
                    assert raw == memory.pair[1].raw
                    continue
                length = next(
                    n for n in range(size) if raw[n] == 0 and raw[n + 1 :] == memory.pair[1].raw[n + 1 :]
                )
                assert (length == 0) == (size == 1)
                assert b"\n" not in raw[: max(0, length - 1)]
                lengths.add((size, length))
        assert {(5, n) for n in range(1, 5)} <= lengths

    @pytest.mark.parametrize("bytes_", [1, 2, 4, 8])
    def test_loops_over_elements(self, models: ctypes.CDLL, bytes_: int) -> None:
        draw = random.Random(27)
        for _ in range(50):
            start = bytes(draw.randrange(256) for _ in range(64))
            to, source, count = (bytes_ * draw.randrange(4) for _ in range(3))
            expected = bytearray(start)
            expected[to : to + count] = start[source : source + count]
            memory = ctypes.create_string_buffer(start, 64)
            base = ctypes.addressof(memory)
            move = getattr(models, f"__certus_move{bytes_}")
            move(ctypes.c_void_p(base + to), ctypes.c_void_p(base + source), ctypes.c_size_t(count // bytes_))
            assert memory.raw == bytes(expected)
            value = draw.getrandbits(8 * bytes_)
            fill = getattr(models, f"__certus_fill{bytes_}")
            fill(ctypes.c_void_p(base + to), ctypes.c_uint64(value), ctypes.c_size_t(count // bytes_))
            expected[to : to + count] = (value.to_bytes(bytes_, "little") * 4)[:count]
            assert memory.raw == bytes(expected)
            other = ctypes.create_string_buffer(64)
            copy = getattr(models, f"__certus_copy{bytes_}")
            copy(other, memory, ctypes.c_size_t(64 // bytes_))
            assert other.raw == memory.raw
            unknown = getattr(models, f"__certus_unknown{bytes_}")
            unknown(ctypes.c_void_p(base + to), ctypes.c_size_t(count // bytes_))
            assert memory.raw[:to] == bytes(expected[:to])
            assert memory.raw[to + count :] == bytes(expected[to + count :])


ILP32 = """
#define CHECK(condition) if (!(condition)) return __LINE__
long strtol(const char *, char **, int);
unsigned long strtoul(const char *, char **, int);
long long strtoll(const char *, char **, int);
unsigned long long strtoull(const char *, char **, int);
int *__errno_location(void);
static unsigned long long divided(unsigned long long a, unsigned long long b, unsigned long long *rest)
{
    unsigned long long quotient = 0, left = 0;
    for (int bit = 63; bit >= 0; bit--) {
        left = left << 1 | (a >> bit & 1);
        if (left >= b) left -= b, quotient |= 1ull << bit;
    }
    return *rest = left, quotient;
}
unsigned long long __udivdi3(unsigned long long a, unsigned long long b)
{
    unsigned long long rest;
    return divided(a, b, &rest);
}
unsigned long long __umoddi3(unsigned long long a, unsigned long long b)
{
    unsigned long long rest;
    return divided(a, b, &rest), rest;
}
static int checks(void)
{
    int *number = __errno_location();
    char *end, text[] = "-2147483648";
    CHECK(strtol("2147483647", 0, 10) == 2147483647 && *number == 0);
    CHECK(strtol(text, &end, 10) == -2147483647 - 1 && end == text + 11 && *number == 0);
    CHECK(strtol("2147483648", 0, 10) == 2147483647 && *number == 34);
    *number = 0;
    CHECK(strtol("-2147483649", 0, 10) == -2147483647 - 1 && *number == 34);
    *number = 0;
    CHECK(strtoul("4294967295", 0, 0) == 4294967295u && strtoul("-1", 0, 0) == 4294967295u && *number == 0);
    CHECK(strtoul("-4294967295", 0, 0) == 1 && *number == 0);
    CHECK(strtoul("4294967296", 0, 0) == 4294967295u && *number == 34);
    *number = 0;
    CHECK(strtoll("0x7fffffffffffffff", 0, 0) == 0x7fffffffffffffff && *number == 0);
    CHECK(strtoull("18446744073709551615", 0, 0) == 18446744073709551615u && *number == 0);
    CHECK(strtoull("18446744073709551616", 0, 0) == 18446744073709551615u && *number == 34);
    return 0;
}
void _start(void)
{
    for (;;) __asm__ volatile("int $0x80" : : "a"(1), "b"(checks()) : "memory");
}
"""


def test_numbers_of_the_other_data_model(tmp_path: Path) -> None:
    clang = find_clang()
    (tmp_path / "program.c").write_text(ILP32)
    (tmp_path / "support.c").write_text(SUPPORT.replace("malloc(size)", "0"))
    objects = []
    for source in (MODELS / "stdlib.c", tmp_path / "program.c", tmp_path / "support.c"):
        objects.append(tmp_path / f"{source.stem}.o")
        flags = (f"--target={TARGETS['ILP32']}", "-O0", "-w", "-ffreestanding", "-fno-pic", "-std=gnu17")
        subprocess.run([*clang.command, *flags, "-c", str(source), "-o", str(objects[-1])], check=True)
    linker = (clang.command[0], "ld.lld") if len(clang.command) > 1 else ("ld", "-m", "elf_i386")
    subprocess.run([*linker, "-static", "-o", str(tmp_path / "program"), *map(str, objects)], check=True)
    done = subprocess.run([str(tmp_path / "program")], check=False)
    assert done.returncode == 0, f"the check in line {done.returncode}"
