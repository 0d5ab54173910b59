"""JSON itself in llama.cpp's grammar notation: what every schema's grammar is put together from."""

from __future__ import annotations

import json

MOST_REPEATED = 1999
"""llama.cpp refuses to repeat more often, and reads a larger upper bound as none at all."""

RULES = {
    "value": 'object | array | string | number | boolean | "null"',
    "object": '"{" (member (", " member)*)? "}"',
    "member": 'string ": " value',
    "array": '"[" (value (", " value)*)? "]"',
    "string": r'"\"" char* "\""',
    # A list of what is allowed, since llama.cpp takes no half of a surrogate pair for it; `[^...]` would let one pass.
    # Nor are surrogates escaped: two would be one character, which a length counts once, and one alone is no text.
    "char": r'[\x20-\x21\x23-\x5B\x5D-\uD7FF\uE000-\U0010FFFF] | "\\" (["\\/bfnrt] | "u" unit)',
    "unit": "[0-9a-cA-CefEF] hex hex hex | [dD] [0-7] hex hex",
    "hex": "[0-9a-fA-F]",
    # Bounded, so that every number is finite in 64 bits and no model writes digits for ever.
    "number": '"-"? positive',
    "positive": "natural fraction? exponent?",
    "integer": '"-"? natural',
    "natural": '"0" | counting',
    "counting": "[1-9] [0-9]{0,15}",
    "fraction": '"." [0-9]{1,15}',
    "exponent": "[eE] [-+]? [0-9]{1,2}",
    "boolean": '"true" | "false"',
    "null": '"null"',
}
"""Rules by name. White space is one blank after `:` and `,`: each place without a choice is text that need not be asked
for."""

_DATE = (
    '[1-9] [0-9] [0-9] [0-9] "-" ('
    '("0" [13578] | "10" | "12") "-" ("0" [1-9] | [12] [0-9] | "30" | "31")'
    ' | ("0" [469] | "11") "-" ("0" [1-9] | [12] [0-9] | "30")'
    ' | "02-" ("0" [1-9] | "1" [0-9] | "2" [0-8]))'
)
_HOUR_MINUTE = '([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]'
_TIME = f'{_HOUR_MINUTE} ":" [0-5] [0-9] ("." [0-9]{{1,6}})? ("Z" | [-+] {_HOUR_MINUTE})'

FORMATS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f'{_DATE} "T" {_TIME}',
    "uuid": ' "-" '.join(f"hex{{{n}}}" for n in (8, 4, 4, 4, 12)),
}
"""What is between the quotes. 29 February is not among the dates: which years have one is beyond a small grammar."""


def literal(text: str) -> str:
    """The notation for exactly this text, which holds no line break."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def json_text(value: object) -> str:
    """The one way a constant is written. Raises ValueError for one that no JSON text in UTF-8 has."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    text.encode("utf-8")
    return text


def repeated(least: int, most: int | None) -> str:
    """The suffix for `least` to `most` times; without end for None."""
    return "*" if (least, most) == (0, None) else f"{{{least},{'' if most is None else most}}}"
