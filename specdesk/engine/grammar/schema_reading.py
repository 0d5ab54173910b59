"""The pieces of a JSON schema, read strictly: each is well formed, or refused with its place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn
from urllib.parse import unquote

from specdesk.engine.grammar.json_rules import MOST_REPEATED
from specdesk.errors import UsageError

ANNOTATIONS = frozenset(
    {"$comment", "$defs", "$id", "$schema", "default", "definitions", "deprecated", "description", "discriminator"}
    | {"example", "examples", "readOnly", "title", "writeOnly"}
)
"""Keywords that assert nothing. So do those that begin with `x-`."""

KINDS = ("array", "boolean", "null", "number", "object", "string")
"""The types of JSON. For a schema, integer is one more."""

UNANSWERABLE = "nothing could be answered"


def refuse(what: str, path: str, hint: str) -> NoReturn:
    """Raise the UsageError for `what` at the place `path`."""
    raise UsageError(f"the JSON schema cannot be enforced: {what} at {path}", hint)


def parsed(text: str) -> Any:
    """A schema from its text: an object or a boolean."""
    try:
        schema = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"the JSON schema is not JSON: {error}", "a schema is a JSON object") from None
    except ValueError as error:
        raise UsageError(f"the JSON schema cannot be read: {error}") from None
    if not isinstance(schema, dict | bool):
        raise UsageError(f"the JSON schema is of type {kind(schema)}", "a schema is a JSON object")
    return schema


def asserted(schema: Any, path: str) -> frozenset[str]:
    """The keywords that assert something; none for the schema true. The schema false is refused."""
    if schema is False:
        refuse("false, against which nothing validates,", path, UNANSWERABLE)
    if schema is True:
        return frozenset()
    if not isinstance(schema, dict):
        refuse(f"a schema of type {kind(schema)}", path, "a schema is an object")
    if "$id" in schema and path != "#":
        refuse("$id", path, "leave it out: references are relative to the root")
    return frozenset(key for key in schema if key not in ANNOTATIONS and not key.startswith("x-"))


def properties(schema: Mapping[str, Any], path: str) -> dict[str, tuple[Any, str]]:
    """An object's members in order: schemas and their places. The required ones that are not listed are among them."""
    listed = schema.get("properties", {})
    required = schema.get("required", [])
    if not isinstance(listed, dict):
        refuse(f"properties of type {kind(listed)}", path, "it maps names to schemas")
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        refuse(f"required {required!r}", path, "it lists names")
    members = {name: (value, f"{path}/properties/{_escaped(name)}") for name, value in listed.items()}
    for name in required:
        members.setdefault(name, (schema.get("additionalProperties", True), f"{path}/additionalProperties"))
    return {name: (value, at) for name, (value, at) in members.items() if value is not False or name in required}


def types(schema: Mapping[str, Any], path: str) -> list[str]:
    """The names in `type`."""
    names: list[str] = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    for name in names:
        if name not in (*KINDS, "integer"):
            refuse(f"type {name!r}", path, f"types are: {', '.join((*KINDS, 'integer'))}")
    if not names:
        refuse("an empty type", path, UNANSWERABLE)
    return names


def branches(schema: Mapping[str, Any], keyword: str, path: str) -> list[tuple[Any, str]]:
    """The schemas listed at `keyword` and their places, without those against which nothing validates."""
    listed = schema[keyword]
    if not isinstance(listed, list):
        refuse(f"{keyword} of type {kind(listed)}", path, "it lists schemas")
    if keyword == "allOf" and any(branch is False for branch in listed):
        refuse("false, against which nothing validates,", f"{path}/allOf", UNANSWERABLE)
    some = [(branch, f"{path}/{keyword}/{i}") for i, branch in enumerate(listed) if branch is not False]
    if not some:
        refuse(f"{keyword} without a branch", path, UNANSWERABLE)
    return some


def values(schema: Mapping[str, Any], path: str) -> list[Any]:
    """The values of `const` or `enum` that are of the type the schema names, if it does."""
    listed = schema["enum"] if "enum" in schema else [schema["const"]]
    if not isinstance(listed, list):
        refuse(f"enum of type {kind(listed)}", path, "it lists values")
    names = types(schema, path) if "type" in schema else list(KINDS)
    fitting = [value for value in listed if any(is_of(value, name) for name in names)]
    if not fitting:
        refuse("a list of values none of which validates", path, UNANSWERABLE)
    return fitting


def counts(schema: Mapping[str, Any], least: str, most: str, path: str) -> tuple[int, int | None]:
    """A minimum and a maximum that count something."""
    for keyword in (least, most):
        value = schema.get(keyword, 0)
        if not is_of(value, "integer") or not 0 <= value <= MOST_REPEATED:
            refuse(f"{keyword} {value!r}", path, f"possible are 0 to {MOST_REPEATED}")
    low, high = int(schema.get(least, 0)), int(schema[most]) if most in schema else None
    if high is not None and low > high:
        refuse(f"{least} above {most}", path, UNANSWERABLE)
    return low, high


def integer_range(schema: Mapping[str, Any], path: str) -> tuple[int | None, int | None]:
    """The smallest and the largest integer allowed; None for no limit."""
    limits: list[list[int]] = []
    for inclusive, exclusive, step in (("minimum", "exclusiveMinimum", 1), ("maximum", "exclusiveMaximum", -1)):
        limits.append([])
        for keyword, shift in ((inclusive, 0), (exclusive, step)):
            if keyword in schema:
                if not is_of(schema[keyword], "integer"):
                    refuse(f"{keyword} {schema[keyword]!r}", path, "bounds of an integer are integers")
                limits[-1].append(int(schema[keyword]) + shift)
    return max(limits[0], default=None), min(limits[1], default=None)


def target(root: Any, pointer: Any, path: str) -> Any:
    """What a `$ref` leads to. Nothing outside the schema is ever fetched."""
    if not isinstance(pointer, str) or not (pointer == "#" or pointer.startswith("#/")):
        refuse(f"$ref {pointer!r}", path, "references into the schema itself, #/..., are followed, no others")
    found = root
    for step in unquote(pointer).split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and key in found:
            found = found[key]
        elif isinstance(found, list) and key in map(str, range(len(found))):
            found = found[int(key)]
        else:
            refuse(f"$ref {pointer!r}", path, f"it leads nowhere: there is no {key!r}")
    return found


def kind(value: Any) -> str:
    """The type of JSON of a parsed value."""
    return next(name for name in KINDS if is_of(value, name))


def is_of(value: Any, name: str) -> bool:
    """Whether a parsed value is of the type `name` of JSON Schema."""
    match name:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "integer":
            return is_of(value, "number") and value % 1 == 0
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, list)
        case _:
            return isinstance(value, dict)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
