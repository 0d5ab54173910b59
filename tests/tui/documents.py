"""Markdown as models write it, and as they should not."""

from __future__ import annotations

import random
from typing import Final

BLOCKS: Final = [
    "A paragraph with **bold**, `code`, [a link](https://example.com/x) and\na second line.\n",
    "# Heading\n",
    "Setext\n---\n",
    "- one\n- two **bold**\n  - nested\n    - deeper\n- three\n",
    "1. one\n2. two\n\n   with a second paragraph\n3. three\n",
    "9. nine\n10. ten\n",
    "- item with code:\n  ```python\n  x = 1\n\n  y = 2\n  ```\n- next\n",
    "> quoted\n> - with a list\nlazy line\n",
    "> ```\n> code in a quote\n> ```\n",
    "| a | b |\n|---|:-:|\n| 1 | `x` |\n| 漢字 | 👍🏽 |\n",
    "```python\ndef f(x: int) -> str:\n    return f'{x}'\n```\n",
    "~~~\ntildes\n```\nnot an end\n~~~\n",
    "  ```js\n  indented();\n    more();\n  ```\n",
    "````md\n```inner\n```\n````\n",
    "``` not a fence: `x`\n",
    "```\n```\n",
    "    indented code\n\n    more of it\n",
    "***\n",
    "<b>html</b> &amp; &#27;[31m <script>alert(1)</script>\n\n<div>\nblock\n</div>\n",
    "[ref]: https://example.com/ref\n\nsee [ref]\n",
    "![image](https://example.com/i.png)\n",
    "Roses are red,\nviolets are blue\n",
    "漢字かな交じり文。👨‍👩‍👧‍👦 e\u0301 🇩🇪\n",
    "carriage\r\nreturns\r\n",
]

UNCLOSED: Final = "```python\nwhile True:\n    pass\n\n"


def document(seed: int, *, n_blocks: int = 12) -> str:
    """Random blocks with random gaps between them, perhaps cut off somewhere."""
    rng = random.Random(seed)
    text = "".join(rng.choice(BLOCKS) + "\n" * rng.choice([0, 1, 1, 2]) for _ in range(n_blocks))
    if rng.random() < 0.3:
        text += UNCLOSED
    return text[: rng.randrange(1, len(text))] if rng.random() < 0.5 else text


def cut(text: str, seed: int) -> list[str]:
    """The text in random parts, most of them as short as tokens."""
    rng = random.Random(seed)
    parts: list[str] = []
    at = 0
    while at < len(text):
        length = rng.choice([1, 2, 3, 5, 8, 40, 300])
        parts.append(text[at : at + length])
        at += length
    return parts
