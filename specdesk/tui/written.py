"""What the user wrote, as the prompt takes it: without what drives a terminal, and with a guess of its size."""

from __future__ import annotations

import math
import string
from typing import Final

_LETTERS_PER_TOKEN: Final = 4.5
"""ASCII letters and white space."""
_SIGNS_PER_TOKEN: Final = 1.4
"""ASCII punctuation. A digit is a token."""
_BYTES_PER_TOKEN: Final = 3.5
"""UTF-8 bytes outside ASCII."""
_DIGITS: Final = string.digits.encode()
_SIGNS: Final = string.punctuation.encode()

_CLEANED: Final = (
    dict.fromkeys(code for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t")
    | dict.fromkeys(range(0xD800, 0xE000))
    | dict.fromkeys((0x2028, 0x2029), "\n")
)


def cleaned(text: str) -> str:
    """`text` with newlines as line ends and without control characters; everything else stays, invisible or not."""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CLEANED)


def estimate_tokens(text: str, factor: float = 1.0) -> int:
    """About how many tokens `text` has; only the tokenizer knows.

    `factor`: how many times as many tokens other texts had as estimated. Source: the vocabulary of Qwen2.5. English and
    German, code, tables and logs came out at 0.8 to 1.35 of their tokens, Japanese and Korean at 1.0 to 1.1, Chinese
    and Russian, for which it has many words, at 1.6 to 1.9.
    """
    ascii_only = text.encode("ascii", "ignore")
    n_digits = len(ascii_only) - len(ascii_only.translate(None, _DIGITS))
    n_signs = len(ascii_only) - len(ascii_only.translate(None, _SIGNS))
    n_letters = len(ascii_only) - n_digits - n_signs
    n_other = len(text.encode("utf-8", "replace")) - len(ascii_only)
    n_tokens = n_letters / _LETTERS_PER_TOKEN + n_digits + n_signs / _SIGNS_PER_TOKEN + n_other / _BYTES_PER_TOKEN
    return math.ceil(n_tokens * factor)


def size_notice(text: str, *, holds: int | None, factor: float, short: bool) -> str:
    """That `text` is longer than a context that `holds` so many tokens, with an estimate up to two digits; else empty.

    None: nobody knows what the context holds. `factor` as estimate_tokens has it.
    """
    n_tokens = estimate_tokens(text, factor)
    if holds is None or n_tokens <= holds:
        return ""
    unit = 10 ** max(0, len(str(n_tokens)) - 2)
    about = f"about {math.ceil(n_tokens / unit) * unit:,}"
    return f"{about} of {holds:,} tokens" if short else f"{about} tokens; the context holds {holds:,}"
