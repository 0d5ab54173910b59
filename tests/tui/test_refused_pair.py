"""What remains when a pair is refused: the chats that were had with it, and another choice once files change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from specdesk import paths
from specdesk.engine.loaded import LoadedPair
from specdesk.engine.stop import StopFlag
from specdesk.errors import ModelError
from specdesk.hub.here.chosen import Chosen
from specdesk.settings import EngineSettings
from specdesk.store.chat_store import ChatStore
from specdesk.tui.chat.state import State
from specdesk.tui.widgets.chats import Chats
from tests.store.samples import ask
from tests.tiny.gguf_models import BYTES, DRAFT, TARGET, write
from tests.tiny.gguf_stubs import WORDS, write_stub
from tests.tui.models import SMALL, ModelsChat, put


async def test_a_chat_opens_although_its_pair_is_refused_now(store: ChatStore, tmp_path: Path) -> None:
    """What loading says is the engine's own; it names the rule, and the way to plain decoding."""
    target = write(tmp_path / "target.gguf", TARGET)
    draft = write(tmp_path / "draft.gguf", replace(DRAFT, vocabulary=BYTES.swapped(100, 101)))
    with pytest.raises(ModelError) as refused:
        LoadedPair(EngineSettings(target, draft, 64, n_threads=1), pytest.fail, StopFlag())
    chat_id = store.create_chat("Tides").id
    ask(store, chat_id, None, "why are there tides", "because of the moon")
    chat = ModelsChat(store, first=Chosen(None, target, draft), errors={target: refused.value})
    async with chat.run() as see:
        await see.until_state(State.BROKEN)
        await see.says("token 100 is", "in the draft and", "in the target", "decode plainly with -k 0")
        see.chat.open_chat(Chats.Opened(see.chat.query_one(Chats), chat_id, None))
        await see.says("why are there tides", "because of the moon")
    assert chat.loads == [Chosen(None, target, draft)]


async def test_a_verdict_holds_as_long_as_the_files_do(store: ChatStore) -> None:
    put(SMALL)
    folder = paths.models_dir()
    target = write_stub(folder / "t.gguf", "The Target")
    draft = write_stub(folder / "d.gguf", "The Draft", words=[*WORDS[:4], "x", "c"])
    mmproj = write_stub(folder / "mmproj.gguf", architecture="clip", purpose="mmproj", words=[])
    async with ModelsChat(store).run() as see:
        await see.until_state(State.READY)
        await see.open_picker()
        await see.says("mmproj.gguf", "it is no language model")
        await see.point_at(f"file {target}")
        await see.press("enter")
        await see.says("Cannot draft for it", "The Draft")
        assert "mmproj" not in see.text, "what is no language model has no say in a pair"
        await see.press("escape", "escape")
        await see.until_state(State.READY)
        write_stub(draft, "The Draft", n_padding=4)
        mmproj.unlink()
        await see.open_picker()
        assert "mmproj" not in see.text
        await see.point_at(f"file {target}")
        await see.press("enter")
        await see.point_at(f"file {draft}")
        await see.says("the same vocabulary")
        assert "Cannot draft for it" not in see.text
