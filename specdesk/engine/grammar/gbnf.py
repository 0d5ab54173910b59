"""What is wrong with a text in llama.cpp's grammar notation that llama.cpp does not see, and hangs or aborts on.

Its own check for left recursion overlooks rules that are empty only by way of others:
`root ::= a root "x" | "y"`, `a ::= b`, `b ::= ""`. It builds stacks without end there, and nothing stops it. With
`root ::= "x" c`, `c ::= a c` it has no stack left, and ends the process.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""(?P<skip> \s+ | \#[^\r\n]* )
    | (?P<rule> [a-zA-Z0-9-]+ (?= (?: \s++ | \#[^\r\n]*+ )*+ ::= ) )
    | (?P<is> ::= )
    | (?P<name> [a-zA-Z0-9-]+ )
    | (?P<empty> "" | \[\^?\] )
    | (?P<text> "(\\.|[^"\\])*" | \[(\\.|[^\]\\])*\] | !?<[^>]*> | \. )
    | (?P<maybe> \? | \*  | \{ \s* 0+ \s* (,[^}]*)? \} )
    | (?P<again> \+ | \{[^}]*\} )
    | (?P<mark> [|()] )""",
    re.VERBOSE | re.DOTALL,
)


_BOUNDS = re.compile(r"\{\s*(\d+)\s*,\s*(\d+)\s*\}")

_MOST_NESTED = 500
"""llama.cpp reads a group by calling itself, and its stack is finite."""


@dataclass(slots=True)
class _Rule:
    """Alternatives, each a sequence of names of rules; "" stands for text that is not empty."""

    alternatives: list[list[str]] = field(default_factory=lambda: [[]])


def fault(gbnf: str) -> str:
    """What llama.cpp would not survive, with the name of the rule; empty if there is nothing.

    A text that is no grammar is read as far as it is one.
    """
    reader = _Reader(gbnf)
    if reader.depth > _MOST_NESTED:
        return f"groups stand in each other more than {_MOST_NESTED} deep"
    if reader.backwards:
        return f"the repetition {reader.backwards} ends before it begins"
    rules = reader.rules
    empty = _empty(rules)
    some_text = _begun(rules, empty) | empty
    for name in rules:
        if name not in some_text:
            return f"the rule {_written(name)!r} never comes to any text"
    leads = {name: set(_leads(rule, empty)) for name, rule in rules.items()}
    for name in rules:
        if any(grows and name in _reached(first, leads) for first, grows in leads[name]):
            return f"left recursion in the rule {_written(name)!r}"
    return ""


def may_end(gbnf: str) -> bool:
    """Whether some text of the rule `root` is finite."""
    rules = _Reader(gbnf).rules
    return "root" in _closed(rules, lambda sequence, ending: all(not item or item in ending for item in sequence))


class _Reader:
    """Rules by name. Groups and repetitions become rules of their own, named by a number behind their rule's name."""

    def __init__(self, gbnf: str) -> None:
        self.rules: dict[str, _Rule] = {}
        self.depth = 0
        """Of the deepest group."""
        self.backwards = ""
        """A repetition from more to less; llama.cpp counts up to it without end."""
        self._open: list[str] = []
        """The rule being read and the groups open in it."""
        at = 0
        while token := _TOKEN.match(gbnf, at):
            at = token.end()
            kind = str(token.lastgroup)
            if kind == "rule":
                self._open = [token.group()]
                self.rules[token.group()] = _Rule()
            elif self._open:
                self._read(kind, token.group())
        self._drop_unknown()

    def _read(self, kind: str, text: str) -> None:
        rule = self.rules[self._open[-1]]
        sequence = rule.alternatives[-1]
        if kind == "name":
            sequence.append(text)
        elif kind == "text":
            sequence.append("")
        elif kind == "empty":
            sequence.append(self._new([[]]))
        elif kind in ("maybe", "again") and sequence:
            bounds = _BOUNDS.fullmatch(text)
            if bounds and int(bounds[1]) > int(bounds[2]):
                self.backwards = text
            item = sequence[-1]
            some = self._new([])
            self.rules[some].alternatives = [[item] if text == "?" else [item, some], []]
            sequence[-1] = some if kind == "maybe" else self._new([[item, some]])
        elif text == "|":
            rule.alternatives.append([])
        elif text == "(":
            sequence.append(self._new([[]]))
            self._open.append(sequence[-1])
            self.depth = max(self.depth, len(self._open) - 1)
        elif text == ")" and len(self._open) > 1:
            self._open.pop()

    def _new(self, alternatives: list[list[str]]) -> str:
        name = f"{self._open[0]} {len(self.rules)}"
        self.rules[name] = _Rule(alternatives)
        return name

    def _drop_unknown(self) -> None:
        """Rules that are only named are for llama.cpp to complain about."""
        for rule in self.rules.values():
            rule.alternatives = [[i if i in self.rules else "" for i in one] for one in rule.alternatives]


def _written(name: str) -> str:
    """The rule in whose text a rule of ours stands."""
    return name.partition(" ")[0]


def _empty(rules: dict[str, _Rule]) -> set[str]:
    """Rules that may be empty."""
    return _closed(rules, lambda sequence, empty: empty.issuperset(sequence))


def _begun(rules: dict[str, _Rule], empty: set[str]) -> set[str]:
    """Rules that come to a first character."""

    def begins(sequence: list[str], begun: set[str]) -> bool:
        for item in sequence:
            if not item or item in begun:
                return True
            if item not in empty:
                return False
        return False

    return _closed(rules, begins)


def _closed(rules: dict[str, _Rule], holds: Callable[[list[str], set[str]], bool]) -> set[str]:
    """Rules with an alternative for which something holds, given those for which it holds already."""
    found: set[str] = set()
    n_before = -1
    order = list(rules.items())
    while n_before < len(found):
        n_before = len(found)
        for name, rule in order:
            if name not in found and any(holds(one, found) for one in rule.alternatives):
                found.add(name)
        # Rules stand before or behind those they are made of: one way or the other, a long chain takes one round.
        order.reverse()
    return found


def _leads(rule: _Rule, empty: set[str]) -> Iterator[tuple[str, bool]]:
    """Rules that may stand first in this one, and whether something stands behind them there."""
    for sequence in rule.alternatives:
        for i, item in enumerate(sequence):
            if item:
                yield item, i + 1 < len(sequence)
            if item not in empty:
                break


def _reached(start: str, leads: dict[str, set[tuple[str, bool]]]) -> set[str]:
    reached = {start}
    todo = [start]
    while todo:
        for following, _ in leads[todo.pop()]:
            if following not in reached:
                reached.add(following)
                todo.append(following)
    return reached
