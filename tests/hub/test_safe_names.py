"""Names from elsewhere stay inside the models folder, on every system."""

from __future__ import annotations

import pytest

from specdesk.hub.safe_names import unsafe


@pytest.mark.parametrize(
    "name",
    [
        "x.gguf",
        "Q4/x-00001-of-00002.gguf",
        "Qwen2.5 (1.5B) + [draft].gguf",
        "日本語.gguf",
        "ني\u200cم.gguf",
        "a..b.gguf",
        "console.gguf",
    ],
)
def test_what_a_file_may_be_called(name: str) -> None:
    assert unsafe(name) == ""


@pytest.mark.parametrize(
    "name",
    [
        "../../x.gguf",
        "a/../../x.gguf",
        "/etc/x.gguf",
        "a//x.gguf",
        "./x.gguf",
        "a/",
        "",
        "C:\\x.gguf",
        "C:x.gguf",
        "a\\..\\..\\x.gguf",
        "..\\x.gguf",
        "x.gguf:stream",
        ".x.gguf",
        ".git/x.gguf",
        "a./x.gguf",
        "a /x.gguf",
        "NUL.gguf",
        "com1",
        "con/x.gguf",
        "x\0.gguf",
        "x\n.gguf",
        "x\x1b[31m.gguf",
        "x\x9b31m.gguf",
        "x\u202efugg.exe.gguf",
        "x\u2066.gguf",
        "x\u2028.gguf",
        "x?.gguf",
        "\udcff.gguf",
        f"{'x' * 201}.gguf",
        f"{'語' * 67}.gguf",
    ],
)
def test_what_it_may_not_be_called(name: str) -> None:
    assert unsafe(name)
