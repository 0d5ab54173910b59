"""What stands on standard output in columns: whole where it is piped, folded at word ends on a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdesk.cli import tables
from specdesk.cli.tables import fold, print_line, print_table
from specdesk.hub.here.added import add
from specdesk.hub.manifest import load_manifest
from specdesk.paths import models_dir
from tests.cli.shell import specdesk
from tests.cli.terminal import Terminal
from tests.cli.test_models import put
from tests.tiny.gguf_stubs import write_stub


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("short", ["short"]),
        ("one two three", ["one two", "three"]),
        ("owner/repo/file", ["owner/", "repo/file"]),
        ("of 1.1 GB", ["of 1.1 GB"]),
        ("taken 1.1 GB", ["taken", "1.1 GB"]),
        ("unbreakable", ["unbreakab", "le"]),
        ("", [""]),
    ],
)
def test_folding(text: str, lines: list[str]) -> None:
    assert fold(text, 9, 9) == lines


def test_piped_lines_are_whole(capsys: pytest.CaptureFixture[str]) -> None:
    print_line("word " * 100 + "end")
    print_table(("name", "what"), [("a" * 200, "b"), ("c", "d")])
    assert capsys.readouterr().out == ("word " * 100 + f"end\n  {'name':200}  what\n  {'a' * 200}  b\n  {'c':200}  d\n")


@pytest.mark.parametrize("width", [30, 50, 80])
def test_a_table_fits(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(tables, "terminal_width", lambda: width)
    row = ("a name of words", "1.1 GB", "spare words", "owner/repository/file.gguf")
    print_table(("name", "size", "spare", "file"), [row], spare=("spare",))
    out = capsys.readouterr().out.splitlines()
    assert max(map(len, out)) <= width
    text = "".join("".join(out).split())
    assert "file.gguf" in text
    assert ("toonarrowforspare" in text) == (width == 30)


def shown(*args: object, width: int) -> list[str]:
    terminal = Terminal(args, rows=200, columns=width, HF_HUB_OFFLINE="1")
    assert terminal.ended() == 0
    return [line.rstrip() for line in terminal.text.splitlines() if line.strip()]


@pytest.mark.parametrize("command", [("models",), ("download", "--list"), ("models", "verify"), ("doctor",)])
def test_on_80_columns_no_word_is_cut(command: tuple[str, ...], tmp_path: Path) -> None:
    """A line that fills the terminal's last column and goes on was wrapped by it."""
    pair = load_manifest().pair("default")
    for artifact in pair.artifacts:
        if command != ("models", "verify"):
            put(artifact)
    write_stub(
        models_dir() / "owner-of-models" / "Repository-With-A-Long-Name-GGUF" / "a-long-name-q4_k_m.gguf", "Long"
    )
    add(write_stub(tmp_path / "theirs" / "b.gguf", "A name of several words that is long").parent)
    piped = specdesk(*command, env={"HF_HUB_OFFLINE": "1"})
    words = {word.removesuffix(",") for word in piped.stdout.replace("/", "/ ").split() if len(word) < 40}
    lines = shown(*command, width=80)
    seen = {word.removesuffix(",") for line in lines for word in line.replace("/", "/ ").split()}
    missing = words - seen
    if command == ("models",):
        left_out = " ".join(line for line in lines if "too narrow for" in line)
        assert not left_out or "--json has all" in left_out
        missing = {word for word in missing if word not in ("licence", "pairs", "format")}
        assert missing <= {"Q4_K_M", "Apache-2.0", "qwen2.5-coder-1.5b", "Community", "License"}
    elif command == ("doctor",):
        missing = {word for word in missing if not word[0].isdigit()}  # memory changes from run to run
        assert not missing
    else:
        assert not missing
