"""Compares a screen with the picture of it that somebody has looked at and accepted.

pytest-textual-snapshot would do the same, but its 1.1.0 wants syrupy 4.8.0, and that wants pytest below 9. It also runs
the app in a loop of its own, where these tests drive theirs, and copies the environment into its report.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from difflib import unified_diff
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from tests.tui.stage import settle

ACCEPT: Final = "--accept-snapshots"
ACCEPTED: Final = Path(__file__).parent / "snapshots"
REPORTS: Final = Path("build/snapshots")
"""Below pytest's root."""
_DRAWN_BY: Final = ("textual", "rich", "pygments", "markdown-it-py")
_ATTEMPTS: Final = 50

_UNIQUE: Final = re.compile(r"\bterminal-\d+-")
_FONTS: Final = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
_CLIPS: Final = re.compile(r'<clipPath id="terminal-line-\d+">.*?</clipPath>\s*', re.DOTALL)
_CLIPPED: Final = re.compile(r' clip-path="url\(#terminal-line-\d+\)"')
_PIECE: Final = re.compile(r'<text class="[^"]+" x="[^"]+" y="(?P<y>[^"]+)"[^>]*>(?P<text>.*?)</text>')
_STYLE: Final = """<style>
body { font-family: sans-serif; } figure { margin: 1em 0; } iframe { width: 100%; height: 85vh; border: thin solid; }
</style>"""


async def picture(pilot: Pilot[None]) -> str:
    """The screen as SVG, once it has stopped changing: cursors do not blink, names and fonts are everybody's."""
    app = pilot.app
    last = ""
    await pilot.pause()
    for _ in range(_ATTEMPTS):
        for field in (*app.screen.query(Input), *app.screen.query(TextArea)):
            field.cursor_blink = False
        await settle(pilot)
        drawn = normal(app.export_screenshot(title="specdesk", simplify=True))
        if drawn == last:
            return drawn
        last = drawn
    pytest.fail("the screen does not come to rest")


def normal(svg: str) -> str:
    """Without what changes from run to run, what is fetched from the network, and the clipping of each row."""
    for pattern, instead in ((_UNIQUE, "terminal-"), (_FONTS, ""), (_CLIPS, ""), (_CLIPPED, "")):
        svg = pattern.sub(instead, svg)
    # An element a line, for whoever reads the difference.
    lines = svg.replace("/><", "/>\n<").replace("</text><", "</text>\n<").splitlines()
    return "".join(f"{line.strip()}\n" for line in lines if line.strip())


def check(name: str, drawn: str, *, accept: bool, root: Path, folder: Path = ACCEPTED) -> None:
    """Fails if the screen is not as it was, and says where to look and how to accept it; with `accept` it is accepted.

    `root` is where the commands of the project are typed.
    """
    path = folder / f"{name}.svg"
    accepted = path.read_text(encoding="utf-8") if path.exists() else None
    if drawn == accepted:
        return
    if accept:
        folder.mkdir(exist_ok=True)
        path.write_text(drawn, encoding="utf-8")
        return
    report = root / REPORTS / f"{name}.html"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(_report(name, accepted, drawn), encoding="utf-8")
    said = [f"{name} has no accepted picture"]
    if accepted is not None:
        said = [f"{name} does not look as it did", *differences(accepted, drawn)]
    said += [
        f"look at it:    open {report.relative_to(root)} in a browser",
        f"accept it:     ./scripts/test tests/tui/test_snapshots.py {ACCEPT} -k {name}",
        f"drawn here by: {', '.join(f'{each} {version(each)}' for each in _DRAWN_BY)} (pyproject.toml pins them)",
    ]
    pytest.fail("\n".join(said), pytrace=False)


def differences(accepted: str, drawn: str) -> list[str]:
    """The rows that do not say the same."""
    found = list(unified_diff(rows(accepted), rows(drawn), "accepted", "now", lineterm="", n=0))
    return found or ["every row says the same; colours, styles or places differ"]


def rows(svg: str) -> list[str]:
    """What the rows say, a bar between pieces that look different."""
    found: defaultdict[float, list[str]] = defaultdict(list)
    for piece in _PIECE.finditer(svg):
        found[float(piece["y"])].append(html.unescape(piece["text"]).replace("\xa0", " "))
    return ["|".join(found[y]) for y in sorted(found)]


def _report(name: str, accepted: str | None, drawn: str) -> str:
    # Each in a document of its own: both use the same names of classes.
    shown = [("accepted", accepted), ("now", drawn)]
    pictures = [
        f"<figure><figcaption>{title}</figcaption><iframe srcdoc='{html.escape(svg)}'></iframe></figure>"
        for title, svg in shown
        if svg is not None
    ]
    return f"<!doctype html><meta charset='utf-8'><title>{name}</title>{_STYLE}<h1>{name}</h1>{''.join(pictures)}\n"
