"""A/B: how it ends, and what becomes of the answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from specdesk.errors import EngineDiedError, GenerationError, StorageError, UsageError
from specdesk.store.chat_store import ChatStore
from specdesk.store.values import State as Kept
from specdesk.tui.chat.state import State
from specdesk.tui.comparing.comparison import Way
from specdesk.tui.figures import UNKNOWN
from specdesk.tui.screens.compare import CompareScreen
from tests.tui.compared import WORDS, Compared, both, drafted, plain, texts, told
from tests.tui.driver import Chat
from tests.tui.scripted import OPTIONS, prompt_read, step

Make = Callable[..., Chat]


class TestHowItEnds:
    async def test_a_stop_in_the_first(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run() as see:
            compared = await Compared.opened(see, "go")
            await compared.read()
            see.engine.feed(prompt_read(), *plain("aa", "bb"))
            await see.until(lambda: "aa" in compared.shown(), "its beginning")
            await see.pilot.press("escape")
            await compared.until_ended()
            assert see.engine.stopped
            assert (compared.stands(Way.PLAIN), compared.stands(Way.SPECULATIVE)) == ("stopped", "was not written")
            assert len(see.engine.asked) == 2
            assert compared.line("sameness") == ""
            await see.pilot.press("2")
            assert isinstance(chat.app.screen, CompareScreen)
            await see.pilot.press("escape")
            await compared.back()
            await see.ask("on")
            await see.answer(step([], "yes"))

    async def test_a_stop_in_the_second(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run() as see:
            compared = await Compared.opened(see, "go")
            await compared.read()
            await compared.first(*plain(*WORDS))
            see.engine.feed(prompt_read(), *drafted(*WORDS[:16]))
            await see.until(lambda: "16 tokens" in compared.measured(Way.SPECULATIVE), "its beginning")
            await see.pilot.press("escape")
            await compared.until_ended()
            assert compared.stands(Way.SPECULATIVE) == "stopped"
            assert compared.line("sameness") == "the same text, token for token, as far as both came (16 tokens)"
            assert compared.ratio == "3.20x"

    async def test_nothing_is_kept_before_the_end(self, make_chat: Make, store: ChatStore) -> None:
        chat = make_chat()
        async with chat.run() as see:
            compared = await Compared.opened(see, "go")
            await compared.read()
            await compared.first(*plain(*WORDS))
            await see.pilot.press("1")
            assert isinstance(chat.app.screen, CompareScreen)
            await see.pilot.press("escape")
            await compared.until_ended()
            assert not store.chats()
            await see.pilot.press("1")
            await compared.back()
            assert texts(see) == ["go", "".join(WORDS)]

    async def test_a_stop_while_the_prompt_is_read(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run() as see:
            compared = await Compared.opened(see, "go")
            see.engine.feed(prompt_read(500))
            await see.until(lambda: "499 of 500" in compared.line("verdict"), "the prompt")
            await see.pilot.press("escape", "escape")
            await compared.back()
            assert len(see.engine.asked) == 1

    @pytest.mark.parametrize("second", [False, True])
    async def test_an_error(self, make_chat: Make, second: bool) -> None:
        chat = make_chat()
        async with chat.run() as see:
            compared = await Compared.opened(see, "go")
            await compared.read()
            if second:
                await compared.first(*plain(*WORDS))
            see.engine.feed(prompt_read(), *plain("aa"), GenerationError("llama.cpp failed", "try again"))
            await compared.until_ended()
            failed = Way.SPECULATIVE if second else Way.PLAIN
            assert compared.stands(failed) == "failed"
            assert "llama.cpp failed" in compared.shown()
            assert "try again" in compared.shown()
            await see.pilot.press("s")
            await both(compared)
            assert "llama.cpp failed" not in compared.shown()

    async def test_an_error_of_the_prompt(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run() as see:
            compared = await Compared.opened(see, "go")
            see.engine.feed(UsageError("the prompt has 9999 tokens", "raise --ctx"))
            await compared.until_ended()
            assert "the prompt has 9999 tokens" in compared.shown()
            assert len(see.engine.asked) == 1

    @pytest.mark.parametrize("second", [False, True])
    async def test_the_engine_dies(self, make_chat: Make, store: ChatStore, second: bool) -> None:
        chat = make_chat()
        async with chat.run() as see:
            compared = await Compared.opened(see, "go")
            await compared.read()
            if second:
                await compared.first(*plain(*WORDS))
            see.engine.feed(prompt_read(), *plain("aa"))
            see.engine.feed(EngineDiedError("ended by SIGABRT", "", ("GGML_ASSERT([/x]) failed",)))
            await compared.until_ended()
            assert "GGML_ASSERT([/x]) failed" in compared.shown()
            await see.pilot.press("s")
            assert compared.screen._comparing.ended
            await see.pilot.press("1")
            await compared.back()
            await see.until_state(State.BROKEN)
            assert texts(see) == ["go", "".join(WORDS) if second else "aa"]
            await see.pilot.press("ctrl+l")
            await see.until_state(State.READY)
        (kept,) = store.chats()
        assert store.conversation(kept.id)[-1].state is (Kept.COMPLETE if second else Kept.FAILED)

    async def test_quitting_ends_the_engine(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run() as see:
            compared = await Compared.opened(see, "go")
            await compared.read()
            see.engine.feed(prompt_read(), *plain("aa"))
            await see.pilot.press("ctrl+q")
        assert chat.engine.closed

    async def test_ctrl_c_stops_then_quits(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run() as see:
            compared = await Compared.opened(see, "go")
            await compared.read()
            await see.pilot.press("ctrl+c")
            await compared.until_ended()
            await see.pilot.press("ctrl+c")
            await see.until(lambda: not chat.app.is_running, "the end of the app")

    async def test_swapping_runs_the_other_one_first(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run() as see:
            compared = await Compared.opened(see, "go")
            await both(compared)
            await see.pilot.press("s")
            await compared.until_asked(4)
            assert (compared.ratio, compared.line("sameness")) == (UNKNOWN, "")
            await compared.read()
            assert compared.line("verdict") == "1 of 2: with speculation, then plain"
            await compared.first(*drafted(*WORDS))
            await compared.second(*plain(*WORDS))
            assert [options.lookahead for _, options in see.engine.asked] == [0, 0, 4, 0, 4, 0]
            assert len({options.seed for _, options in see.engine.asked}) == 1
            assert compared.ratio == "3.20x"
            assert "".join(text for text, _ in compared.labels(Way.PLAIN)).split() == "".join(WORDS).split()


class TestKeeping:
    async def test_nothing_is_kept_unasked(self, make_chat: Make, store: ChatStore) -> None:
        chat = make_chat()
        async with chat.run() as see:
            await see.ask("one")
            await see.answer(step([], "re one"))
            (chat_id,) = [kept.id for kept in store.chats()]
            before = store.export(chat_id)
            compared = await Compared.opened(see)
            await both(compared)
            await see.pilot.press("escape")
            await compared.back()
            assert store.export(chat_id) == before
            assert texts(see) == ["one", "re one"]

    @pytest.mark.parametrize(("key", "lookahead", "steps"), [("1", 0, 20), ("2", 4, 5)])
    async def test_a_sibling_of_the_answer(
        self, make_chat: Make, store: ChatStore, key: str, lookahead: int, steps: int
    ) -> None:
        chat = make_chat()
        async with chat.run() as see:
            await see.ask("one")
            await see.answer(step([], "re one"))
            compared = await Compared.opened(see)
            await both(compared)
            await see.pilot.press(key)
            await compared.back()
            assert texts(see) == ["one", "".join(WORDS)]
            assert "‹2/2›" in see.shown()
            see.last.focus()
            await see.pilot.press("left_square_bracket")
            await see.until(lambda: texts(see) == ["one", "re one"], "the first answer")
        (kept,) = store.chats()
        answer = store.messages(kept.id)[-1]
        assert answer.settings is not None
        assert answer.stats is not None
        assert (answer.settings["lookahead"], answer.settings["seed"], answer.state) == (lookahead, 42, Kept.COMPLETE)
        assert answer.stats["generated_tokens"] == 20
        assert len(store.trace(answer.id)) == steps

    async def test_by_mouse_and_as_a_new_chat(self, make_chat: Make, store: ChatStore) -> None:
        chat = make_chat(options=replace(OPTIONS, system="be brief"))
        async with chat.run() as see:
            compared = await Compared.opened(see, "go [/there")
            await both(compared)
            await see.pilot.click(compared.view(Way.SPECULATIVE).query_one(".keep"))
            await compared.back()
            assert texts(see) == ["go [/there", "".join(WORDS)]
            assert see.prompt.text == ""
            await see.ask("on")
            assert [message.content for message in see.engine.asked[-1][0]] == [
                "be brief",
                "go [/there",
                "".join(WORDS),
                "on",
            ]
        (kept,) = store.chats()
        assert (kept.title, kept.system) == ("go [/there", "be brief")

    async def test_a_disk_that_refuses(
        self, make_chat: Make, store: ChatStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object) -> None:
            raise StorageError("chats.db: no space left [/", "make room")

        chat = make_chat()
        async with chat.run() as see:
            compared = await Compared.opened(see, "go")
            await both(compared)
            with monkeypatch.context() as disk:
                disk.setattr(store, "begin_answer", full)
                await see.pilot.press("1")
                await see.until(lambda: "no space left [/" in told(see), "the refusal")
            await see.pilot.press("1")
            await compared.back()
            assert texts(see) == ["go", "".join(WORDS)]
