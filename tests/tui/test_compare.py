"""A/B: what is asked for both answers of one question, and what is shown of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from specdesk.core.events import HistoryCut, Step
from specdesk.engine.client import EngineInfo, Message
from specdesk.errors import GenerationError, StorageError
from specdesk.store.chat_store import ChatStore
from specdesk.tokenview import Kind
from specdesk.tui.chat_options import ChatOptions
from specdesk.tui.comparing.comparison import Way
from specdesk.tui.figures import UNKNOWN
from specdesk.tui.screens.compare import CompareScreen
from tests.tui.compared import WORDS, Compared, both, drafted, numbered, plain, texts, told
from tests.tui.driver import Chat
from tests.tui.scripted import OPTIONS, TARGET, ScriptedEngine, prompt_read, step
from tests.tui.test_answer import CONTROLS, MARKUP

Make = Callable[..., Chat]
SIZES = [(40, 30), (80, 24), (120, 40)]


def begins(compared: Compared, text: str) -> bool:
    return compared.line("below").startswith(text)


class TestWhatIsAsked:
    async def test_the_last_question_twice_with_one_seed(self, make_chat: Make) -> None:
        options = ChatOptions(OPTIONS.sampling, lookahead=3, system="be brief", max_tokens=99)
        chat = make_chat(options=options)
        async with chat.run() as see:
            for text in ("one", "two"):
                await see.ask(text)
                await see.answer(step([], f"re {text}"))
            compared = await Compared.opened(see)
            await both(compared)
            reading, one, other = see.engine.asked[2:]
            said = (
                Message("system", "be brief"),
                Message("user", "one"),
                Message("assistant", "re one"),
                Message("user", "two"),
            )
            assert reading[0] == one[0] == other[0] == said
            assert (one[1].lookahead, other[1].lookahead) == (0, 3)
            assert replace(one[1], lookahead=3) == other[1]
            assert replace(reading[1], max_tokens=99) == one[1]
            assert reading[1].max_tokens == 1
            assert f"seed {one[1].seed}" in compared.shown()
            assert not see.engine.overlapped

    async def test_the_text_in_the_prompt(self, make_chat: Make, store: ChatStore) -> None:
        chat = make_chat(options=replace(OPTIONS, system="be brief"))
        async with chat.run() as see:
            compared = await Compared.opened(see, "first [/of] all")
            assert see.engine.asked[0][0] == (Message("system", "be brief"), Message("user", "first [/of] all"))
            assert "first [/of] all" in compared.shown()
            await both(compared)
            await see.pilot.press("escape")
            await compared.back()
            assert see.prompt.text == "first [/of] all"
            assert not see.transcript.turns
        assert not store.chats()

    async def test_what_is_in_the_prompt_is_asked_behind_what_was_said(self, make_chat: Make, store: ChatStore) -> None:
        chat = make_chat()
        async with chat.run() as see:
            await see.ask("one")
            await see.answer(step([], "1"))
            compared = await Compared.opened(see, "two")
            said = [Message("user", "one"), Message("assistant", "1"), Message("user", "two")]
            assert list(see.engine.asked[-1][0]) == said
            await both(compared)
            await see.pilot.press("1")
            await compared.back()
            (kept,) = store.chats()
            assert [message.text for message in store.conversation(kept.id)][:3] == ["one", "1", "two"]

    async def test_a_question_that_is_edited(self, make_chat: Make, store: ChatStore) -> None:
        chat = make_chat()
        async with chat.run() as see:
            for text in ("one", "two"):
                await see.ask(text)
                await see.answer(step([], f"re {text}"))
            see.transcript.turns[2].focus()
            await see.pilot.press("e")
            compared = await Compared.opened(see, " too")
            assert [message.content for message in see.engine.asked[-1][0]] == ["one", "re one", "two too"]
            await both(compared)
            await see.pilot.press("1")
            await compared.back()
            assert texts(see) == ["one", "re one", "two too", "".join(WORDS)]
            assert see.prompt.text == ""
        (kept,) = store.chats()
        assert len(store.messages(kept.id)) == 6

    async def test_without_a_question_nothing(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run() as see:
            await see.pilot.press("f3")
            await see.until(lambda: "nothing to compare yet" in told(see), "why not")
            assert not see.engine.asked

    async def test_without_drafting_nothing(self, make_chat: Make) -> None:
        chat = make_chat(options=replace(OPTIONS, lookahead=0))
        async with chat.run() as see:
            see.prompt.insert("go")
            await see.pilot.press("f3")
            await see.until(lambda: "both would be plain: K is 0" in told(see), "why not")
            assert not see.engine.asked

    async def test_a_store_that_refuses_is_all_that_is_said(
        self, make_chat: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Bug: there was nothing to compare yet, too."""

        def refused(*_: object) -> None:
            raise StorageError("chats.db: Input/output error")

        chat = make_chat()
        async with chat.run() as see:
            await see.ask("one")
            await see.answer(step([], "re"))
            monkeypatch.setattr(ChatStore, "conversation", refused)
            await see.pilot.press("f3")
            await see.until(lambda: "Input/output error" in see.shown(), "the error")
            await see.pilot.pause()
            assert told(see) == ""

    async def test_not_while_it_answers(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run() as see:
            await see.ask("one")
            await see.pilot.press("f3", "f3")
            await see.pilot.pause()
            assert len(see.engine.asked) == 1
            await see.answer(step([], "re"))
            await see.pilot.press("f3", "f3")
            await see.until(lambda: len(see.engine.asked) == 2, "the prompt is read")
            assert len([screen for screen in chat.app.screen_stack if isinstance(screen, CompareScreen)]) == 1


class TestWhatIsShown:
    async def test_labels_and_counts_are_those_of_the_events(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run() as see:
            compared = await Compared.opened(see, "go")
            assert "reading the prompt" in compared.line("verdict")
            await compared.read()
            assert compared.line("verdict") == "1 of 2: plain, then with speculation"
            assert (compared.stands(Way.PLAIN), compared.stands(Way.SPECULATIVE)) == ("is written now", "waits")
            await compared.first(*plain("aa", "bb", "cc"))
            assert compared.line("verdict") == "2 of 2: with speculation"
            assert (compared.stands(Way.PLAIN), compared.stands(Way.SPECULATIVE)) == ("done", "is written now")
            await compared.second(
                *numbered(
                    step(["aa", "bb"], "cc", rejected=["[x]"], ignored=["yy"]), step([], "dd"), step(["ee"], "ff")
                )
            )
            assert compared.labels(Way.PLAIN) == [(text, Kind.PLAIN) for text in ("aa", "bb", "cc")]
            answer = [
                ("aa", Kind.ACCEPTED),
                ("bb", Kind.ACCEPTED),
                ("[x]", Kind.REJECTED),
                ("yy", Kind.IGNORED),
                ("cc", Kind.REPLACEMENT),
                ("dd", Kind.PLAIN),
                ("ee", Kind.ACCEPTED),
                ("ff", Kind.BONUS),
            ]
            assert compared.labels(Way.SPECULATIVE) == answer
            await see.pilot.press("ctrl+g")
            await see.pilot.pause()
            refused = {Kind.REJECTED, Kind.IGNORED}
            assert compared.labels(Way.SPECULATIVE) == [piece for piece in answer if piece[1] not in refused]
            assert compared.measured(Way.PLAIN) == "25.0 tok/s · 0.1 s · 3 tokens · 1.00 per pass"
            assert "6 tokens · 2.00 per pass · accepted 3 of 4 (75%)" in compared.measured(Way.SPECULATIVE)
            assert compared.ratio == UNKNOWN
            assert "too little to judge" in compared.line("verdict")

    async def test_the_speedup_is_that_of_the_two_runs(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run() as see:
            compared = await Compared.opened(see, "go")
            await both(compared)
            # 20 x 0.04 s against 5 x 0.05 s, whatever the costs say of plain decoding.
            assert compared.ratio == "3.20x"
            assert compared.line("verdict") == "faster than plain, measured in these two runs"
            assert compared.line("sameness") == "the same text, token for token (20 tokens)"
            assert compared.line("notes") == ""

    async def test_a_token_tells_of_itself(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run() as see:
            compared = await Compared.opened(see, "go")
            await both(compared)
            await see.pilot.hover(compared.view(Way.SPECULATIVE).tokens, offset=(1, 0))
            await see.until(lambda: "‹w0 ›  accepted draft token" in compared.line("below"), "the token")

    async def test_when_nothing_was_drafted(self, make_chat: Make) -> None:
        """Without a draft model only text that was seen before is drafted."""
        chat = make_chat(
            engine=ScriptedEngine(EngineInfo(TARGET, None, 4096, 2)), options=replace(OPTIONS, lookahead=None)
        )
        async with chat.run() as see:
            compared = await Compared.opened(see, "go")
            await compared.read()
            await compared.first(*plain(*WORDS))
            await compared.second(*plain(*WORDS))
            assert compared.ratio == "1.00x"
            assert "both were plain decoding" in compared.line("verdict")
            assert "drafting did not pay here (no draft would pay: costs 24 ms, saves 11 ms)" in compared.line("notes")

    async def test_what_was_left_out_of_the_prompt(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run() as see:
            compared = await Compared.opened(see, "go")
            await compared.read()
            await compared.first(HistoryCut(2, 0, 900, 3000), *plain(*WORDS))
            await compared.second(HistoryCut(2, 0, 900, 3000), *drafted(*WORDS))
            assert "2 earlier messages not sent" in compared.line("notes")

    async def test_markup_is_shown_and_not_obeyed(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run(size=(160, 60)) as see:
            everything = " ".join(MARKUP)
            compared = await Compared.opened(see, f"ask {everything}")
            await compared.read()
            await compared.first(*plain(*(f"one {text}\n" for text in MARKUP)))
            see.engine.feed(prompt_read(), *plain(*(f"two {text}\n" for text in MARKUP)))
            see.engine.feed(GenerationError(f"fail {everything}", f"hint {everything}"))
            await compared.until_ended()
            shown = compared.shown()
            for text in MARKUP:
                assert f"one {text} " in shown
                assert f"two {text} " in shown
            for line in ("ask", "fail", "hint"):
                assert f"{line} {everything}" in shown
            assert "plain wrote ‹one [/⏎›" in compared.line("sameness")
            for y, text in enumerate(MARKUP):
                await see.pilot.hover(compared.view(Way.PLAIN).tokens, offset=(1, y))
                await see.until(partial(begins, compared, f"‹one {text}"[:14]), text)
                await see.pilot.click(compared.view(Way.PLAIN).tokens, offset=(5, y))
            assert chat.app.is_running

    async def test_control_characters_reach_no_terminal(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run() as see:
            compared = await Compared.opened(see, "go\x1b[2J\x9b")
            await compared.read()
            await compared.first(*plain(CONTROLS))
            see.engine.feed(
                prompt_read(), *numbered(step([CONTROLS], "x", rejected=[CONTROLS])), GenerationError(CONTROLS)
            )
            await compared.until_ended()
            shown = compared.shown().replace("\n", "")
            assert not [c for c in shown if ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0]

    @pytest.mark.parametrize("size", SIZES)
    async def test_it_fits(self, make_chat: Make, size: tuple[int, int]) -> None:
        odd = ("月が", "潮を", "引く", "👍🏽", "👩‍👩‍👧", "🇩🇪", "é", "e\u0301")
        chat = make_chat()
        async with chat.run(size=size) as see:
            compared = await Compared.opened(see, "潮汐 👩‍👩‍👧 " * 30)
            await compared.read()
            words = tuple(f"{text} " for text in odd * 5)
            await compared.first(*plain(*words))
            await compared.second(*drafted(*words))
            one, other = (compared.view(way).region for way in Way)
            assert (one.y == other.y) == (size[0] >= 100)
            assert compared.ratio == "3.20x"
            rows = compared.shown().splitlines()
            assert len(rows) == size[1]
            shown = " ".join(re.sub(r"[│╭╮╰╯─╷├┌┐└┘┤╴╶•×]", " ", "".join(rows)).split())
            for text in ("月が", "🇩🇪", "token for token", "per pass", "accepted"):
                assert text in shown
            for way in Way:  # rows drop the space they end with
                painted = "".join(text for text, _ in compared.labels(way))
                assert painted.replace(" ", "") == "".join(odd * 5)
            for view in (one, other):
                for y in range(view.y + 1, view.bottom - 1):
                    strip = chat.app.screen._compositor.render_strips()[y]
                    assert (strip.crop(view.x, view.x + 1).text, strip.crop(view.right - 1, view.right).text) == (
                        "│",
                        "│",
                    )


def test_the_scripted_answers_are_the_same_text() -> None:
    def written(steps: list[Step]) -> list[tuple[int, str]]:
        return [(token.id, token.text) for each in steps for token in each.tokens]

    assert written(plain(*WORDS)) == written(drafted(*WORDS))
