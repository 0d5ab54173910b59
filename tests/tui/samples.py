"""Texts that have broken terminal programs."""

from __future__ import annotations

from typing import Final

CHARACTERS: Final = [
    "plain ascii",
    "漢字かな交じり文、全角　空白",
    "한국어 텍스트",
    "👨‍👩‍👧‍👦 family",
    "👍🏽 skin tone",
    "🇩🇪🇯🇵🏴󠁧󠁢󠁥󠁮󠁧󠁿 flags",
    "❤️ presentation",
    "e\u0301a\u0308\u0323 combining",
    "नमस्ते ไทย",
    "שלום\u200f مرحبا",
    "no\u00a0break soft\u00adhyphen zero\u200bwidth",
    "𝒳 𐍈 astral",
]
"""Each keeps every character, typed, pasted and shown."""

MARKUP: Final = ["[/", "[red]x", "[b + 1", "[@click=app.quit]x[/]", "\\[x", "[/red]", "[link=https://x.y]z[/link]"]
"""Each would be taken for Textual's markup."""

CONTROLS: Final = "a\x1b[2Jb\x07c\rd\x00e\x7ff\x9bg"


def big_paste(n_lines: int = 5000, n_bytes: int = 200_000) -> str:
    """Lines with CJK, tabs and escape sequences, `n_bytes` in all or a little more."""
    lines = [f"{at}\tfor x in 漢字: \x1b[31mred\x1b[0m" for at in range(n_lines)]
    missing = n_bytes - len("\r".join(lines).encode())
    lines[n_lines // 2] += "x " * max(0, missing // 2 + 1)
    return "\r".join(lines)
