"""Save evidence in a directory, to be kept and to be checked again (docs/evidence.md).

manifest.json     format, verdict, property, names and SHA-256 of the sources, the clauses
source.*          the program or the Horn clauses; the directory `source` for a program in several files, or
                  with headers of the user
evidence.json     the proof or the trace; for Horn clauses the model or the derivation
clauses/*.smt2    each clause of the proof or the model, as a script that must be unsatisfiable

The answers to the default question are saved in a directory for each kind of checks, and manifest.json lists
these directories.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from certus.codec.outcomes import decode_verdict, encode_verdict
from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import WRITABLE, Diagnostic
from certus.core.errors import InputError
from certus.core.evidence import Execution, Safe, Verdict
from certus.core.horn import HornSystem, Model
from certus.core.outcome import Outcome
from certus.core.program import Program
from certus.core.vocabulary import KINDS, Property, property_of_kinds
from certus.frontend import C_SUFFIXES, Question
from certus.run.settings import Settings
from certus.run.sources import flags_in, is_inside, save_sources, texts_of
from certus.system.child import Reporter, run_limited

FORMAT = 2
KINDS_FORMAT = 3  # of evidence about kinds of checks
_TOO_DEEP = "is nested more deeply than any evidence that Certus writes"


def saved(outcome: Outcome, question: Question, settings: Settings) -> Outcome:
    """Save the evidence of an outcome in the directory that the settings name, if they name one. Return the
    outcome, with a diagnostic if that failed."""
    directory = settings.evidence
    if directory is None:
        return outcome

    def work(_: Reporter) -> bytes:
        save(directory, outcome, question, settings.clang_arguments)
        return b""

    result = run_limited(work, seconds=None, memory=settings.memory)
    if result.kind == "done":
        return outcome
    message = f"the evidence was not saved: {result.detail}"
    failure = Diagnostic("evidence-not-saved", message, hint=WRITABLE)
    return replace(outcome, diagnostics=(*outcome.diagnostics, failure))


def save(directory: Path, outcome: Outcome, question: Question, arguments: Sequence[str] = ()) -> None:
    """Write the evidence of a checked answer, or only the manifest of UNKNOWN. `arguments` were for Clang."""
    if outcome.answers:
        directory.mkdir(parents=True, exist_ok=True)
        for each in outcome.answers:
            save(directory / each.kind, each, question, arguments)
        said = {each.kind: each.answer for each in outcome.answers}
        _write(directory / "manifest.json", {"format": KINDS_FORMAT, "answers": said})
        return
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
        "format": KINDS_FORMAT if outcome.kind else FORMAT,
        **({"kind": outcome.kind, "kinds": list(outcome.kinds)} if outcome.kind else {}),
        "verdict": outcome.answer,
        "property": outcome.property_name,
        "error_function": question.property.function,
        "data_model": question.data_model,
        "clang_arguments": list(sources.arguments),
        **({"malloc_may_fail": True} if question.malloc_may_fail else {}),
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
    """Return the title and the SMT-LIB text of every clause of a proof or a model."""
    from certus.check.proofs.check import clauses_of
    from certus.check.proofs.horn import model_clauses
    from certus.codec.smtlib import script

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
    """Return the manifest with its fields checked. Raises `InputError`."""
    manifest = read_json(directory / "manifest.json")
    version = manifest.get("format")
    if isinstance(version, int) and version not in (FORMAT, KINDS_FORMAT):
        why = f"its format is {version}, and this version reads the formats {FORMAT} and {KINDS_FORMAT}"
        raise unusable(directory, why, _run_again(directory, manifest) if version == 1 else None)
    if "answers" in manifest:
        raise unusable(directory, "it has answers in a directory of answers")
    wanted = {"format": int, "verdict": str, "property": str, "sources": list, "clauses": dict}
    for field, kind in wanted.items():
        if not isinstance(manifest.get(field), kind):
            raise unusable(directory, f"its manifest has no proper field {field!r}")
    sources = manifest["sources"]
    if not _are_sources(sources):
        raise unusable(directory, "its manifest has no proper field 'sources'")
    headers = manifest.setdefault("headers", {})
    if not (isinstance(headers, dict) and all(isinstance(each, str) for each in headers.values())):
        raise unusable(directory, "its manifest has no proper field 'headers'")
    if not all(map(is_inside, (*(each["file"] for each in sources), *headers, *manifest["clauses"]))):
        raise unusable(directory, "its manifest names a file outside the directory")
    return manifest


def _are_sources(entries: list[Any]) -> bool:
    """Return whether the entries are the source, or the different files of a C program, with their
    digests."""
    fields = ("file", "sha256")
    if not all(isinstance(e, dict) and all(isinstance(e.get(f), str) for f in fields) for e in entries):
        return False
    files = [Path(entry["file"]) for entry in entries]
    if len(files) < 2:
        return bool(files)
    return len(set(files)) == len(files) and all(each.suffix.lower() in C_SUFFIXES for each in files)


def _run_again(directory: Path, manifest: Mapping[str, Any]) -> str | None:
    """Return the command that verifies the source of evidence of format 1 again."""
    source, asked, model = (manifest.get(field) for field in ("source", "property", "data_model"))
    arguments = manifest.get("clang_arguments", [])
    if not isinstance(source, str) or not isinstance(asked, str) or not isinstance(arguments, list):
        return None
    flags = flags_in(directory, [each for each in arguments if isinstance(each, str)])
    words = ["certus", "verify", str(directory / source), "--property", asked, *(flags or ())]
    words += ["--data-model", model] if isinstance(model, str) else []
    return f"verify it again: `{shlex.join([*words, '--evidence', f'{directory}-{FORMAT}'])}`"


def read_manifest_question(directory: Path, manifest: Mapping[str, Any]) -> tuple[Question, list[str]]:
    """Return the question about the saved sources, and the arguments for Clang."""
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
    asked = _property(directory, manifest, function)
    first, *others = (directory / each["file"] for each in manifest["sources"])
    may_fail = manifest.get("malloc_may_fail") is True
    return Question(first, asked, model, others=tuple(others), malloc_may_fail=may_fail), flags


def _property(directory: Path, manifest: Mapping[str, Any], function: str | None) -> Property:
    """Return the property of a manifest, or the kinds of checks."""
    kind, kinds = manifest.get("kind", ""), manifest.get("kinds", [])
    if not kind and not kinds:
        return Property(manifest["property"], function)
    if not isinstance(kinds, list) or kind not in kinds or not all(each in KINDS for each in kinds):
        raise unusable(directory, "its manifest does not say what was asked")
    return property_of_kinds(kinds)


def read_answers(directory: Path) -> list[str]:
    """Return the kinds of checks that a directory has answers about; none if it is evidence of one property.
    Raises `InputError`."""
    answers = read_json(directory / "manifest.json").get("answers", {})
    if not isinstance(answers, dict) or not all(each in KINDS for each in answers):
        raise unusable(directory, "its manifest has no proper field 'answers'")
    return [kind for kind in KINDS if kind in answers]


def read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise unusable(path.parent, f"{path.name} cannot be read: {error.strerror}") from None
    except ValueError:
        raise unusable(path.parent, f"{path.name} is no JSON") from None
    except RecursionError:
        raise unusable(path.parent, f"{path.name} {_TOO_DEEP}") from None
    if not isinstance(data, dict):
        raise unusable(path.parent, f"{path.name} is no JSON object")
    return data


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
