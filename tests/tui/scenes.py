"""The main screens, each in a state worth looking at: the same on every machine and on every day.

Another screen that keys open from the chat is a line of SCENES: `"help": after("f1", says="Ctrl+C"),`.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from specdesk import paths
from specdesk.core.events import Alternative, Step
from specdesk.engine.client import EngineInfo, ModelInfo
from specdesk.errors import EngineDiedError, ModelError
from specdesk.hub.artifacts import Artifact, ModelFile, Pair, Shape
from specdesk.hub.download.report import Reporter
from specdesk.hub.here.chosen import of_pair
from specdesk.hub.here.on_disk import file_path
from specdesk.store.chat_store import ChatStore
from specdesk.store.values import State as Kept
from specdesk.tui.chat.state import State
from specdesk.tui.view import View
from specdesk.tui.widgets.chats import Chats
from tests.tiny.gguf_stubs import write_stub
from tests.tui.compared import Compared, numbered, plain
from tests.tui.driver import Chat, Driver, wait_until
from tests.tui.models import ModelsChat, ScriptedFetch, Seen
from tests.tui.scripted import PATIENCE_S, ScriptedEngine, prompt_read, step
from tests.tui.stage import shown

_QUESTION: Final = "Which moons pull at the sea? A table please, and Python for the height of the tide."
_ANSWER: Final = '''\
Two bodies matter, and the **nearer** one wins:

| body | mass, kg | pull on the sea |
| --- | ---: | ---: |
| Moon | 7.3e22 | 1.00 |
| Sun | 2.0e30 | 0.46 |

The height follows `cos`, twice a day:

```python
def height(t_h: float, range_m: float = 4.2) -> float:
    """Metres above the mean, t_h hours after high water."""
    return range_m / 2 * cos(2 * pi * t_h / 12.42)
```

1. Spring tides come with a *new* or *full* moon.
2. Neap tides come a week later.
'''
_OTHERWISE: Final = _ANSWER.replace("the **nearer** one wins", "the **Moon** pulls more than twice as much")
_EARLIER: Final = (
    ("Rename a shopping cart", "Call it `basket`."),
    ("A parser of CSV with quoted fields, in one pass", "A field ends at a comma outside quotes."),
    ("潮汐はなぜ起こるのか", "月が引く。The tide follows the Moon."),
    ("Why twice a day?", "The sea bulges on both sides: one tide towards the Moon, one away from it."),
)
_N_FOUND: Final = 4
"""Messages with a tide in them."""
_INFO: Final = EngineInfo(
    ModelInfo("Qwen2.5 Coder 1.5B Instruct", "target.gguf", 0),
    ModelInfo("Qwen2.5 Coder 0.5B Instruct", "draft.gguf", 0),
    4096,
    16,
)


class Clock:
    """Stands still unless it is set forward."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Stand:
    """Where scenes are played."""

    make_chat: Callable[..., Chat]
    store: ChatStore
    clock: Clock
    size: tuple[int, int]

    @asynccontextmanager
    async def chat(self, *, ready: bool = True, **kwargs: Any) -> AsyncIterator[Driver]:
        """The chat, with others of earlier days."""
        for title, answer in _EARLIER:
            question = self.store.add_question(self.store.create_chat(title).id, None, title)
            kept = self.store.begin_answer(question, {}, {})
            self.store.append(kept, answer)
            self.store.finish(kept, Kept.COMPLETE, {})
        chat = self.make_chat(engine=ScriptedEngine(_INFO), **kwargs)
        async with chat.run(size=self.size, view=View.LIVE, ready=ready) as see:
            yield see
            chat.may_load.set()

    @asynccontextmanager
    async def answered(self) -> AsyncIterator[Driver]:
        """The chat with an answer that is finished."""
        async with self.chat() as see:
            await see.ask(_QUESTION)
            await see.answer(*_drafted(_ANSWER))
            await see.until(lambda: "Neap tides" in see.shown(), "the end of the answer")
            yield see

    @asynccontextmanager
    async def models(self, fetch: ScriptedFetch | None = None) -> AsyncIterator[Seen]:
        """A chat with models to choose from; with `fetch`, none of them is here yet."""
        chat = ModelsChat(self.store, first=of_pair(_PAIRS[0]), pairs=_PAIRS)
        if fetch is None:
            _put(_PAIRS[0])
        else:
            chat.fetch = fetch
        async with chat.run(size=self.size) as see:
            yield see


Scene = Callable[[Stand], AbstractAsyncContextManager[Pilot[None]]]


def after(*keys: str, says: str) -> Scene:
    """What these keys make of the chat, once it says that."""

    @asynccontextmanager
    async def scene(stand: Stand) -> AsyncIterator[Pilot[None]]:
        async with stand.answered() as see:
            await see.pilot.press(*keys)
            await wait_until(see.pilot, lambda: says in " ".join(shown(see.pilot.app)), says)
            yield see.pilot

    return scene


@asynccontextmanager
async def _loading(stand: Stand) -> AsyncIterator[Pilot[None]]:
    async with stand.chat(load_at_once=False, said="loading the target, 1.1 GB", ready=False) as see:
        await see.until(lambda: "1.1 GB" in str(see.prompt.border_subtitle), "what is loaded")
        yield see.pilot


@asynccontextmanager
async def _ready(stand: Stand) -> AsyncIterator[Pilot[None]]:
    async with stand.chat() as see:
        yield see.pilot


@asynccontextmanager
async def _answering(stand: Stand) -> AsyncIterator[Pilot[None]]:
    async with stand.chat() as see:
        await see.ask(_QUESTION)
        see.engine.feed(prompt_read(40))
        await see.stream(*_drafted(_ANSWER[:480]))
        figures = see.screen.query_one("#figures", Static)
        await see.until(lambda: see.last.figures.acceptance in str(figures.render()), "the last figures")
        yield see.pilot


@asynccontextmanager
async def _answered(stand: Stand) -> AsyncIterator[Pilot[None]]:
    async with stand.answered() as see:
        yield see.pilot


@asynccontextmanager
async def _token(stand: Stand) -> AsyncIterator[Pilot[None]]:
    async with stand.answered() as see:
        see.last.focus()
        await see.pilot.press("left")
        told = see.screen.query_one("#token", Static)
        for _ in see.last.tokens.spans:
            if "replacement" in str(told.render()):
                break
            await see.pilot.press("left")
        yield see.pilot


@asynccontextmanager
async def _search(stand: Stand) -> AsyncIterator[Pilot[None]]:
    async with stand.answered() as see:
        await see.pilot.press("ctrl+f")
        search = see.screen.query_one(Chats).query_one(Input)
        await see.until(lambda: search.has_focus, "the search")
        await see.pilot.press(*"tide")
        found = see.screen.query_one(Chats).query_one(OptionList)
        await see.until(lambda: search.value == "tide" and found.option_count == _N_FOUND, "what was found")
        yield see.pilot


@asynccontextmanager
async def _crashed(stand: Stand) -> AsyncIterator[Pilot[None]]:
    async with stand.chat() as see:
        await see.ask(_QUESTION)
        see.engine.feed(prompt_read(40))
        await see.stream(*_drafted(_ANSWER[:120]))
        log = ("ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 536870912",)
        see.engine.feed(EngineDiedError("the engine's process ended by signal 9", "Ctrl+L loads the models again", log))
        await see.until_state(State.BROKEN)
        yield see.pilot


@asynccontextmanager
async def _not_loaded(stand: Stand) -> AsyncIterator[Pilot[None]]:
    error = ModelError(
        "draft.gguf cannot draft for target.gguf: token 151646 is '<|object_ref_start|>' in the draft and '[PAD]' in "
        "the target",
        "take a draft of the same family, or none with --no-draft",
    )
    async with stand.chat(load_error=error, ready=False) as see:
        await see.until_state(State.BROKEN)
        yield see.pilot


@asynccontextmanager
async def _compared(stand: Stand) -> AsyncIterator[Pilot[None]]:
    async with stand.answered() as see:
        compared = await Compared.opened(see)
        await compared.read()
        await compared.first(*plain(*_tokens(_ANSWER)))
        await compared.second(*_drafted(_OTHERWISE))
        yield see.pilot


@asynccontextmanager
async def _picker(stand: Stand) -> AsyncIterator[Pilot[None]]:
    folder = paths.models_dir()
    _grow(write_stub(folder / "llama-3.2-1b-q8_0.gguf", "Llama 3.2 1B Instruct"), 1_321_083_008)
    _grow(write_stub(folder / "mine" / "assistant.gguf", "An Assistant With a Name of Some Length"), 8_540_775_840)
    (folder / "half.gguf").write_bytes(b"GGUF")
    async with stand.models() as see:
        await see.until_state(State.READY)
        await see.open_picker()
        yield see.pilot


@asynccontextmanager
async def _offered(stand: Stand) -> AsyncIterator[Pilot[None]]:
    async with stand.models(ScriptedFetch()) as see:
        await see.says("Enter downloads")
        yield see.pilot


@asynccontextmanager
async def _arriving(stand: Stand) -> AsyncIterator[Pilot[None]]:
    target, draft = (artifact.files[0] for artifact in _PAIRS[0].artifacts)
    is_shown = threading.Event()

    def said(report: Reporter) -> None:
        report.start(target.path, target.size_bytes)
        stand.clock.now_s = 14
        report.advance(target.size_bytes)
        report.finish()
        report.start(draft.path, draft.size_bytes)
        # Textual rounds a bar that has no size yet in another way.
        is_shown.wait(PATIENCE_S)
        stand.clock.now_s = 18
        report.advance(123_400_000)

    async with stand.models(ScriptedFetch(said)) as see:
        await see.says("Enter downloads")
        await see.press("enter")
        await see.says("0 bytes of 491.4 MB")
        is_shown.set()
        await see.says("123.4 MB of 491.4 MB")
        yield see.pilot
        await see.press("escape")
        await see.says("Enter goes on")


SCENES: Final[dict[str, Scene]] = {
    "chat-loading": _loading,
    "chat-ready": _ready,
    "chat-answering": _answering,
    "chat-answered": _answered,
    "chat-token": _token,
    "chat-search": _search,
    "chat-crashed": _crashed,
    "chat-not-loaded": _not_loaded,
    "compare": _compared,
    "download-offered": _offered,
    "download-arriving": _arriving,
    "export": after("f5", says="Esc leaves it"),
    "help": after("f1", says="Ctrl+C"),
    "picker": _picker,
    "settings": after("ctrl+s", says="emperature"),
}
SIZES: Final = ((40, 24), (80, 24), (140, 45))


# --- what is said

_FATES: Final = ((4, 0, 0), (2, 1, 1), (4, 0, 0), (0, 1, 0), (3, 0, 0), (1, 1, 2), (0, 0, 0))
"""Draft tokens that are accepted, rejected, ignored; the target's own follows."""


def _tokens(text: str) -> list[str]:
    return re.findall(r"\n+|[ ]*(?:\w+|[^\w\s]+)|[ ]+", text)


def _drafted(text: str) -> list[Step]:
    """The steps of an answer, in which drafts fare as they often do."""
    rest = iter(_tokens(text))
    steps: list[Step] = []
    for accepted, rejected, ignored in cycle(_FATES):
        written = list(islice(rest, accepted + 1))
        if not written:
            return numbered(*steps)
        steps.append(
            _told(
                step(
                    written[:-1],
                    written[-1],
                    rejected=[" not"] * rejected,
                    ignored=[" so"] * ignored,
                    step_s=0.06,
                    plain_s=0.045,
                )
            )
        )
    raise AssertionError


def _told(made: Step) -> Step:
    others = (Alternative(1, " sea", 0.25), Alternative(2, " sky", 0.125), Alternative(3, "\n", 0.0625))
    return replace(made, tokens=tuple(replace(token, alternatives=others) for token in made.tokens))


# --- what is fetched and found


def _artifact(name: str, size_bytes: int, layers: int, heads: int, head_dim: int) -> Artifact:
    file = ModelFile(f"{name}-instruct-q4_k_m.gguf", size_bytes, "0" * 64)
    shape = Shape(layers, heads, head_dim, vocabulary=150_000, width=1500, inner=9000)
    return Artifact(name, f"maker/{name}-gguf", "main", "Apache-2.0", shape, (file,), None)


_SMALLEST: Final = _artifact("coder-0.5b", 491_400_064, 24, 2, 64)
_PAIRS: Final = (
    Pair(
        "coder-1.5b",
        _artifact("coder-1.5b", 1_117_320_768, 28, 2, 128),
        _SMALLEST,
        "Coder 1.5B with 0.5B: any laptop; the target is only 2.3 times the draft, so gains are small",
    ),
    Pair("coder-7b", _artifact("coder-7b", 4_683_073_536, 28, 4, 128), _SMALLEST, "Coder 7B with 0.5B: 16 GB laptop"),
    Pair("coder-32b", _artifact("coder-32b", 19_851_336_256, 64, 8, 128), _SMALLEST, "Coder 32B with 0.5B: 24 GB GPU"),
)


def _put(pair: Pair) -> None:
    for artifact in pair.artifacts:
        _grow(write_stub(file_path(artifact, artifact.files[0]), artifact.name.title()), artifact.size_bytes)


def _grow(path: Path, size_bytes: int) -> None:
    """As large as the real one, but a hole."""
    os.truncate(path, size_bytes)
