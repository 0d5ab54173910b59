"""Names that are offered for files."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdesk.tui.file_names import file_name, with_tilde


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("CSV parser", "CSV-parser.md"),
        ("../../etc/passwd", "etc-passwd.md"),
        ("-rf ~ $(x) `y` *?<>|:\"'\\ a", "rf-x-y-a.md"),
        (".hidden", "hidden.md"),
        ("a\0b\x1b[2Jc\nd\te\u2028f\u202eg", "a-b-2Jc-d-e-f-g.md"),
        ("\ud800", "chat.md"),
        ("", "chat.md"),
        ("🦜 👩‍👩‍👧", "chat.md"),
        ("潮汐について", "潮汐について.md"),
        ("हिन्दी में", "हिन्दी-में.md"),
        ("caf\u0065\u0301", "café.md"),
    ],
)
def test_nothing_a_shell_or_file_system_minds(title: str, name: str) -> None:
    assert file_name(title, ".md") == name


@pytest.mark.parametrize("title", ["word " * 100, "x" * 1000, "漢" * 1000, "漢字 " * 300])
def test_long_titles_are_cut_between_words_or_characters(title: str) -> None:
    name = file_name(title, "-answer.md")
    assert name.endswith("-answer.md")
    assert 40 < len(name.removesuffix("-answer.md").encode()) <= 60
    assert "\ufffd" not in name


def test_the_home_directory_is_a_tilde(own_home: Path) -> None:
    assert with_tilde(own_home / "a" / "b.gguf") == "~/a/b.gguf"
    assert with_tilde(own_home) == "~"
    assert with_tilde(Path("/elsewhere/b.gguf")) == "/elsewhere/b.gguf"
