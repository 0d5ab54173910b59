"""What a model is called."""

from __future__ import annotations

import re
from typing import Final

_FORMAT: Final = re.compile(
    r"(?<![a-z0-9])(?:awq|gptq|exl[23]|bnb|nf4|int[48]|i?q\d(?:_[a-z0-9]+)*|tq\d_\d|mxfp4|nvfp4|bf16|fp?(?:8|16|32))"
    r"(?![a-z0-9])",
    re.IGNORECASE,
)


def model_name(said: str, stem: str) -> str:
    """The name that a file says it has, or else its own, without the ending.

    Its own too where the two name different formats: whoever converts a model to another one often leaves the old name
    in the file.
    """
    if not said:
        return stem
    in_header, in_name = formats(said), formats(stem)
    return stem if in_header and in_name and not in_header & in_name else said


def formats(text: str) -> set[str]:
    """The formats of weights that a text names."""
    return {re.sub("^fp", "f", found.casefold()) for found in _FORMAT.findall(text)}
