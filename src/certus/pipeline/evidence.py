"""Evidence in a directory, for others to keep and to check again (docs/evidence.md).

manifest.json     format, verdict, property, names and SHA-256 of the sources, the clauses
source.*          the program or the Horn clauses; of a program in several files, or with headers of the
                  user's, the directory `source`
evidence.json     the proof or the trace; of Horn clauses the model or the derivation
clauses/*.smt2    each clause of the proof or the model, stand-alone: to be unsatisfiable
"""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from certus.core.budget import Budget
from certus.core.codec import decode_verdict, encode_verdict
from certus.core.diagnostic import Diagnostic
from certus.core.errors import InputError
from certus.core.evidence import Execution
from certus.core.horn import HornSystem, Model
from certus.core.outcome import Outcome
from certus.core.program import Program
from certus.core.smtlib import script
from certus.core.statistics import Statistics
from certus.core.verdict import Safe, Verdict
from certus.frontend.properties import Property
from certus.frontend.task_files import C_SUFFIXES, Question
from certus.pipeline.sources import flags_in, is_inside, save_sources, texts_of
from certus.validate.horn import model_clauses
from certus.validate.proofs import clauses_of

FORMAT = 2
_TOO_DEEP = "is nested more deeply than any evidence that Certus writes"


def save(directory: Path, outcome: Outcome, question: Question, arguments: Sequence[str] = ()) -> None:
    """Write the evidence of a checked answer; of UNKNOWN only the manifest. `arguments` were for Clang."""
    subject = outcome.subject
    directory.mkdir(parents=True, exist_ok=True)
    clauses = directory / "clauses"
    shutil.rmtree(clauses, ignore_errors=True)
    sources = save_sources(directory, subject, data_model=question.data_model, arguments=arguments)
    titles: dict[str, str] = {}
    for number, (title, text) in enumerate(clause_texts(subject, outcome.verdict), 1):
        clauses.mkdir(exist_ok=True)
        name = f"clauses/{number:04d}.smt2"
        titles[name] = title
        (directory / name).write_text(text, encoding="utf-8")
    manifest = {
        "format": FORMAT,
        "verdict": outcome.answer,
        "property": outcome.property_name,
        "error_function": question.property.function,
        "data_model": question.data_model,
        "clang_arguments": list(sources.arguments),
        "engine": outcome.engine,
        "sources": [
            {"file": name, "original": Path(file).name, "sha256": digest(text)}
            for name, (file, text) in zip(sources.files, texts_of(subject).items(), strict=True)
        ],
        "headers": sources.headers,
        "clauses": titles,
    }
    _write(directory / "evidence.json", encode_verdict(outcome.verdict))
    _write(directory / "manifest.json", manifest)


def clause_texts(subject: Program | HornSystem, verdict: Verdict) -> list[tuple[str, str]]:
    """Title and SMT-LIB text of every clause of a proof or a model."""
    if not isinstance(verdict, Safe) or isinstance(verdict.proof, Execution):
        return []
    if isinstance(subject, HornSystem):
        assert isinstance(verdict.proof, Model)
        clauses = model_clauses(subject, verdict.proof)
    else:
        clauses = clauses_of(subject, verdict.proof, Budget(), Statistics())
    return [(c.title, script(c.formulas, comment=f"{c.title}\nexpected: unsat")) for c in clauses]


def digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def read_manifest(directory: Path) -> dict[str, Any]:
    """The manifest, its fields checked; raises `InputError`."""
    found = read_json(directory / "manifest.json")
    version = found.get("format")
    if isinstance(version, int) and version != FORMAT:
        why = f"its format is {version}, and this version reads format {FORMAT}"
        raise unusable(directory, why, _run_again(directory, found) if version == 1 else None)
    wanted = {"format": int, "verdict": str, "property": str, "sources": list, "clauses": dict}
    for field, kind in wanted.items():
        if not isinstance(found.get(field), kind):
            raise unusable(directory, f"its manifest has no proper field {field!r}")
    sources = found["sources"]
    if not _are_sources(sources):
        raise unusable(directory, "its manifest has no proper field 'sources'")
    headers = found.setdefault("headers", {})
    if not (isinstance(headers, dict) and all(isinstance(each, str) for each in headers.values())):
        raise unusable(directory, "its manifest has no proper field 'headers'")
    if not all(map(is_inside, (*(each["file"] for each in sources), *headers, *found["clauses"]))):
        raise unusable(directory, "its manifest names a file outside the directory")
    return found


def _are_sources(entries: list[Any]) -> bool:
    """Whether these are the source, or the different files of a C program, with their digests."""
    fields = ("file", "sha256")
    if not all(isinstance(e, dict) and all(isinstance(e.get(f), str) for f in fields) for e in entries):
        return False
    files = [Path(entry["file"]) for entry in entries]
    if len(files) < 2:
        return bool(files)
    return len(set(files)) == len(files) and all(each.suffix.lower() in C_SUFFIXES for each in files)


def _run_again(directory: Path, manifest: Mapping[str, Any]) -> str | None:
    """The command that verifies again what the evidence of format 1 is about."""
    source, asked, model = (manifest.get(field) for field in ("source", "property", "data_model"))
    arguments = manifest.get("clang_arguments", [])
    if not isinstance(source, str) or not isinstance(asked, str) or not isinstance(arguments, list):
        return None
    flags = flags_in(directory, [each for each in arguments if isinstance(each, str)])
    words = ["certus", "verify", str(directory / source), "--property", asked, *(flags or ())]
    words += ["--data-model", model] if isinstance(model, str) else []
    return f"verify it again: `{shlex.join([*words, '--evidence', f'{directory}-{FORMAT}'])}`"


def read_manifest_question(directory: Path, manifest: Mapping[str, Any]) -> tuple[Question, list[str]]:
    """What was asked about the saved sources, and the arguments for Clang."""
    function, model = manifest.get("error_function"), manifest.get("data_model")
    arguments = manifest.get("clang_arguments", [])
    if not (
        isinstance(function, str | None)
        and isinstance(model, str | None)
        and isinstance(arguments, list)
        and all(isinstance(each, str) for each in arguments)
    ):
        raise unusable(directory, "its manifest does not say what was asked")
    flags = flags_in(directory, arguments)
    if flags is None:
        raise unusable(directory, "its manifest has flags for Clang other than -D, -U, -std and -I within it")
    asked = Property(manifest["property"], function)
    first, *others = (directory / each["file"] for each in manifest["sources"])
    return Question(first, asked, model, others=tuple(others)), flags


def read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise unusable(path.parent, f"{path.name} cannot be read: {error.strerror}") from None
    except ValueError:
        raise unusable(path.parent, f"{path.name} is no JSON") from None
    except RecursionError:
        raise unusable(path.parent, f"{path.name} {_TOO_DEEP}") from None
    if not isinstance(found, dict):
        raise unusable(path.parent, f"{path.name} is no JSON object")
    return found


def read_verdict(directory: Path, subject: Program | HornSystem) -> Verdict:
    try:
        return decode_verdict(read_json(directory / "evidence.json"), subject)
    except ValueError as error:
        what = "the program" if isinstance(subject, Program) else "the clauses"
        raise unusable(directory, f"evidence.json does not fit {what}: {error}") from None
    except RecursionError:
        raise unusable(directory, f"evidence.json {_TOO_DEEP}") from None


def unusable(directory: Path, why: str, hint: str | None = None) -> InputError:
    hint = hint or "write it anew with `certus verify FILE --evidence DIR`"
    return InputError([Diagnostic("bad-evidence", f"{directory} is no usable evidence: {why}", hint=hint)])
