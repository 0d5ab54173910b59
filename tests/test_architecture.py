"""The arrows point down, and each room loads only what is its own."""

from __future__ import annotations

import subprocess
import sys

import pytest
from importlinter.cli import lint_imports


def test_import_contracts() -> None:
    assert lint_imports(no_cache=True) == 0


@pytest.mark.parametrize(
    ("room", "foreign"),
    [
        (
            "specdesk.core.decode",
            ["llama_cpp", "textual", "typer", "huggingface_hub", "jinja2", "rich", "specdesk.errors"],
        ),
        ("specdesk.hub.download.fetch", ["llama_cpp", "textual", "typer"]),
        ("specdesk.engine.client", ["llama_cpp", "jinja2", "textual", "typer", "huggingface_hub"]),
        (
            "specdesk.store.chat_store",
            ["llama_cpp", "textual", "typer", "huggingface_hub", "numpy", "rich", "specdesk.core"],
        ),
    ],
)
def test_a_room_loads_nothing_foreign(room: str, foreign: list[str]) -> None:
    code = f"import sys, {room}; print([name for name in {foreign} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
