"""Check that a SARIF log has the form of the standard.

The object model `sarif_om` was generated from the JSON schema of the standard: it knows the properties of
every object and which of them are required. What these consist of is written down here, for the properties
that Certus writes. Where `CERTUS_SARIF_SCHEMA` names the schema itself (`scripts/sarif_schema.py` brings it),
a log is compared with that as well."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import attr
import jsonschema
import sarif_om as om

SCHEMA = os.environ.get("CERTUS_SARIF_SCHEMA")
Form = (
    Any  # a class of the model, a Python type, a set of words, [form] for a list, {"": form} for a dictionary
)

_TEXT, _LEVEL = om.Message, {"none", "note", "warning", "error"}
_FORMS: dict[type, dict[str, Form]] = {
    om.SarifLog: {"$schema": str, "version": {"2.1.0"}, "runs": [om.Run]},
    om.Run: {
        "tool": om.Tool,
        "columnKind": {"utf16CodeUnits", "unicodeCodePoints"},
        "originalUriBaseIds": {"": om.ArtifactLocation},
        "artifacts": [om.Artifact],
        "invocations": [om.Invocation],
        "results": [om.Result],
        "properties": dict,
        "taxonomies": [om.ToolComponent],
    },
    om.Tool: {"driver": om.ToolComponent},
    om.ToolComponent: {
        "name": str,
        "version": str,
        "semanticVersion": str,
        "rules": [om.ReportingDescriptor],
        "notifications": [om.ReportingDescriptor],
        "shortDescription": om.MultiformatMessageString,
        "informationUri": str,
        "taxa": [om.ReportingDescriptor],
    },
    om.ReportingDescriptor: {
        "id": str,
        "helpUri": str,
        "name": str,
        "shortDescription": om.MultiformatMessageString,
        "fullDescription": om.MultiformatMessageString,
        "help": om.MultiformatMessageString,
        "defaultConfiguration": om.ReportingConfiguration,
        "properties": dict,
    },
    om.ReportingConfiguration: {"level": _LEVEL},
    om.MultiformatMessageString: {"text": str},
    om.Message: {"text": str},
    om.ArtifactLocation: {"uri": str, "uriBaseId": str, "description": _TEXT},
    om.Artifact: {"location": om.ArtifactLocation, "roles": [{"analysisTarget"}]},
    om.Invocation: {
        "executionSuccessful": bool,
        "exitCode": int,
        "exitCodeDescription": str,
        "toolExecutionNotifications": [om.Notification],
        "toolConfigurationNotifications": [om.Notification],
    },
    om.Notification: {
        "descriptor": om.ReportingDescriptorReference,
        "level": _LEVEL,
        "message": _TEXT,
        "locations": [om.Location],
    },
    om.ReportingDescriptorReference: {"id": str, "toolComponent": om.ToolComponentReference},
    om.ToolComponentReference: {"name": str},
    om.Result: {
        "ruleId": str,
        "ruleIndex": int,
        "kind": {"fail", "pass", "open", "review", "informational", "notApplicable"},
        "level": _LEVEL,
        "message": _TEXT,
        "locations": [om.Location],
        "codeFlows": [om.CodeFlow],
        "stacks": [om.Stack],
        "partialFingerprints": {"": str},
        "taxa": [om.ReportingDescriptorReference],
        "relatedLocations": [om.Location],
    },
    om.Location: {
        "id": int,
        "message": _TEXT,
        "physicalLocation": om.PhysicalLocation,
        "logicalLocations": [om.LogicalLocation],
    },
    om.LogicalLocation: {"name": str, "kind": {"function"}},
    om.PhysicalLocation: {"artifactLocation": om.ArtifactLocation, "region": om.Region},
    om.Region: dict.fromkeys(("startLine", "startColumn", "endLine", "endColumn"), int),
    om.CodeFlow: {"threadFlows": [om.ThreadFlow]},
    om.ThreadFlow: {
        "locations": [om.ThreadFlowLocation],
        "initialState": {"": om.MultiformatMessageString},
    },
    om.ThreadFlowLocation: {
        "location": om.Location,
        "nestingLevel": int,
        "executionOrder": int,
        "importance": {"important", "essential", "unimportant"},
        "kinds": [str],
        "state": {"": om.MultiformatMessageString},
    },
    om.Stack: {"message": _TEXT, "frames": [om.StackFrame]},
    om.StackFrame: {"location": om.Location},
}


def faults(log: Any) -> list[str]:
    """What is wrong with a log, each with its place."""
    return [*form_faults(log), *schema_faults(log)]


def schema_faults(log: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in _schema().iter_errors(log)]


def form_faults(log: Any) -> list[str]:
    found: list[str] = []
    work: list[tuple[str, Any, Form]] = [("", log, om.SarifLog)]
    while work:
        place, value, form = work.pop()
        if isinstance(form, list):
            if isinstance(value, list):
                work += [(f"{place}/{n}", each, form[0]) for n, each in enumerate(value)]
            else:
                found.append(f"{place} is no list")
        elif isinstance(form, dict):
            work += [(f"{place}/{name}", each, form[""]) for name, each in value.items()]
        elif isinstance(form, set):
            found += [] if value in form else [f"{place} is {value!r}"]
        elif form in _FORMS:
            found += _object_faults(place, value, form)
            work += [
                (f"{place}/{name}", each, _FORMS[form].get(name, object)) for name, each in value.items()
            ]
        elif not isinstance(value, form) or (form is int and (isinstance(value, bool) or value < 0)):
            found.append(f"{place} is {value!r}")
    return found


@cache
def _schema() -> Any:
    """The official schema, or one that everything conforms to."""
    schema = json.loads(Path(SCHEMA).read_text()) if SCHEMA else {}
    return jsonschema.validators.validator_for(schema)(schema)


def _object_faults(place: str, value: dict[str, Any], form: type) -> list[str]:
    """Properties that the standard does not know, that it requires, and that are not looked into here."""
    fields = {field.metadata["schema_property_name"]: field for field in attr.fields(form)}
    required = [name for name, field in fields.items() if field.default is attr.NOTHING]
    return [
        *(f"{place} has a property {name!r}" for name in value if name not in fields),
        *(f"{place} lacks {name!r}" for name in required if name not in value),
        *(f"{place}/{name} is not looked into" for name in value if name not in _FORMS[form]),
    ]
