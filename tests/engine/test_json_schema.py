"""Every text of a schema's grammar validates, judged by another library; what a grammar cannot hold is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import jsonschema
import numpy as np
import pytest

from specdesk.engine.grammar import json_rules
from specdesk.engine.grammar.json_schema import gbnf_of_schema
from specdesk.engine.grammar.native import Grammar
from specdesk.engine.vocabulary import LlamaVocabulary
from specdesk.errors import UsageError
from tests.engine.conftest import OpenLM
from tests.engine.grammars import OpenGrammar, accepts, random_answer
from tests.tiny.gguf_models import TinyPair

PERSON: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "https://example.org/person",
    "title": "Person",
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "in full", "minLength": 1},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
        "email": {"type": ["string", "null"], "default": None},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3, "uniqueItems": False},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
SHAPES: dict[str, Any] = {
    "$defs": {
        name: {
            "type": "object",
            "properties": {"kind": {"const": name}, side: {"type": "number"}},
            "required": ["kind", side],
        }
        for name, side in (("circle", "r"), ("square", "a"))
    },
    "oneOf": [{"$ref": "#/$defs/circle", "description": "round"}, {"allOf": [{"$ref": "#/$defs/square"}]}],
}
TREE = {
    "$ref": "#/$defs/tree",
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 2},
            },
            "required": ["value"],
        }
    },
}

ENFORCED: dict[str, Any] = {
    "person": PERSON,
    "shapes": SHAPES,
    "tree": TREE,
    "anything": {},
    "true": True,
    "any object": {"type": "object"},
    "every type": {"type": ["array", "boolean", "integer", "null", "number", "object", "string"]},
    "lengths": {"type": "string", "minLength": 3, "maxLength": 5},
    "no characters": {"type": "string", "maxLength": 0},
    "counts": {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 4},
    "one item": {"items": {"type": "null"}, "minItems": 1, "maxItems": 1},
    "at most one item": {"items": {"type": "null"}, "maxItems": 1, "uniqueItems": True},
    "at least two items": {"type": "array", "minItems": 2},
    "no items": {"type": "array", "items": False},
    "tuple": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False, "minItems": 2},
    "strings": {"enum": ['a"b', "back\\slash", "line\nbreak", "🚀 é", "\u007f", "]"]},
    "constants": {"enum": [1.5, -0.0, 10**20, None, {"k": [1]}, ["}"]]},
    "constant": {"const": {"nested": ["x", {"y": None}]}},
    "constants of a type": {"enum": [1, "one", 2.0, True], "type": "integer"},
    "odd names": {
        "properties": {name: {"type": "null"} for name in ('a"b', "a\\", "a/b~", "é", "", "root", "string", "a\nb")},
        "required": ['a"b', "root"],
    },
    "all optional": {"properties": {name: {"type": "boolean"} for name in "abcde"}},
    "some required": {"properties": {name: {"type": "boolean"} for name in "abcde"}, "required": ["b", "d"]},
    "required, not listed": {"properties": {"a": {"type": "null"}}, "required": ["b"]},
    "map": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}},
    "open object": {"properties": {"a": {"type": "integer"}}, "additionalProperties": True},
    "empty object": {"type": "object", "additionalProperties": False},
    "forbidden member": {"properties": {"a": False, "b": {"type": "null"}}, "required": ["b"]},
    "union": {"anyOf": [{"type": "integer"}, {"type": "string", "format": "date"}, False, {"type": "null"}]},
    "one of types": {"oneOf": [{"type": "integer"}, {"type": "string"}, {"enum": [None, True]}]},
    "one of constants": {"oneOf": [{"const": 1}, {"enum": ["1", 2, True]}]},
    "names that collide": {
        "$defs": {"x": {"a": {"type": "null"}}, "y": {"a": {"type": "boolean"}}, "string": {"type": "integer"}},
        "properties": {
            "p": {"$ref": "#/$defs/x/a"},
            "q": {"$ref": "#/$defs/y/a"},
            "r": {"$ref": "#/$defs/string"},
            "s": {"type": "string"},
        },
        "required": ["p", "q", "r", "s"],
    },
    "escaped pointer": {"$defs": {"a/b~ %": {"const": 1}}, "$ref": "#/$defs/a~1b~0%20%25"},
    "pointer into a list": {"anyOf": [{"type": "null"}, {"items": {"$ref": "#/anyOf/0"}}]},
    "dates": {"type": "array", "items": {"type": "string", "format": "date"}, "minItems": 20, "maxItems": 20},
    "times": {"properties": {"t": {"format": "time"}, "d": {"format": "date-time"}}, "required": ["t", "d"]},
    "uuid": {"type": "string", "format": "uuid"},
    "natural": {"type": "integer", "minimum": 0},
    "counting": {"type": "integer", "exclusiveMinimum": 0},
    "small range": {"type": "integer", "exclusiveMinimum": -3, "maximum": 2, "minimum": -10},
    "positive number": {"type": "number", "minimum": 0},
    "a minimum without a type": {"minimum": 0},
    "keywords of other types": {"type": "null", "maxLength": 3, "minimum": 7, "items": {"type": "null"}},
    "draft 7": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"n": {"type": "null"}},
        "type": "array",
        "items": {"$ref": "#/definitions/n", "x-note": 1},
    },
}  # fmt: skip


@pytest.fixture
def vocabulary(tiny_pair: TinyPair, open_lm: OpenLM) -> LlamaVocabulary:
    return open_lm(tiny_pair.target).vocabulary


@pytest.fixture
def open_grammar(vocabulary: LlamaVocabulary) -> Iterator[OpenGrammar]:
    with ExitStack() as grammars:

        def opened(gbnf: str, other: LlamaVocabulary = vocabulary) -> Grammar:
            return grammars.enter_context(Grammar(other, gbnf))

        yield opened


def check_all(schema: Any, answers: list[bytes]) -> None:
    """Raises if an answer is not JSON in UTF-8 with finite numbers, or does not validate."""

    def refuse(text: str) -> None:
        raise ValueError(text)

    validator = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    validator.check_schema(schema)
    for answer in answers:
        value = json.loads(answer.decode("utf-8"), parse_constant=refuse)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
        validator(schema, format_checker=validator.FORMAT_CHECKER).validate(value)


@pytest.mark.parametrize("name", ENFORCED)
def test_every_answer_validates(vocabulary: LlamaVocabulary, open_grammar: OpenGrammar, name: str) -> None:
    schema = ENFORCED[name]
    grammar = open_grammar(gbnf_of_schema(json.dumps(schema)))
    check_all(schema, [random_answer(grammar, vocabulary, np.random.default_rng(seed)) for seed in range(6)])


@pytest.mark.parametrize(
    ("of_type", "rule", "body"),
    [
        ("string", "char", r'[^"\\] | "\\" (["\\/bfnrt] | "u" unit)'),
        ("integer", "natural", "[0-9]{1,3}"),
        ("number", "exponent", "[eE] [-+]? [0-9]{3}"),
        ("object", "member", "string value"),
    ],
)
def test_a_grammar_that_is_not_json_is_noticed(
    vocabulary: LlamaVocabulary,
    open_grammar: OpenGrammar,
    monkeypatch: pytest.MonkeyPatch,
    of_type: str,
    rule: str,
    body: str,
) -> None:
    """The test above is worth something: it fails for rules such as others have."""
    schema = {"type": "array", "minItems": 40, "items": {"type": of_type}}
    monkeypatch.setitem(json_rules.RULES, rule, body)
    grammar = open_grammar(gbnf_of_schema(json.dumps(schema)))
    answers = [random_answer(grammar, vocabulary, np.random.default_rng(seed)) for seed in range(5)]
    with pytest.raises((ValueError, jsonschema.ValidationError)):
        check_all(schema, answers)


@pytest.mark.parametrize(
    ("schema", "texts", "others"),
    [
        (
            PERSON,
            ['{"name": "Ada", "age": 36}', '{"name": "A", "age": 0, "email": null, "tags": []}'],
            ['{"age": 36}', '{"name": "", "age": 36}', '{"name": "Ada", "age": 131}', '{"name": "Ada", "age": 1, }'],
        ),
        (SHAPES, ['{"kind": "circle", "r": 1.5e3}'], ['{"kind": "circle", "a": 1}', "{}"]),
        (TREE, ['{"value": 1, "children": [{"value": -2}]}'], ['{"value": 1.5}', '{"children": []}']),
        ({"enum": ['a"b', "\n"]}, ['"a\\"b"', '"\\n"'], ['"\n"', '"a"b"', '""']),
        ({"type": "string", "maxLength": 1}, ['"🚀"', '"\\n"', '"\\u00e9"'], ['"ab"', '"\n"', '"\\ud83d"', '"\\x"']),
        ({"properties": {"a": True, "b": True}}, ["{}", '{"b": 1}', '{"a": {}, "b": []}'], ['{"b": 1, "a": 1}']),
        ({"type": "integer"}, ["0", "-1", "1234567890123456"], ["01", "1.0", "", "+1", "12345678901234567"]),
        ({"type": "number"}, ["-0.5", "1e-9", "20.25E+3"], [".5", "1.", "1e999", "NaN"]),
        ({"type": "array", "maxItems": 2}, ["[]", "[1]", "[1, {}]"], ["[1, 2, 3]", "[1,2]", "[1, ]"]),
        ({"format": "date"}, ['"2024-02-28"', '"2023-12-31"'], ['"2024-02-30"', '"2023-04-31"', '"0000-01-01"']),
    ],
)
def test_which_texts_are_answers(open_grammar: OpenGrammar, schema: Any, texts: list[str], others: list[str]) -> None:
    grammar = open_grammar(gbnf_of_schema(json.dumps(schema)))
    assert [text for text in texts if not accepts(grammar, text)] == []
    assert [text for text in others if accepts(grammar, text)] == []


@pytest.mark.parametrize(
    ("schema", "what", "path"),
    [
        ({"type": "integer", "multipleOf": 3}, "multipleOf", "#"),
        ({"type": "integer", "minimum": 3}, "minimum", "#"),
        ({"type": "integer", "maximum": 3}, "maximum", "#"),
        ({"type": "integer", "minimum": 0, "maximum": 5000}, "maximum and minimum", "#"),
        ({"type": "integer", "minimum": 0.5}, "minimum 0.5", "#"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "a minimum above the maximum", "#"),
        ({"type": "number", "exclusiveMinimum": 0}, "exclusiveMinimum of a number", "#"),
        ({"type": "number", "minimum": 1}, "minimum of a number", "#"),
        ({"type": "string", "pattern": "^a$"}, "pattern", "#"),
        ({"type": "string", "format": "email"}, "format 'email'", "#"),
        ({"type": "string", "format": "date", "maxLength": 3}, "a length beside format", "#"),
        ({"type": "string", "maxLength": 2000}, "maxLength 2000", "#"),
        ({"type": "string", "minLength": -1}, "minLength -1", "#"),
        ({"type": "string", "minLength": "1"}, "minLength '1'", "#"),
        ({"type": "string", "minLength": 2, "maxLength": 1}, "minLength above maxLength", "#"),
        ({"properties": {"a/b": {"type": "array", "uniqueItems": True}}}, "uniqueItems", "#/properties/a~1b"),
        ({"items": {"contains": {}}}, "contains", "#/items"),
        ({"type": "array", "items": [{}]}, "a list in items", "#"),
        ({"prefixItems": [{}], "items": {"type": "null"}}, "items beside prefixItems", "#"),
        ({"prefixItems": [{}], "minItems": 2}, "minItems or maxItems beside 1 prefixItems", "#"),
        ({"prefixItems": [{}], "$schema": "http://json-schema.org/draft-07/schema#"}, "prefixItems in a draft", "#"),
        ({"items": False, "minItems": 1}, "minItems of an array that has no items", "#"),
        ({"type": "object", "minProperties": 1}, "minProperties", "#"),
        ({"type": "object", "patternProperties": {}}, "patternProperties", "#"),
        ({"type": "object", "propertyNames": {}}, "propertyNames", "#"),
        ({"type": "object", "dependentRequired": {}}, "dependentRequired", "#"),
        ({"type": "object", "unevaluatedProperties": False}, "unevaluatedProperties", "#"),
        ({"properties": {"a": {}}, "additionalProperties": {"type": "null"}}, "a schema in additionalProperties", "#"),
        ({"required": ["a"], "additionalProperties": {"type": "null"}}, "a schema in additionalProperties", "#"),
        ({"required": ["a"], "additionalProperties": False}, "false", "#/additionalProperties"),
        ({"properties": {"a": False}, "required": ["a"]}, "false", "#/properties/a"),
        ({"properties": [], "type": "object"}, "properties of type array", "#"),
        ({"properties": {"a": 3}}, "a schema of type number", "#/properties/a"),
        ({"properties": {"a": {"required": True}}}, "required True", "#/properties/a"),
        ({"required": [1]}, "required", "#"),
        ({"not": {}}, "not", "#"),
        ({"if": {}, "then": {}}, "if", "#"),
        ({"$dynamicRef": "#x"}, "$dynamicRef", "#"),
        ({"nullable": True, "type": "string"}, "nullable", "#"),
        ({"minimun": 3}, "minimun", "#"),
        ({"const": 1, "minimum": 3}, "minimum beside const", "#"),
        ({"enum": [1], "const": 1}, "enum beside const", "#"),
        ({"enum": []}, "a list of values none of which validates", "#"),
        ({"enum": {}}, "enum of type object", "#"),
        ({"enum": ["a"], "type": "integer"}, "a list of values none of which validates", "#"),
        ({"const": "\ud800"}, "a value that no JSON text has", "#"),
        ({"properties": {"\ud800": {}}}, "a value that no JSON text has", "#"),
        ({"anyOf": [{"type": "null"}], "required": ["a"]}, "required beside anyOf", "#"),
        ({"type": "object", "anyOf": [{"required": ["a"]}]}, "type beside anyOf", "#"),
        ({"anyOf": []}, "anyOf without a branch", "#"),
        ({"anyOf": [False]}, "anyOf without a branch", "#"),
        ({"anyOf": {}}, "anyOf of type object", "#"),
        ({"anyOf": [{"type": "null"}, {"not": {}}]}, "not", "#/anyOf/1"),
        ({"allOf": [{"type": "null"}, {}]}, "allOf of several schemas", "#"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "oneOf", "#"),
        ({"oneOf": [{"const": 1}, {"const": 1.0}]}, "oneOf", "#"),
        ({"oneOf": [{"const": "a"}, {"type": "string"}]}, "oneOf", "#"),
        ({"oneOf": [{}, {"type": "null"}]}, "oneOf", "#"),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, "oneOf", "#"),
        (
            {"oneOf": [{"properties": {"k": {"const": v}}, "required": ["k"]} for v in (1, 2)]},
            "oneOf",
            "#",
        ),
        ({"oneOf": [{"type": "object", "properties": {"k": {"const": v}}} for v in (1, 2)]}, "oneOf", "#"),
        ({"$ref": "#/$defs/a"}, "$ref '#/$defs/a'", "#"),
        ({"items": {"$ref": "https://example.org/a"}}, "$ref 'https://example.org/a'", "#/items"),
        ({"$ref": "#anchor"}, "$ref '#anchor'", "#"),
        ({"$ref": 3}, "$ref 3", "#"),
        ({"$ref": "#"}, "$ref '#', which leads back to itself,", "#"),
        (
            {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/b"},
            "which leads back to itself,",
            "#/$defs/",
        ),
        (
            {
                "$defs": {
                    "a": {"anyOf": [{"items": {"$ref": "#/$defs/b"}}, {"$ref": "#/$defs/b"}]},
                    "b": {"anyOf": [{"$ref": "#/$defs/a"}]},
                },
                "$ref": "#/$defs/a",
            },
            "which leads back to itself,",
            "#/$defs/",
        ),
        ({"$defs": {"a": {"oneOf": [{"$ref": "#/$defs/a"}, {}]}}, "$ref": "#/$defs/a"}, "leads back", "#/$defs/a"),
        ({"properties": {"a": {"$ref": "#"}}, "required": ["a"]}, "a value that holds itself without end", "#"),
        ({"minItems": 1, "items": {"$ref": "#"}}, "a value that holds itself without end", "#"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"pattern": "x"}}}, "pattern", "#/$defs/a"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {}}, "maxLength": 3}, "maxLength beside $ref", "#"),
        ({"items": {"$id": "a"}}, "$id", "#/items"),
        ({"type": "any"}, "type 'any'", "#"),
        ({"type": []}, "an empty type", "#"),
        ({"type": [["null"]]}, "type ['null']", "#"),
        (False, "false", "#"),
        ({"allOf": [False, {"type": "null"}]}, "false", "#/allOf"),
        ({"properties": {"a": {"allOf": [{"type": "boolean"}, False]}}}, "false", "#/properties/a/allOf"),
    ],
)  # fmt: skip
def test_what_a_grammar_cannot_hold_is_refused(schema: Any, what: str, path: str) -> None:
    with pytest.raises(UsageError) as caught:
        gbnf_of_schema(json.dumps(schema))
    assert caught.value.message.startswith("the JSON schema cannot be enforced: ")
    assert what in caught.value.message
    assert f" at {path}" in caught.value.message
    assert caught.value.hint
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[]", "is of type array"),
        ("3", "is of type number"),
        ("null", "is of type null"),
        ('{"const": 1e400}', "no JSON text has"),
        ('{"const": NaN}', "no JSON text has"),
        ('{"const": ' + "1" * 5000 + "}", "cannot be read"),
        ('{"items": ' * 5000 + "{}" + "}" * 5000, "nested too deeply"),
        ('{"items": ' * 150 + '{"not": {}}' + "}" * 150, "not at #/items"),
    ],
)
def test_a_text_that_is_no_schema(text: str, what: str) -> None:
    with pytest.raises(UsageError, match=what) as caught:
        gbnf_of_schema(text)
    assert caught.value.exit_code == 2


def test_required_circles_of_branches_end(open_grammar: OpenGrammar) -> None:
    """Whether branches exclude each other is looked at one level deep: each may require itself."""
    branch = {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}, "required": ["a", "b"]}
    with pytest.raises(UsageError, match="oneOf"):
        gbnf_of_schema(json.dumps({"oneOf": [branch, branch]}))
