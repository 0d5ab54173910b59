"""What an answer looks like on the screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from textual.widgets import Digits

from specdesk.core.events import AnswerToken, Delta, Finished, Outcome, Source, Step, StopReason
from specdesk.core.names import DrafterName
from specdesk.core.tally import MIN_TOKENS
from specdesk.engine.client import EngineInfo
from specdesk.errors import GenerationError
from specdesk.tokenview import STYLES, Kind
from specdesk.tui.chat.state import State
from specdesk.tui.figures import UNKNOWN
from specdesk.tui.widgets.turns import UserTurn
from tests.tui.driver import Chat
from tests.tui.scripted import OPTIONS, TARGET, ScriptedEngine, step

Make = Callable[..., Chat]

MARKUP = ["[/", "[red]x", "[b + 1", "[@click=app.quit]x[/]", "\\[x", "[/red]"]
CONTROLS = "a\x1b[2Jb\x07c\rd\x00e\x7ff\x9bg"


async def test_the_answer_on_screen_is_the_answer(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("write hello")
        await see.answer(step(["def", " hello"], "():\n"), step([], "    pass\n"), step(["\n", "hello"], "()"))
        assert see.last.figures.answer.text == "def hello():\n    pass\n\nhello()"
        lines = [line.rstrip() for line in see.shown().splitlines()]
        top = next(y for y, line in enumerate(lines) if "def hello():" in line)
        column = lines[top].index("def")
        assert [line[column:80].rstrip() for line in lines[top : top + 4]] == [
            "def hello():",
            "    pass",
            "",
            "hello()",
        ]


async def test_each_token_is_painted_as_what_it_is(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("go")
        await see.stream(
            step(["aa", "bb"], "cc"),
            step([], "dd"),
            step(["ee"], "ff", rejected=["gg"], ignored=["hh"]),
            step([], "ii", rejected=["jj"]),
        )
        with_rejected = see.labels()
        await see.pilot.press("ctrl+g")
        await see.pilot.pause()
        without = see.labels()
        await see.pilot.press("ctrl+g")
        await see.pilot.pause()
        again = see.labels()
    answer = [
        ("aa", Kind.ACCEPTED),
        ("bb", Kind.ACCEPTED),
        ("cc", Kind.BONUS),
        ("dd", Kind.PLAIN),
        ("ee", Kind.ACCEPTED),
        ("ff", Kind.REPLACEMENT),
        ("ii", Kind.REPLACEMENT),
    ]
    assert without == answer
    assert (
        with_rejected
        == again
        == [
            *answer[:5],
            ("gg", Kind.REJECTED),
            ("hh", Kind.IGNORED),
            answer[5],
            ("jj", Kind.REJECTED),
            answer[6],
        ]
    )


async def test_without_a_draft_nothing_is_marked(make_chat: Make) -> None:
    options = replace(OPTIONS, drafter=DrafterName.MODEL)
    chat = make_chat(engine=ScriptedEngine(EngineInfo(TARGET, None, 4096, 2)), options=options)
    async with chat.run() as see:
        assert "no draft model" in see.shown()
        await see.ask("go")
        await see.answer(*(step([], f" w{i}", index=i) for i in range(MIN_TOKENS + 4)))
        assert not any(style.bold or style.underline for _, style in see.painted())
        assert see.screen.query_one("#speedup", Digits).value == UNKNOWN


@pytest.mark.parametrize("text", MARKUP)
async def test_markup_is_shown_and_not_obeyed(make_chat: Make, text: str) -> None:
    chat = make_chat(notices=[f"notice {text}"])
    async with chat.run() as see:
        await see.ask(f"ask {text}")
        await see.answer(step([f"get {text}"], f"{text}"))
        await see.ask("again")
        see.engine.feed(GenerationError(f"fail {text}", f"hint {text}"))
        await see.until_state(State.READY)
        shown = see.shown()
        assert TARGET.name in shown
        for line in ("notice", "ask", "get", "fail", "hint"):
            assert f"{line} {text}" in shown
        for widget in (*see.screen.query(UserTurn), see.last):
            await see.pilot.click(widget)
        assert chat.app.is_running


async def test_control_characters_reach_no_terminal(make_chat: Make) -> None:
    chat = make_chat(notices=[CONTROLS])
    async with chat.run() as see:
        await see.ask(CONTROLS)
        await see.answer(step([CONTROLS], CONTROLS, rejected=[CONTROLS]))
        await see.ask("again")
        see.engine.feed(GenerationError(CONTROLS))
        await see.until_state(State.READY)
        shown = see.shown().replace("\n", "")
        assert not [c for c in shown if ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0]
        assert see.engine.asked[0][0][-1].content.startswith("a")


async def test_no_token_is_lost_when_many_come_at_once(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("go")
        steps = [step([f"a{i} ", "b "], f"c{i}\n", index=i) for i in range(1500)]
        await see.answer(*steps)
        expected = "".join(delta.text for each in steps for delta in each.deltas)
        assert see.last.figures.answer.text == expected
        assert see.last.tokens.size.height == 1501
        assert "".join(text for text, _ in see.painted()) == expected.replace("\n", "")


async def test_held_back_text_and_the_reason_of_the_end_are_shown(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("go")
        # A token whose bytes are only half a character gives no text yet.
        half = Step(
            0, 0, "fixed", None, "test", (), (AnswerToken(1, "\ufffd", Source.PLAIN, 1.0, 0.0),), (), 0, 0.1, 0.1
        )
        see.engine.feed(half, Finished(StopReason.LENGTH, (Delta("\ufffd!", Source.PLAIN),)))
        await see.until_state(State.READY)
        assert see.last.figures.answer.text == "\ufffd!"
        assert "cut at the token limit" in see.shown()


async def test_no_colour_leaves_the_other_cues(make_chat: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("go")
        await see.stream(step(["aa"], "bb", rejected=["cc"]), step([], "dd"), step(["ee"], "ff"))
        cues = {text: (bool(s.bold), bool(s.underline), bool(s.strike)) for text, s in see.painted()}
        colours = {str(s.color) for _, s in see.painted()}
    assert cues["aa"] == cues["ee"] == (False, False, False)
    assert cues["bb"] == (True, False, False)
    assert cues["dd"] == (True, True, False)
    assert cues["cc"] == (False, False, True)
    assert cues["ff"] == (False, True, False)
    assert len(colours) == 1


async def test_it_follows_the_end_until_the_user_scrolls_up(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run(size=(80, 20)) as see:
        await see.ask("go")
        await see.stream(*(step(["line"], f" {i}\n", index=i) for i in range(60)))
        transcript = see.transcript
        await see.until(lambda: transcript.scroll_y == transcript.max_scroll_y > 0, "at the end")
        await see.pilot.press("pageup")
        await see.until(lambda: transcript.scroll_y < transcript.max_scroll_y, "scrolled up")
        await see.until(lambda: transcript.scroll_y == transcript.scroll_target_y, "scrolling done")
        place = transcript.scroll_y
        await see.stream(*(step(["more"], f" {i}\n", index=i) for i in range(30)))
        assert transcript.scroll_y == place
        await see.pilot.press(*["pagedown"] * 9)
        await see.until(lambda: transcript.scroll_y == transcript.max_scroll_y, "at the end again")
        await see.stream(*(step(["yet"], f" {i}\n", index=i) for i in range(30)))
        assert transcript.scroll_y == transcript.max_scroll_y


def test_every_outcome_and_source_has_a_style() -> None:
    assert {*Source, Outcome.REJECTED, Outcome.IGNORED} == {kind.value for kind in STYLES}


async def test_an_answer_without_any_draft_is_plain_text(make_chat: Make) -> None:
    """Until the first draft: from there on all kinds are told apart, what stands there already too."""
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("go")
        await see.stream(step([], "one "), step([], "two ", index=1))
        assert {(style.bold, style.underline) for text, style in see.painted() if text.strip()} <= {
            (None, None),
            (False, False),
        }
        await see.stream(step(["three "], "four", index=2))
        assert see.labels()[0] == ("one ", Kind.PLAIN)
