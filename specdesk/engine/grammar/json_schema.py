"""JSON Schema to llama.cpp's grammar notation: every text of the grammar validates, or the schema is refused.

llama-cpp-python has a converter too. It is not used: it passes over keywords it does not know, and some of what it
writes is no JSON or does not validate (line breaks inside strings, quotes unescaped in constants, a comma missing
before additional members, two definitions of one name taken for each other). Here a keyword is enforced, or is an
annotation, or ends the translation with its name and its place.

The texts are a part of what a schema allows, chosen to be short and to leave few choices: members come in the order in
which the schema lists them, white space is one blank after `:` and `,`, and an object with properties has no others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from typing import Any

from specdesk.engine.grammar.gbnf import may_end
from specdesk.engine.grammar.json_rules import FORMATS, RULES, json_text, literal, repeated
from specdesk.engine.grammar.schema_overlap import exclude
from specdesk.engine.grammar.schema_reading import (
    UNANSWERABLE,
    asserted,
    branches,
    counts,
    integer_range,
    kind,
    parsed,
    properties,
    refuse,
    target,
    types,
    values,
)
from specdesk.errors import UsageError

_MOST_LISTED = 1000
"""Integers of a range, each of which becomes an alternative."""

_OF_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_OF_TYPE = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "prefixItems", "minItems", "maxItems", "uniqueItems"}),
    "string": frozenset({"minLength", "maxLength", "format"}),
    "number": _OF_NUMBERS,
    "integer": _OF_NUMBERS,
    "boolean": frozenset(),
    "null": frozenset(),
}
"""The keywords that say something about values of one type only, and nothing about others."""


def gbnf_of_schema(text: str) -> str:
    """A grammar with the rule `root` whose every text is JSON that validates against the schema `text`.

    `oneOf` is accepted where no value can satisfy two of its branches: they differ in type, in constants, or in a
    property that both require. Nothing is ever fetched: `$ref` must point into the schema.

    Raises: UsageError, naming keyword and place, for what the grammar could not enforce and for what is no schema.
    """
    try:
        return _Translation(parsed(text)).grammar()
    except RecursionError:
        raise UsageError("the JSON schema is nested too deeply", "make it flatter") from None


class _Translation:
    """One schema on its way: a rule for each subschema, equal rules once."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._names: dict[str, str] = {}
        """Rules: names by body."""
        self._refs: dict[str, str] = {}
        """Bodies of the rules for schemas that `$ref` names, by name."""
        self._ref_names: dict[str, str] = {}
        """Their names, by pointer."""
        self._leads: dict[str, set[str]] = {}
        """Pointers that the schema at a pointer refers to before a character is written."""
        self._one_ofs: list[tuple[Any, Any, str]] = []
        """Pairs that have to exclude each other, and their place."""

    def grammar(self) -> str:
        rules = {"root": self._value(self._root, "#", "#")}
        self._check_circles()
        for one, other, path in self._one_ofs:
            if not exclude(self._root, one, other):
                refuse("oneOf with branches that one value may satisfy together", path, "use anyOf instead")
        rules |= {name: body for body, name in self._names.items()} | self._refs | RULES
        gbnf = "".join(f"{name} ::= {body}\n" for name, body in rules.items())
        if not may_end(gbnf):
            refuse("a value that holds itself without end", "#", "make the member optional, or let it be null")
        return gbnf

    def _rule(self, body: str) -> str:
        return self._names.setdefault(body, f"r{len(self._names)}")

    def _union(self, rules: Sequence[str]) -> str:
        different = list(dict.fromkeys(rules))
        return different[0] if len(different) == 1 else self._rule(" | ".join(different))

    def _value(self, schema: Any, path: str, owner: str = "") -> str:
        """The name of a subschema's rule. `owner`: the pointer whose schema it stands for, if it does."""
        words = asserted(schema, path)
        forms: dict[str, Callable[[], str]] = {
            "$ref": lambda: self._ref(schema["$ref"], path, owner),
            "const": lambda: self._listed(values(schema, path), path),
            "enum": lambda: self._listed(values(schema, path), path),
            "anyOf": lambda: self._any_of(branches(schema, "anyOf", path), owner),
            "oneOf": lambda: self._one_of(branches(schema, "oneOf", path), path, owner),
            "allOf": lambda: self._all_of(branches(schema, "allOf", path), path, owner),
        }
        for keyword, translate in forms.items():
            if keyword in words:
                companions = {"type"} if keyword in ("const", "enum") else set()
                for other in sorted(words - companions - {keyword}):
                    refuse(f"{other} beside {keyword}", path, f"move it into what {keyword} holds, or leave it out")
                return translate()
        return self._typed(schema, words, path) if words else "value"

    def _ref(self, pointer: Any, path: str, owner: str) -> str:
        schema = target(self._root, pointer, path)
        if owner:
            self._leads.setdefault(owner, set()).add(pointer)
        name = self._ref_names.get(pointer)
        if name is None:
            # Named before it is read: it may refer to itself.
            name = self._ref_names[pointer] = f"ref{len(self._ref_names)}"
            self._refs[name] = self._value(schema, pointer, pointer)
        return name

    def _check_circles(self) -> None:
        try:
            TopologicalSorter(self._leads).prepare()
        except CycleError as error:
            pointer = error.args[1][0]
            refuse(f"$ref {pointer!r}, which leads back to itself,", pointer, "end the circle")

    def _listed(self, listed: Sequence[Any], path: str) -> str:
        return self._rule(" | ".join(dict.fromkeys(literal(_json(value, path)) for value in listed)))

    def _any_of(self, parts: Sequence[tuple[Any, str]], owner: str) -> str:
        return self._union([self._value(part, at, owner) for part, at in parts])

    def _one_of(self, parts: Sequence[tuple[Any, str]], path: str, owner: str) -> str:
        self._one_ofs += [(one, other, path) for (one, _), (other, _) in combinations(parts, 2)]
        return self._any_of(parts, owner)

    def _all_of(self, parts: Sequence[tuple[Any, str]], path: str, owner: str) -> str:
        if len(parts) > 1:
            refuse("allOf of several schemas", path, "write them as one")
        return self._value(*parts[0], owner)

    def _typed(self, schema: Mapping[str, Any], words: frozenset[str], path: str) -> str:
        for keyword in sorted(words - {"type"}.union(*_OF_TYPE.values())):
            refuse(keyword, path, "leave it out, and check the answer for it afterwards")
        makers = {
            "object": self._object,
            "array": self._array,
            "string": self._string,
            "number": _number,
            "integer": self._integer,
        }
        # Without a type all others would validate too; one of those that are spoken of is enough.
        implied = [name for name, of_type in _OF_TYPE.items() if of_type & words and name != "integer"]
        names = types(schema, path) if "type" in schema else implied
        return self._union([makers[name](schema, path) if name in makers else name for name in names])

    def _object(self, schema: Mapping[str, Any], path: str) -> str:
        members = properties(schema, path)
        extra, at = schema.get("additionalProperties", True), f"{path}/additionalProperties"
        any_extra = extra is not False and not asserted(extra, at)
        if members:
            if extra is not False and not any_extra:
                refuse("a schema in additionalProperties beside properties", path, "leave one of the two out")
            return self._members(members, schema.get("required", []))
        if extra is False:
            return self._rule('"{}"')
        if any_extra:
            return "object"
        member = self._rule(f'string ": " {self._value(extra, at)}')
        return self._rule(f'"{{" ({member} (", " {member})*)? "}}"')

    def _members(self, members: Mapping[str, tuple[Any, str]], required: Sequence[str]) -> str:
        """The members in order, those not required left out or not, a comma between any two that are written."""
        rest = ""
        starts = [""] if not any(name in required for name in members) else []
        for name, (schema, path) in reversed(list(members.items())):
            member = self._rule(f"{literal(_json(name, path) + ': ')} {self._value(schema, path)}")
            if name in required:
                starts.clear()
            starts.insert(0, f"{member} {rest}".strip())
            rest = self._rule(f'", " {member} {rest}' if name in required else f'(", " {member})? {rest}')
        return self._rule(f'"{{" ({" | ".join(starts)}) "}}"')

    def _array(self, schema: Mapping[str, Any], path: str) -> str:
        least, most = counts(schema, "minItems", "maxItems", path)
        if schema.get("uniqueItems", False) is not False and (most is None or most > 1):
            refuse("uniqueItems", path, "leave it out, and check the answer for it afterwards")
        items = schema.get("items", True)
        if isinstance(items, list):
            refuse("a list in items", path, "call it prefixItems")
        if "prefixItems" in schema:
            return self._tuple(schema, (least, most), path)
        if items is False or most == 0:
            if least:
                refuse("minItems of an array that has no items", path, UNANSWERABLE)
            return self._rule('"[]"')
        item = self._value(items, f"{path}/items")
        more = repeated(max(least - 1, 0), None if most is None else most - 1)
        some = f'{item} (", " {item}){more}'
        return self._rule(f'"[" {some} "]"' if least else f'"[" ({some})? "]"')

    def _tuple(self, schema: Mapping[str, Any], count: tuple[int, int | None], path: str) -> str:
        """All items that prefixItems lists, and none behind them."""
        listed, more = schema["prefixItems"], schema.get("items", False)
        if "2020-12" not in str(self._root.get("$schema", "2020-12")):
            refuse("prefixItems in a draft before 2020-12", path, "name that draft in $schema")
        if not isinstance(listed, list):
            refuse(f"prefixItems of type {kind(listed)}", path, "it lists schemas")
        if more is not False and asserted(more, f"{path}/items"):
            refuse("items beside prefixItems", path, "leave it out, or make it false")
        least, most = count
        if least > len(listed) or (most is not None and most < len(listed)):
            refuse(f"minItems or maxItems beside {len(listed)} prefixItems", path, "leave them out")
        rules = [self._value(item, f"{path}/prefixItems/{i}") for i, item in enumerate(listed)]
        return self._rule('"[" ' + ' ", " '.join(rules) + ' "]"')

    def _string(self, schema: Mapping[str, Any], path: str) -> str:
        least, most = counts(schema, "minLength", "maxLength", path)
        if "format" not in schema:
            return "string" if (least, most) == (0, None) else self._rule(rf'"\"" char{repeated(least, most)} "\""')
        if (least, most) != (0, None):
            refuse("a length beside format", path, "leave one of the two out")
        if schema["format"] not in list(FORMATS):
            refuse(f"format {schema['format']!r}", path, f"enforced are: {', '.join(FORMATS)}")
        return self._rule(rf'"\"" {FORMATS[schema["format"]]} "\""')

    def _integer(self, schema: Mapping[str, Any], path: str) -> str:
        low, high = integer_range(schema, path)
        if high is None and low in (None, 0, 1):
            return {None: "integer", 0: "natural", 1: "counting"}[low]
        if low is None or high is None or high - low >= _MOST_LISTED:
            bounds = " and ".join(sorted(_OF_NUMBERS & schema.keys()))
            refuse(bounds, path, f"possible are: minimum 0 or 1 alone, or a range of up to {_MOST_LISTED} integers")
        if low > high:
            refuse("a minimum above the maximum", path, UNANSWERABLE)
        return self._rule(" | ".join(f'"{value}"' for value in range(low, high + 1)))


def _number(schema: Mapping[str, Any], path: str) -> str:
    for keyword in sorted(_OF_NUMBERS & schema.keys()):
        if keyword != "minimum" or schema[keyword] is False or schema[keyword] != 0:
            refuse(f"{keyword} of a number", path, "possible is: minimum 0; or the type integer")
    return "positive" if "minimum" in schema else "number"


def _json(value: object, path: str) -> str:
    try:
        return json_text(value)
    except ValueError:
        refuse("a value that no JSON text has", path, "infinities and halves of surrogate pairs have none")
