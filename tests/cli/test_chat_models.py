"""The models of the chat: downloaded on the first start, chosen while it runs, loaded again the next time."""

from __future__ import annotations

import pytest

from specdesk import paths
from specdesk.hub.here.chosen import Chosen, remember, remembered
from specdesk.hub.manifest import load_manifest
from tests.cli.terminal import Start
from tests.tiny.gguf_models import TinyPair

SEND = "\r"
ESCAPE = "\x1b"
QUIT = "\x11"
MODELS = "\x0f"

INCOMPLETE = "specdesk: the pair qwen2.5-coder-1.5b is not complete"


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def test_without_models_and_network_it_opens_and_says_what_can_be_done(open_chat: Start) -> None:
    chat = open_chat()
    chat.see("is not on this disk yet")
    chat.see("HF_HUB_OFFLINE is set, so nothing is downloaded")
    chat.see("O other models")
    chat.type(SEND)
    chat.type(QUIT)
    assert chat.ended() == 0
    assert not list(paths.models_dir().rglob("*.gguf*"))


def test_left_without_models_it_says_how_to_get_them(open_chat: Start) -> None:
    chat = open_chat()
    chat.see("O other models")
    chat.type(ESCAPE)
    assert "No models yet. Ctrl+O" in chat.see("no models yet · Ctrl+O chooses them")
    chat.type(QUIT)
    assert chat.ended() == 0
    assert INCOMPLETE not in chat.last


def test_no_download_is_kept_before_the_screen_is_taken(open_chat: Start) -> None:
    chat = open_chat("--no-download")
    assert chat.ended() == 3
    assert INCOMPLETE in chat.last
    assert "\x1b[?1049h" not in chat.last


def test_the_models_chosen_last_are_loaded_again(open_chat: Start, tiny_pair: TinyPair) -> None:
    remember(Chosen(None, tiny_pair.target, tiny_pair.draft))
    chat = open_chat()
    assert "tiny target" in chat.see("Enter sends")
    chat.type(QUIT)
    assert chat.ended() == 0


def test_options_outrank_what_was_chosen_last(open_chat: Start, tiny_pair: TinyPair) -> None:
    remember(Chosen(None, tiny_pair.draft, None))
    chat = open_chat("--target", tiny_pair.target)
    assert "tiny target" in chat.see("Enter sends")
    chat.type(QUIT)
    assert chat.ended() == 0


def test_models_chosen_last_that_are_gone_are_named(open_chat: Start, tiny_pair: TinyPair) -> None:
    remember(Chosen(None, tiny_pair.target.with_name("gone.gguf"), None))
    chat = open_chat()
    chat.see("O other models")
    chat.type(ESCAPE)
    assert "note: the models chosen last time" in chat.see("no models yet · Ctrl+O chooses them")
    chat.type(QUIT)
    assert chat.ended() == 0


def test_other_models_are_loaded_while_it_runs(start: Start, tiny_pair: TinyPair) -> None:
    chat = start("-n", 60)
    chat.type(MODELS)
    chat.see("Type to filter")
    chat.type("draft.gguf")
    chat.see("tiny draft")
    chat.type(SEND)
    chat.see("A draft for tiny draft")
    chat.type(SEND)
    chat.see(lambda screen: "Enter sends" in screen and "specdesk   tiny draft" in screen)
    chat.type("Hello" + SEND)
    chat.see("60 tokens")
    chat.type(QUIT)
    assert chat.ended() == 0
    assert remembered(load_manifest()) == Chosen(None, tiny_pair.draft, None)
