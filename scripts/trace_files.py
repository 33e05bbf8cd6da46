"""Count the source files that `certus verify` passes through and the modules that its parent process imports.

    python scripts/trace_files.py [FILE] [--files N] [--modules N] [-- OPTIONS...]

A file counts if one of its functions is called in the parent or in a forked child process. Importing it is
not enough, and neither are calls made while a module is imported. FILE is verified with `--cores 1` and
OPTIONS; the default is a C program with a loop and a function. With `--files` or `--modules` the exit code is
1 if there are more than N."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "certus"
PROGRAM = """
#include <assert.h>
extern int __VERIFIER_nondet_int(void);
static int bounded(int x) { return x < 0 ? 0 : x > 9 ? 9 : x; }
int main(void) {
    int sum = 0, last = 0;
    for (int i = 0; i < 5; i++) {
        last = bounded(__VERIFIER_nondet_int());
        sum += last;
    }
    assert(sum <= 45 && last <= sum);
}
"""
# The traced process imports as little as possible before it runs Certus: its modules are counted.
TRACED = """
import sys
before = set(sys.modules)
import os
records, package = sys.argv[1], sys.argv[2]
seen = set()

def write(kind, text):
    with open(records, "a") as file:
        file.write(f"{kind}\\t{os.getpid()}\\t{text}\\n")

def on_call(frame, event, argument):
    code = frame.f_code
    if code in seen or not code.co_filename.startswith(package) or not code.co_flags & 1:
        return  # flag 1 is set for functions, and not for modules and class bodies
    caller = frame.f_back
    while caller is not None:
        if caller.f_code.co_name == "<module>" and caller.f_code.co_filename.startswith(package):
            return
        caller = caller.f_back
    seen.add(code)
    write("call", f"{code.co_filename}\\t{code.co_qualname}")

sys.settrace(on_call)
from certus.cli.main import main
status = main(sys.argv[3:])
sys.settrace(None)
for name in set(sys.modules) - before:
    write("module", name)
sys.stdout.flush()
os._exit(status)
"""


def trace(arguments: Sequence[str]) -> tuple[set[Path], dict[Path, set[str]], set[str]]:
    """Run `certus` and return the files of the parent, the functions that all processes called by file, and
    the parent's modules."""
    parent, called, modules = set[Path](), defaultdict[Path, set[str]](set), set[str]()
    with TemporaryDirectory() as scratch:
        records = Path(scratch, "records")
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
        command = [sys.executable, "-c", TRACED, str(records), str(PACKAGE), *arguments]
        process = subprocess.Popen(command, env=environment)
        process.wait()
        for line in records.read_text().splitlines():
            kind, pid, text, *function = line.split("\t")
            if kind == "module":
                modules.add(text)
                continue
            called[Path(text)].update(function)
            if int(pid) == process.pid:
                parent.add(Path(text))
    return parent, called, modules


def package_of(file: Path) -> str:
    """Return the name of a file's folder below src/certus, two levels deep at most."""
    return "/".join(file.relative_to(PACKAGE).parts[:-1][:2]) or "."


def print_table(parent: Iterable[Path], files: Iterable[Path]) -> None:
    all_files = Counter(map(package_of, PACKAGE.rglob("*.py")))
    in_parent, in_all = Counter(map(package_of, parent)), Counter(map(package_of, files))
    print(f"\n{'package':<24}{'parent':>8}{'all':>8}{'of':>8}")
    for package in sorted(in_all):
        print(f"{package:<24}{in_parent[package]:>8}{in_all[package]:>8}{all_files[package]:>8}")
    print(f"{'total':<24}{in_parent.total():>8}{in_all.total():>8}{all_files.total():>8}")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("file", nargs="?", help="the program to verify")
    options.add_argument("--files", type=int, help="fail if the run passes through more files")
    options.add_argument("--modules", type=int, help="fail if the parent imports more modules of certus")
    options.add_argument(
        "--list", action="store_true", help="print each file with the number of functions called"
    )
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    arguments = options.parse_args(words[:end])
    with TemporaryDirectory() as scratch:
        file = Path(arguments.file or Path(scratch, "program.c"))
        if arguments.file is None:
            file.write_text(PROGRAM)
        parent, called, modules = trace(["verify", str(file), "--cores", "1", *words[end + 1 :]])
    print_table(parent, called)
    own_modules = {name for name in modules if name.partition(".")[0] == "certus"}
    print(f"the parent imports {len(own_modules)} modules of certus, {len(modules)} in all")
    if arguments.list:
        for file in sorted(called, key=lambda file: (len(called[file]), file)):
            print(f"{len(called[file]):4}  {file.relative_to(PACKAGE)}")
    too_many = arguments.files is not None and len(called) > arguments.files
    return 1 if too_many or (arguments.modules is not None and len(own_modules) > arguments.modules) else 0


if __name__ == "__main__":
    sys.exit(main())
