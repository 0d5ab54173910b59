"""A/B over real models: half a megabyte each, through llama.cpp in the engine's own process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from specdesk.core.names import RuleName
from specdesk.core.sampling import Sampling
from specdesk.engine.client import Engine, StopFlag
from specdesk.settings import EngineSettings
from specdesk.store.chat_store import ChatStore
from specdesk.tui.chat.state import State
from specdesk.tui.chat_options import ChatOptions
from specdesk.tui.comparing.comparison import Way
from specdesk.tui.screens.compare import CompareScreen
from tests.tiny.gguf_models import TinyPair
from tests.tui.compared import Compared
from tests.tui.driver import chat_over


@pytest.mark.parametrize(
    ("sampling", "rule"),
    [(Sampling(0.0), RuleName.BLOCK), (Sampling(0.8), RuleName.COUPLED)],
    ids=["greedy", "coupled"],
)
async def test_in_exact_mode_both_are_the_same(
    store: ChatStore, quantized_pair: TinyPair, sampling: Sampling, rule: RuleName
) -> None:
    settings = EngineSettings(quantized_pair.target, quantized_pair.draft, 512, n_threads=1, exact=True)

    def load(notify: Callable[[str], None], stop: StopFlag, progress: Callable[[str], None]) -> Engine:
        return Engine(settings, notify, stop, progress)

    options = ChatOptions(sampling, lookahead=4, seed=5, max_tokens=80, verify=rule)
    chat = chat_over(load, store, settings, options)
    app = chat.app
    async with chat.run(size=(120, 40)) as see:
        see.prompt.insert("Name three colours.")
        await see.pilot.press("f3")
        await see.until(lambda: isinstance(app.screen, CompareScreen), "the A/B screen")
        compared = Compared(see)
        await compared.until_ended()
        halves = compared.screen._comparing.halves
        assert compared.line("sameness") == "the same text, token for token (80 tokens)"
        assert compared.ratio.endswith("x")
        plain, speculative = (halves[way].figures.tally for way in Way)
        assert (plain.drafted, plain.tokens_per_pass) == (0, 1.0)
        assert speculative.accepted > 10
        await see.pilot.press("2")
        await compared.back()
        await see.until_state(State.READY)
        await see.pilot.press("f3")
        again = Compared(see)
        await see.until(lambda: isinstance(app.screen, CompareScreen), "the A/B screen")
        await again.until_ended()
        assert again.line("sameness") == "the same text, token for token (80 tokens)"
