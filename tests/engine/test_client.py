"""The engine's process: the same answers as in this one, stops that arrive, and deaths that are survived."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from specdesk.core.events import Event, Finished, HistoryCut, PromptRead, PromptTokens, Step, StopReason
from specdesk.core.interrupted import Interrupted
from specdesk.core.sampling import Sampling
from specdesk.engine import process
from specdesk.engine.client import Engine, EngineBugError, tune, undo_tuning
from specdesk.engine.message import Message
from specdesk.engine.options import AnswerOptions
from specdesk.engine.stop import StopFlag
from specdesk.engine.worker import Stops
from specdesk.errors import EngineDiedError, ModelError, UsageError
from specdesk.settings import EngineSettings
from tests.answers import ids, reason, text
from tests.engine.conftest import OpenEngine
from tests.tiny.gguf_models import TinyPair

GREEDY = AnswerOptions(Sampling(0.0), seed=1, lookahead=4, max_tokens=60)
ENDLESS = replace(GREEDY, max_tokens=None)
HELLO = [Message("user", "Hello")]
PATIENCE_S = 20.0

Start = Callable[..., Engine]


@pytest.fixture
def start(tiny_pair: TinyPair) -> Iterator[Start]:
    """Starts engines over the tiny pair; what a test leaves open is closed at its end."""
    started: list[Engine] = []

    def start_one(*, n_ctx: int = 512, stop: StopFlag | None = None, verbose: bool = False) -> Engine:
        settings = EngineSettings(tiny_pair.target, tiny_pair.draft, n_ctx, n_threads=1, measure=False)
        started.append(Engine(settings, lambda _: None, stop or StopFlag(), verbose=verbose))
        return started[-1]

    yield start_one
    for engine in started:
        engine.close()


def children() -> list[psutil.Process]:
    """Those of this process, but for the one that multiprocessing starts once where a test had work done in a child."""
    return [child for child in psutil.Process().children() if "resource_tracker" not in " ".join(child.cmdline())]


def booting(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Let processes from now on run `code` before they serve."""
    setup = "from specdesk.engine.loaded import LoadedPair\n"
    monkeypatch.setattr(
        process, "_BOOT", f"import sys; sys.path[:] = sys.argv[3:]\n{setup}{code}\n{process._BOOT.split('; ', 2)[2]}"
    )


def timeless(event: Event) -> Event:
    match event:
        case PromptRead():
            return replace(event, elapsed_s=0.0)
        case Step():
            return replace(event, draft_s=0.0, target_s=0.0, step_s=0.0, plain_s=None)
        case HistoryCut() | PromptTokens() | Finished():
            return event


class TestSameAsHere:
    @pytest.mark.parametrize("temperature", [0.0, 1.0])
    def test_answers(self, start: Start, tiny_pair: TinyPair, open_engine: OpenEngine, temperature: float) -> None:
        here, there = open_engine(tiny_pair.target, tiny_pair.draft), start()
        options = replace(GREEDY, sampling=Sampling(temperature), placed=True, tells_prompt=True)
        for asked in range(2):
            one = list(here.chat(HELLO, replace(options, answer=asked)))
            other = list(there.chat(HELLO, replace(options, answer=asked)))
            assert [timeless(event) for event in one] == [timeless(event) for event in other]
        assert text(here.complete("Once", options)) == text(there.complete("Once", options))

    def test_all_else(self, start: Start, tiny_pair: TinyPair, open_engine: OpenEngine) -> None:
        here, there = open_engine(tiny_pair.target, tiny_pair.draft), start()
        assert here.prompt_ids(HELLO) == there.prompt_ids(HELLO)
        answer = ids(here.chat(HELLO, GREEDY))
        assert here.closeness(HELLO, answer, 3, (40, 50), 4) == there.closeness(HELLO, answer, 3, (40, 50), 4)
        one, other = here.agreement(HELLO, answer, Sampling()), there.agreement(HELLO, answer, Sampling())
        assert one is not None
        assert other == one
        assert here.machine() == there.machine()
        assert here.info.target == there.info.target
        assert here.info.draft == there.info.draft

    def test_forgetting(self, start: Start) -> None:
        engine = start()
        first = list(engine.chat(HELLO, GREEDY))
        engine.forget()
        again = list(engine.chat(HELLO, GREEDY))
        assert ids(first) == ids(again)
        assert isinstance(again[0], PromptRead)
        assert again[0].n_reused > 0


class TestErrors:
    def test_of_a_question(self, start: Start) -> None:
        engine = start()
        with pytest.raises(UsageError, match="the prompt is empty"):
            engine.chat([Message("user", " ")], GREEDY)
        assert reason(engine.chat(HELLO, GREEDY)) is StopReason.LENGTH

    def test_of_a_load(self, tiny_pair: TinyPair) -> None:
        missing = tiny_pair.draft.with_name("missing.gguf")
        with pytest.raises(ModelError, match=r"missing\.gguf") as caught:
            Engine(EngineSettings(tiny_pair.target, missing), lambda _: None, StopFlag())
        assert "specdesk download" in caught.value.hint
        assert not children()

    def test_of_tuning(self, tiny_pair: TinyPair) -> None:
        for call in (
            lambda settings: tune(settings, print, print, StopFlag()),
            lambda settings: undo_tuning(settings, print),
        ):
            with pytest.raises(UsageError, match="nothing to tune"):
                call(EngineSettings(tiny_pair.target))

    def test_a_bug_keeps_its_traceback(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        booting(monkeypatch, "def broken(*_): raise ZeroDivisionError('a bug of ours')\nLoadedPair.chat = broken")
        engine = start()
        with pytest.raises(EngineBugError, match=r"in broken(?s:.*)ZeroDivisionError: a bug of ours"):
            engine.chat(HELLO, GREEDY)
        assert reason(engine.complete("Hello", GREEDY)) is StopReason.LENGTH

    def test_progress_arrives_while_it_loads(self, tiny_pair: TinyPair) -> None:
        said: list[str] = []
        settings = EngineSettings(tiny_pair.target, tiny_pair.draft, n_threads=1)
        with Engine(settings, lambda _: None, StopFlag(), said.append):
            of_target = [line for line in said if "loading target.gguf" in line]
            assert of_target[-1].endswith("100%")
            assert len(of_target) == len(set(of_target)) > 1
            assert said.index("loading draft.gguf: 100%") < said.index("measuring what passes cost here")

    def test_notices_arrive_while_it_loads(self, tiny_pair: TinyPair) -> None:
        notices: list[str] = []
        settings = EngineSettings(tiny_pair.target, n_threads=999, measure=False)
        with Engine(settings, notices.append, StopFlag()):
            assert any("--threads 999" in notice for notice in notices)


class TestStops:
    def test_in_the_middle_and_going_on(self, start: Start) -> None:
        stop = StopFlag()
        engine = start(n_ctx=4096, stop=stop)
        seen: list[Event] = []
        for event in engine.chat(HELLO, ENDLESS):
            seen.append(event)
            if len(ids(seen)) > 20:
                stop.set()
        assert reason(seen) is StopReason.CANCELLED
        assert 20 < len(ids(seen)) < 3000
        stop.clear()
        fresh = start(n_ctx=4096)
        assert ids(engine.chat(HELLO, GREEDY)) == ids(fresh.chat(HELLO, GREEDY))

    def test_while_a_long_prompt_is_read(self, start: Start) -> None:
        """Within half a second, in the middle of a pass; what was read stays and is reused."""
        stop = StopFlag()
        engine = start(n_ctx=16_384, stop=stop)
        long = "x y " * 3_500
        whole_s = time.perf_counter()
        events = engine.complete(long, replace(GREEDY, max_tokens=1))
        assert reason(events) is StopReason.LENGTH
        whole_s = time.perf_counter() - whole_s
        engine.forget()
        events = engine.complete("y" + long, GREEDY)
        next(events)
        began = time.perf_counter()
        stop.set()
        assert reason(events) is StopReason.CANCELLED
        assert time.perf_counter() - began < min(0.5, whole_s / 2)

    def test_from_another_thread(self, start: Start) -> None:
        stop = StopFlag()
        engine = start(n_ctx=4096, stop=stop)
        under_way = threading.Event()

        def cancel() -> None:
            under_way.wait(PATIENCE_S)
            stop.set()

        thread = threading.Thread(target=cancel)
        thread.start()
        seen: list[Event] = []
        for event in engine.chat(HELLO, ENDLESS):
            seen.append(event)
            under_way.set()
        thread.join()
        assert reason(seen) is StopReason.CANCELLED

    def test_before_it_begins(self, start: Start, tiny_pair: TinyPair) -> None:
        stop = StopFlag()
        engine = start(stop=stop)
        stop.set()
        seen = list(engine.chat(HELLO, ENDLESS))
        assert reason(seen) is StopReason.CANCELLED
        assert ids(seen) == []
        with pytest.raises(Interrupted):
            engine.closeness(HELLO, [50, 51], 1, (40, 41), 2)
        with pytest.raises(Interrupted):
            Engine(EngineSettings(tiny_pair.target), lambda _: None, stop)
        stop.clear()
        assert reason(engine.chat(HELLO, GREEDY)) is StopReason.LENGTH

    def test_an_answer_that_nobody_reads_to_its_end(self, start: Start) -> None:
        engine = start(n_ctx=2048)
        begun = engine.chat(HELLO, ENDLESS)
        next(begun)
        begun.close()  # type: ignore[attr-defined]
        assert reason(engine.chat(HELLO, GREEDY)) is StopReason.LENGTH
        engine.chat(HELLO, ENDLESS)  # not even begun
        forgotten = engine.chat(HELLO, ENDLESS)
        next(forgotten)
        assert reason(engine.chat(HELLO, GREEDY)) is StopReason.LENGTH
        with pytest.raises(ValueError, match="another question"):
            list(forgotten)

    def test_only_what_was_asked_before_it(self) -> None:
        """The two pipes are not in step: a stop may arrive before its request, or after its end."""
        stops = Stops()
        stops.begin()
        assert not stops.flag.is_set()
        stops.stop(1)
        assert stops.flag.is_set()
        stops.begin()
        assert not stops.flag.is_set()
        stops.stop(1)
        assert not stops.flag.is_set()
        stops.stop(3)
        assert stops.flag.is_set()
        stops.begin()
        assert stops.flag.is_set()
        stops.begin()
        assert not stops.flag.is_set()
        stops.stop(None)
        stops.begin()
        assert stops.flag.is_set()


class TestDeaths:
    @pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV, signal.SIGKILL])
    def test_while_it_answers(self, start: Start, number: signal.Signals) -> None:
        engine = start(n_ctx=4096)
        seen: list[Event] = []
        events = engine.chat(HELLO, ENDLESS)
        while len(ids(seen)) <= 20:
            seen.append(next(events))
        os.kill(engine.pid, number)
        with pytest.raises(EngineDiedError, match=number.name) as caught:
            seen.extend(events)
        assert ("out of memory" in caught.value.message) == (number is signal.SIGKILL)
        assert any("sched_reserve" in line for line in caught.value.log)
        with pytest.raises(ValueError, match="closed"):
            engine.chat(HELLO, GREEDY)
        assert reason(start().chat(HELLO, GREEDY)) is StopReason.LENGTH

    def test_between_answers(self, start: Start) -> None:
        engine = start()
        os.kill(engine.pid, signal.SIGKILL)
        with pytest.raises(EngineDiedError, match="SIGKILL"):
            list(engine.chat(HELLO, GREEDY))

    def test_while_it_loads(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        booting(monkeypatch, "import os\ndef end(*_): os._exit(7)\nLoadedPair.__init__ = end")
        with pytest.raises(EngineDiedError, match="ended with code 7"):
            start()
        assert not children()

    def test_the_words_of_an_abort_are_kept(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        booting(
            monkeypatch,
            "from llama_cpp import _ggml\n"
            "def abort(*_): _ggml.libggml.ggml_abort(b'x.c', 17, b'the %s is on fire', b'hayloft')\n"
            "LoadedPair.chat = abort",
        )
        with pytest.raises(EngineDiedError, match="SIGABRT") as caught:
            start().chat(HELLO, GREEDY)
        assert "the hayloft is on fire" in caught.value.log[-1]

    def test_of_the_client_ends_it_too(self, tiny_pair: TinyPair) -> None:
        code = f"""
from pathlib import Path
from specdesk.core.sampling import Sampling
from specdesk.engine.client import *
from specdesk.settings import EngineSettings
settings = EngineSettings(Path({str(tiny_pair.target)!r}), n_ctx=4096, n_threads=1, measure=False)
engine = Engine(settings, print, StopFlag())
events = engine.complete("Hello", AnswerOptions(Sampling(0.0), 1))
next(events)
print("pid", engine.pid, flush=True)
for event in events:
    pass
input()
"""
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
            assert client.stdout is not None
            lines = iter(client.stdout.readline, b"")
            pid = int(next(line for line in lines if line.startswith(b"pid")).split()[1])
            engine = psutil.Process(pid)
            client.kill()
        engine.wait(PATIENCE_S)


class TestSurroundings:
    def test_the_current_folder_is_no_source_of_modules(
        self, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("json", "msgspec", "numpy", "specdesk"):
            (tmp_path / f"{name}.py").write_text("raise SystemExit('mine')")
        monkeypatch.chdir(tmp_path)
        assert reason(start().chat(HELLO, GREEDY)) is StopReason.LENGTH

    def test_what_is_printed_does_not_get_between_the_replies(
        self, start: Start, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        booting(
            monkeypatch,
            "import os\nforget = LoadedPair.forget\n"
            "def noisy(self): print('stray', flush=True); os.write(1, b'native'); forget(self)\n"
            "LoadedPair.forget = noisy",
        )
        engine = start()
        engine.forget()
        assert reason(engine.chat(HELLO, GREEDY)) is StopReason.LENGTH
        assert capfd.readouterr() == ("", "")

    def test_what_llama_cpp_says_is_shown_when_asked_for(self, start: Start, capfd: pytest.CaptureFixture[str]) -> None:
        start(verbose=True).close()
        out, err = capfd.readouterr()
        assert out == ""
        assert "general.architecture" in err

    def test_keys_of_the_terminal_do_not_reach_it(self, start: Start) -> None:
        assert os.getsid(start().pid) != os.getsid(0)

    def test_nothing_is_left_behind(self, start: Start) -> None:
        start().close()
        before = psutil.Process().num_fds()
        for _ in range(3):
            engine = start()
            engine.close()
            engine.close()
        assert psutil.Process().num_fds() == before
        assert not children()
        with pytest.raises(ValueError, match="closed"):
            engine.forget()
