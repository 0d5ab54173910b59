"""Whether two branches of a oneOf exclude each other, as far as that is easily seen."""

from __future__ import annotations

from typing import Any

from specdesk.engine.grammar.schema_reading import KINDS, kind, target, types, values


def exclude(root: Any, one: Any, other: Any) -> bool:
    """Whether surely no value validates against both. For schemas without circles whose pieces were all read before."""
    one, other = _followed(root, one), _followed(root, other)
    if _differ(root, one, other):
        return True
    if not (_kinds(root, one) == _kinds(root, other) == {"object"} and isinstance(one, dict)):
        return False
    members, others = one.get("properties", {}), other.get("properties", {})
    return any(
        _differ(root, _followed(root, members[name]), _followed(root, others[name]))
        for name in one.get("required", [])
        if name in other.get("required", []) and name in members and name in others
    )


def _differ(root: Any, one: Any, other: Any) -> bool:
    """In their types, or in their constants."""
    if _kinds(root, one).isdisjoint(_kinds(root, other)):
        return True
    some, others = _constants(one), _constants(other)
    return some is not None and others is not None and some.isdisjoint(others)


def _followed(root: Any, schema: Any) -> Any:
    while isinstance(schema, dict) and ("$ref" in schema or "allOf" in schema):
        schema = target(root, schema["$ref"], "#") if "$ref" in schema else schema["allOf"][0]
    return schema


def _kinds(root: Any, schema: Any) -> frozenset[str]:
    """The types of what may validate; integers are numbers here."""
    schema = _followed(root, schema)
    if not isinstance(schema, dict):
        return frozenset(KINDS)
    if "const" in schema or "enum" in schema:
        return frozenset(kind(value) for value in values(schema, "#"))
    if "type" in schema:
        return frozenset("number" if name == "integer" else name for name in types(schema, "#"))
    branches = schema.get("anyOf", schema.get("oneOf"))
    return frozenset(KINDS) if branches is None else frozenset().union(*(_kinds(root, branch) for branch in branches))


def _constants(schema: Any) -> frozenset[tuple[str, Any]] | None:
    """The values of a const or an enum of scalars, comparable as JSON compares; None for any other schema."""
    if not isinstance(schema, dict) or not ("const" in schema or "enum" in schema):
        return None
    listed = values(schema, "#")
    if any(isinstance(value, dict | list) for value in listed):
        return None
    return frozenset((kind(value), value) for value in listed)
