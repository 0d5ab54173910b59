"""What a model of a recommended pair is called in the chat."""

from __future__ import annotations

from dataclasses import replace

from specdesk.engine.client import EngineInfo, ModelInfo
from specdesk.hub.here.chosen import Chosen, of_pair
from specdesk.hub.manifest import Manifest
from specdesk.tui.models.own_names import with_own_names
from specdesk.tui.widgets.header import shortened
from tests.tui.models import OTHER, SMALL

MANIFEST = Manifest(SMALL.name, (), (SMALL, OTHER))
SIZE = SMALL.target.size_bytes


def info_of(chosen: Chosen, draft_file: str, n_bytes: int) -> EngineInfo:
    return EngineInfo(
        ModelInfo("Its Header", chosen.target.name, 0, SIZE), ModelInfo("Toy AWQ", draft_file, 0, n_bytes), 4096, 2
    )


def test_they_have_their_own_names() -> None:
    """Bug: the header of the default pair's draft calls it AWQ, which it is not."""
    chosen = of_pair(SMALL)
    assert chosen.draft is not None
    named = with_own_names(info_of(chosen, chosen.draft.name, SIZE), chosen, MANIFEST)
    assert named.draft is not None
    assert (named.target.name, named.draft.name) == (SMALL.target.name, SMALL.draft.name)


def test_other_files_are_called_as_they_say() -> None:
    chosen = of_pair(SMALL)
    assert chosen.draft is not None
    for info in (info_of(chosen, "tuned.gguf", SIZE), info_of(chosen, chosen.draft.name, SIZE + 1)):
        named = with_own_names(info, chosen, MANIFEST)
        assert named.draft == info.draft
    alone = replace(info_of(chosen, "x", 1), draft=None)
    assert with_own_names(alone, replace(chosen, draft=None), MANIFEST).draft is None


def test_a_draft_is_shortened_by_the_words_of_names_with_hyphens_too() -> None:
    assert shortened("qwen2.5-coder-0.5b-q4_k_m", beside="qwen2.5-coder-1.5b-q4_k_m") == "0.5b"
