"""What llama.cpp would hang on or abort is found before, and only where there is some."""

from __future__ import annotations

import json
import re

import pytest

from specdesk.engine.grammar.gbnf import fault, may_end
from specdesk.engine.grammar.json_schema import gbnf_of_schema
from specdesk.engine.grammar.native import Grammar
from tests.engine.conftest import OpenLM
from tests.tiny.gguf_models import TinyPair


@pytest.mark.parametrize(
    ("gbnf", "rule"),
    [
        ('root ::= root "a" | "b"', "root"),
        ('root ::= a root "x" | "y"\na ::= b\nb ::= ""', "root"),
        ('root ::= (("a"?) root "x") | "y"', "root"),
        ('root ::= a\na ::= b "x" | "y"\nb ::= (a)', "a"),
        ('root ::= a* "x"\na ::= root? "y"', "root"),
        ('root ::= "a"{0,2} root [x] | "y"', "root"),
        ('root ::= "a"* root{2} | "b"', "root"),
        ("root ::= root*", "root"),
        ('root ::= "x"+? root "y" | "z"', "root"),
        ('root ::= [] root "x" | # no name: other ::= a\n  "y"', "root"),
    ],
)
def test_left_recursion(gbnf: str, rule: str) -> None:
    assert fault(gbnf) == f"left recursion in the rule {rule!r}"


@pytest.mark.parametrize(
    ("gbnf", "rule"),
    [
        ("root ::= root", "root"),
        ('root ::= "x" c\nc ::= a c\na ::= b\nb ::= ""', "c"),
        ('root ::= "x" (c | "y")\nc ::= "z"? d\nd ::= (e)\ne ::= d', "d|e"),
    ],
)
def test_a_rule_that_never_comes_to_text(gbnf: str, rule: str) -> None:
    assert re.fullmatch(f"the rule '({rule})' never comes to any text", fault(gbnf))


@pytest.mark.parametrize(
    ("gbnf", "ends"),
    [
        ('root ::= "x" root', False),
        ('root ::= "x" root | a\na ::= "y" a', False),
        ('root ::= "x" root?', True),
        ('root ::= "x" a+\na ::= "y" (root | "z")', True),
        ('root ::= "x" a+\na ::= "y" root', False),
    ],
)
def test_whether_a_text_may_end(gbnf: str, ends: bool) -> None:
    assert may_end(gbnf) is ends


@pytest.mark.parametrize(
    "gbnf",
    [
        'root ::= "x" root',
        'root ::= "a" root "x" | "y"',
        'root ::= "a" root | ""',
        'root ::= ("a"? "b"*)* "c"',
        'root ::= (ws ws)* "c"\nws ::= [ \\t]*',
        'root ::= a a{2,} "a ::= b"\na ::= [)("|] | "(" root ")" | "\\"" [^"\\]]',
        'root ::= "(" (root\n | "x"\n) "y" ")" # root ::= root "x"\n',
        "root ::= . <[65]>",
        gbnf_of_schema("{}"),
        gbnf_of_schema(json.dumps({"properties": {"a": {"items": {"$ref": "#"}}}})),
    ],
)
def test_no_fault(tiny_pair: TinyPair, open_lm: OpenLM, gbnf: str) -> None:
    """llama.cpp takes these, and returns."""
    assert fault(gbnf) == ""
    Grammar(open_lm(tiny_pair.target).vocabulary, gbnf).close()


@pytest.mark.parametrize(
    "text", ["", "root", "::=", "root ::= (((", "root ::= )|*", 'root ::= "a', "root ::= other*", "ä"]
)
def test_what_is_no_grammar_is_left_to_llama_cpp(text: str) -> None:
    assert fault(text) == ""


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "gbnf",
    [
        "".join(f"r{i} ::= r{i + 1}\n" for i in range(4000)) + 'r4000 ::= "x"\nroot ::= r0\n',
        'root ::= r4000\nr0 ::= "x"\n' + "".join(f"r{i + 1} ::= r{i}\n" for i in range(4000)),
        "root ::= " + "(" * 400 + '"x"' + ")" * 400,
        "root ::= a\n" + "#" * 5000 + '\na ::= "x"\n',
        "root ::= a" + " # " * 3000 + '\na ::= "x"\n',
        "root ::= " + " | ".join(f'"{number}"' for number in range(20_000)),
    ],
)
def test_long_chains_and_deep_groups_are_read_quickly(gbnf: str) -> None:
    assert fault(gbnf) == ""


def test_groups_too_deep_for_llama_cpp_are_refused() -> None:
    assert "deep" in fault("root ::= " + "(" * 100_000 + '"x"' + ")" * 100_000)


@pytest.mark.parametrize("bounds", ["{5,2}", "{ 5 , 2 }", "{1,0}"])
def test_a_repetition_from_more_to_less_is_refused(bounds: str) -> None:
    """llama.cpp counts up to it without end."""
    assert "ends before it begins" in fault(f'root ::= "a"{bounds}')
    assert fault('root ::= "a"{2,5} "b"{3} "c"{2,}') == ""
