"""Evidence in a directory, for others to keep and to check again (docs/evidence.md).

manifest.json     format, verdict, property, the source's name and SHA-256, the clauses
source.*          the program or the Horn clauses; with headers of the user's, the directory `source`
evidence.json     the proof or the trace; of Horn clauses the model or the derivation
clauses/*.smt2    each clause of the proof or the model, stand-alone: to be unsatisfiable
"""

from __future__ import annotations

import hashlib
import json
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
from certus.frontend.task_files import Question
from certus.pipeline.sources import flags_in, is_inside, save_sources
from certus.validate.horn import model_clauses
from certus.validate.proofs import clauses_of

FORMAT = 1
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
        "source": sources.source,
        "headers": sources.headers,
        "original": Path(subject.file).name,
        "sha256": digest(subject.source),
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
    wanted = {"format": int, "verdict": str, "property": str, "source": str, "sha256": str, "clauses": dict}
    for field, kind in wanted.items():
        if not isinstance(found.get(field), kind):
            raise unusable(directory, f"its manifest has no proper field {field!r}")
    if found["format"] != FORMAT:
        raise unusable(directory, f"its format is {found['format']}, and this version reads format {FORMAT}")
    headers = found.setdefault("headers", {})
    if not (isinstance(headers, dict) and all(isinstance(each, str) for each in headers.values())):
        raise unusable(directory, "its manifest has no proper field 'headers'")
    if not all(map(is_inside, (found["source"], *headers, *found["clauses"]))):
        raise unusable(directory, "its manifest names a file outside the directory")
    return found


def read_manifest_question(directory: Path, manifest: Mapping[str, Any]) -> tuple[Question, list[str]]:
    """What was asked about the saved source, and the arguments for Clang."""
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
    return Question(directory / manifest["source"], asked, model), flags


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


def unusable(directory: Path, why: str) -> InputError:
    hint = "write it anew with `certus verify FILE --evidence DIR`"
    return InputError([Diagnostic("bad-evidence", f"{directory} is no usable evidence: {why}", hint=hint)])
