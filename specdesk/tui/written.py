"""What the user wrote, as the prompt takes it: without what drives a terminal, and with a guess of its size."""

from __future__ import annotations

import math
from typing import Final

CHARS_PER_TOKEN: Final = 4.0
"""ASCII characters per token where nobody has counted: English prose has more, code has fewer."""

_BYTES_PER_TOKEN: Final = 3.0
"""UTF-8 bytes per token outside ASCII: one CJK character, one and a half Cyrillic letters."""

_CLEANED: Final = (
    dict.fromkeys(code for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t")
    | dict.fromkeys(range(0xD800, 0xE000))
    | dict.fromkeys((0x2028, 0x2029), "\n")
)


def cleaned(text: str) -> str:
    """`text` with newlines as line ends and without control characters; everything else stays, invisible or not."""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CLEANED)


def estimate_tokens(text: str, chars_per_token: float = CHARS_PER_TOKEN) -> int:
    """About how many tokens `text` has; only the tokenizer knows.

    `chars_per_token` is for the ASCII part.
    """
    n_ascii = len(text.encode("ascii", "ignore"))
    n_other_bytes = len(text.encode("utf-8", "replace")) - n_ascii
    return math.ceil(n_ascii / chars_per_token + n_other_bytes / _BYTES_PER_TOKEN)


def size_notice(text: str, *, holds: int | None, chars_per_token: float, short: bool) -> str:
    """That `text` is longer than a context that `holds` so many tokens, with an estimate up to two digits; else empty.

    None: nobody knows what the context holds.
    """
    n_tokens = estimate_tokens(text, chars_per_token)
    if holds is None or n_tokens <= holds:
        return ""
    unit = 10 ** max(0, len(str(n_tokens)) - 2)
    about = f"about {math.ceil(n_tokens / unit) * unit:,}"
    return f"{about} of {holds:,} tokens" if short else f"{about} tokens; the context holds {holds:,}"
