"""The chat over real models: half a megabyte each, through llama.cpp in the engine's own process."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specdesk.core.events import Event, Finished, Step
from specdesk.core.names import DrafterName
from specdesk.core.sampling import Sampling
from specdesk.engine import process
from specdesk.engine.client import AnswerOptions, Engine, Message, StopFlag
from specdesk.settings import EngineSettings
from specdesk.store.chat_store import ChatStore
from specdesk.tokenview import Kind
from specdesk.tui.chat.state import State
from specdesk.tui.chat_options import ChatOptions
from specdesk.tui.view import View
from tests.cli.shell import specdesk
from tests.tiny.gguf_models import TinyPair
from tests.tui.driver import Chat, Driver, chat_over

GREEDY = ChatOptions(Sampling(0.0), lookahead=4, seed=5, max_tokens=80, drafter=DrafterName.MODEL)


def real_chat(store: ChatStore, settings: EngineSettings, options: ChatOptions = GREEDY) -> Chat:
    def load(notify: Callable[[str], None], stop: StopFlag, progress: Callable[[str], None]) -> Engine:
        return Engine(settings, notify, stop, progress)

    return chat_over(load, store, settings, options)


async def answered(see: Driver, text: str) -> None:
    """Asks, and waits for the end of the answer, which may come at once."""
    n_answers = len(see.transcript.answers)
    see.prompt.insert(text)
    await see.pilot.press("enter")
    await see.until(
        lambda: len(see.transcript.answers) > n_answers and see.last.message is not None, "the end of the answer"
    )
    await see.until_state(State.READY)


def settings_of(target: Path, draft: Path | None) -> EngineSettings:
    return EngineSettings(target, draft, 1024, n_threads=1, measure=False)


@pytest.mark.parametrize("own", [True, False])
async def test_what_is_painted_is_what_a_headless_run_tells(
    store: ChatStore, tiny_pair: TinyPair, tmp_path: Path, own: bool
) -> None:
    """Token by token; and of what a target drafts for itself everything is accepted."""
    draft = tiny_pair.target if own else tiny_pair.draft
    trace = tmp_path / "trace.jsonl"
    done = specdesk(
        *("run", "Hello", "--target", tiny_pair.target, "--draft", draft, "--ctx", 1024, "--threads", 1),
        *("-t", 0, "-k", 4, "-n", 80, "--seed", 5, "--drafter", "model", "--json", "--trace", trace),
    )
    result = json.loads(done.stdout)
    stats, told = result["stats"], [tokens_of(json.loads(line)) for line in trace.read_text().splitlines()]
    chat = real_chat(store, settings_of(tiny_pair.target, draft))
    async with chat.run(size=(120, 60), view=View.TOKENS) as see:
        await answered(see, "Hello")
        assert see.last.text == result["text"]
        assert f"accepted {stats['accepted']} of {stats['accepted'] + stats['rejected']} (" in see.shown()
        spans = see.last.tokens.spans
        (kept,) = store.chats()
        assert [tokens_of(step) for step in store.trace(store.conversation(kept.id)[-1].id)] == told
    kinds = Counter(kind for step in told for _, kind in step)
    assert kinds["accepted"] == stats["accepted"]
    assert kinds["rejected"] == stats["rejected"]
    painted = Counter(span.kind.value for span in spans)
    # What is only part of a character has no text of its own.
    assert painted <= kinds
    assert painted["rejected"] == kinds["rejected"]
    if own:
        assert set(painted) == {Kind.ACCEPTED, Kind.BONUS}
        assert painted[Kind.ACCEPTED] > 50
    else:
        assert painted[Kind.REJECTED] > 3


def tokens_of(step: Mapping[str, Any]) -> list[tuple[int, str]]:
    """The tokens of a line of a trace, with what became of them."""
    refused = [(token["id"], token["decision"]) for token in step["drafted"] if token["decision"] != "accepted"]
    return refused + [(token["id"], token["source"]) for token in step["written"]]


class Timed(Engine):
    """Takes the time of an answer, from the first token to the last."""

    took_s = 0.0

    def chat(self, messages: Sequence[Message], options: AnswerOptions) -> Iterator[Event]:
        for event in super().chat(messages, options):
            if isinstance(event, Step) and event.index == 0:
                began_s = time.perf_counter()
            if isinstance(event, Finished):
                self.took_s = time.perf_counter() - began_s
            yield event


async def test_an_answer_takes_no_longer_for_being_shown(
    store: ChatStore, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a model that writes some 200 tokens a second; the best of three, since others use this machine too."""
    before, then = process._BOOT.split("; ", 2)[:2], process._BOOT.split("; ", 2)[2]
    slow = "def slow(*args): time.sleep(0.005); return extend(*args)\nLlamaLM.extend = slow"
    monkeypatch.setattr(
        process,
        "_BOOT",
        f"{'; '.join(before)}\nimport time\nfrom specdesk.engine.llama import LlamaLM\n"
        f"extend = LlamaLM.extend\n{slow}\nfrom specdesk.engine.worker import main\n{then}",
    )
    settings = settings_of(tiny_pair.target, None)
    options = replace(GREEDY, lookahead=0, max_tokens=200)
    engines: list[Timed] = []

    def load(notify: Callable[[str], None], stop: StopFlag, progress: Callable[[str], None]) -> Engine:
        engines.append(Timed(settings, notify, stop, progress))
        return engines[-1]

    with Timed(settings, lambda _: None, StopFlag()) as engine:
        list(engine.chat([Message("user", "Hello")], options.answer_options(0)))
    chat = chat_over(load, store, settings, options)
    async with chat.run(view=View.LIVE) as see:
        shares: list[float] = []
        while len(shares) < 3 and max(shares, default=0.0) < 0.95:
            await answered(see, "Hello")
            shares.append(engine.took_s / engines[0].took_s)
    assert engine.took_s > 1.0
    assert max(shares) >= 0.95, shares
