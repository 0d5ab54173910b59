"""The engine as the other rooms see it: load a pair, ask for answers as events, stop one, close.

The models live in a process of their own, so that native code cannot take this one with it. Everything that crosses the
boundary is a plain record; nothing of llama.cpp is loaded here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Self, TypeVar

from specdesk.core.acceptance import Record
from specdesk.core.closeness import Closeness
from specdesk.core.events import Event
from specdesk.core.sampling import Sampling
from specdesk.engine import wire
from specdesk.engine.build_facts import BuildFacts, Device, DeviceKind
from specdesk.engine.build_limits import refuse_unfit, wants_gpu
from specdesk.engine.cores import best_threads, most_threads
from specdesk.engine.gpus import Gpu, Maker, seen_gpus
from specdesk.engine.grammar.json_schema import gbnf_of_schema
from specdesk.engine.info import EngineInfo, ModelInfo
from specdesk.engine.message import Message
from specdesk.engine.options import AnswerOptions, Overflow
from specdesk.engine.process import EngineBugError, EngineProcess
from specdesk.engine.requirement import BUILD_OPTIONS, install_command
from specdesk.engine.stop import StopFlag
from specdesk.engine.tuning.report import Report
from specdesk.engine.tuning.tuned import UNDO
from specdesk.settings import EngineSettings

__all__ = [
    "BUILD_OPTIONS",
    "UNDO",
    "AnswerOptions",
    "BuildFacts",
    "Closeness",
    "Device",
    "DeviceKind",
    "Engine",
    "EngineBugError",
    "EngineInfo",
    "Gpu",
    "Maker",
    "Message",
    "ModelInfo",
    "Overflow",
    "Report",
    "StopFlag",
    "ask_build",
    "best_threads",
    "check_build",
    "gbnf_of_schema",
    "install_command",
    "most_threads",
    "seen_gpus",
    "tune",
    "undo_tuning",
]

_Expected = TypeVar("_Expected")


class Engine:
    """A loaded pair. Used from one thread; the stop flag may be set from any.

    Whatever is asked raises EngineDiedError if the process is gone; then this is closed, and another one can be made.
    """

    def __init__(
        self,
        settings: EngineSettings,
        notify: Callable[[str], None],
        stop: StopFlag,
        progress: Callable[[str], None] = lambda _now: None,
        *,
        verbose: bool = False,
    ) -> None:
        """Load the models. `notify` gets a line for each setting that could not be honoured as given, `progress` what
        is done now.

        `stop` ends whatever is under way while it is set: loading, an answer, also in the middle of a pass. `verbose`
        shows llama.cpp's own output on standard error.
        Raises: EngineMissingError where there is no llama.cpp; UsageError for what this build of it cannot honour;
        ModelError for a file that cannot be loaded or two that do not fit each other; Interrupted if stopped.
        """
        self._process = EngineProcess(stop, verbose=verbose)
        try:
            self.info: EngineInfo = _call(self._process, wire.Load(settings), wire.Loaded, notify, progress).info
        except BaseException:
            self._process.close()
            raise
        self._draft_record: Record | None = None

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def chat(self, messages: Sequence[Message], options: AnswerOptions) -> Iterator[Event]:
        """Decode the next answer of a conversation, or the rest of one that its last message begins.

        Raises: UsageError for an empty prompt or one that the context cannot hold; ModelError if the template fails;
        GenerationError if llama.cpp fails.
        """
        return self._answer(wire.Chat(tuple(messages), options))

    def complete(self, text: str, options: AnswerOptions) -> Iterator[Event]:
        """Decode what follows `text`, without a chat template. Raises as `chat` does."""
        return self._answer(wire.Complete(text, options))

    def prompt_ids(self, messages: Sequence[Message]) -> list[int]:
        """The tokens that ask for the next answer of a conversation. Raises ModelError if the template fails."""
        return self._call(wire.GetPromptIds(tuple(messages)), wire.Ids).value

    def closeness(
        self, messages: Sequence[Message], answer: Sequence[int], at: int, tokens: tuple[int, int], width: int
    ) -> Closeness:
        """How near `tokens` are as number `at` of an answer, given as ids, and how far passes of `width` move them.

        Raises: ModelError if the template fails; Interrupted if stopped.
        """
        request = wire.GetCloseness(tuple(messages), tuple(answer), at, tokens, width)
        return self._call(request, wire.ClosenessFound).value

    def agreement(self, messages: Sequence[Message], answer: Sequence[int], sampling: Sampling) -> list[float] | None:
        """How likely each token of an answer, given as ids, would be accepted from the draft model, sampled like that.

        None without a draft model, and for a text that its cache cannot hold.
        Raises: ModelError if the template fails; Interrupted if stopped.
        """
        return self._call(wire.GetAgreement(tuple(messages), tuple(answer), sampling), wire.Agreement).value

    @property
    def draft_record(self) -> Record | None:
        """How the draft model did, as far as it had a say in the last answer: with a seed earlier answers have none.

        None without a draft model, and before the first answer has ended.
        """
        return self._draft_record

    def forget(self) -> None:
        """Draft from here on as for the first answer ever of this pair; the target keeps its cache."""
        self._call(wire.Forget(), wire.Forgotten)

    def machine(self) -> dict[str, object]:
        """The processor, the devices and the build of llama.cpp, as JSON data."""
        return self._call(wire.GetMachine(), wire.Machine).value

    def close(self) -> None:
        """Free the models, keep what was learned of them, and end the process. May be called twice."""
        self._process.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def _call(self, request: wire.Request, expected: type[_Expected]) -> _Expected:
        return _call(self._process, request, expected)

    def _answer(self, request: wire.Chat | wire.Complete) -> Iterator[Event]:
        """The events of the answer. What is wrong with the question is raised here, not at the first event."""
        number = self._process.ask(request)
        return self._events(number, self._process.reply())

    def _events(self, number: int, reply: wire.Reply) -> Iterator[Event]:
        try:
            while not isinstance(reply, wire.Answered):
                if not isinstance(reply, Event):
                    raise _unexpected(reply)
                yield reply
                if self._process.n_asked != number:
                    raise ValueError("another question was asked meanwhile")
                reply = self._process.reply()
            self._draft_record = reply.draft_record
        except GeneratorExit:
            if self._process.n_asked == number:
                self._process.drop()
            raise


def ask_build() -> BuildFacts:
    """What this build of llama.cpp is and which devices it sees.

    Raises: EngineMissingError where there is none that can be used; EngineDiedError where it ends its process.
    """
    process = EngineProcess(StopFlag(), verbose=False)
    try:
        return _call(process, wire.GetBuild(), wire.Build).facts
    finally:
        process.close()


def check_build(settings: EngineSettings) -> None:
    """Refuse what this build of llama.cpp cannot honour, before models are fetched or a screen is opened.

    Nothing is asked where any build can do what is wanted; loading checks it too.
    Raises: UsageError; as ask_build.
    """
    if wants_gpu(settings):
        facts = ask_build()
        refuse_unfit(settings, [device for device in facts.devices if facts.offloads and device.takes_layers])


def tune(
    settings: EngineSettings,
    notify: Callable[[str], None],
    progress: Callable[[str], None],
    stop: StopFlag,
    *,
    verbose: bool = False,
) -> Report:
    """Try draft formats, thread counts and cache types for the pair, and keep what is fastest for later runs.

    `notify` hears first how long it will take, and what could not be tried; `progress` what is done now. If a number of
    threads is set, only that is tried. Whatever ends it early leaves everything as it was.
    Raises: UsageError without a draft, while another one runs, or for a context too small for the prompts; ModelError
    for files that cannot be loaded or do not fit each other; StorageError if the disk has no room or refuses;
    Interrupted if stopped.
    """
    process = EngineProcess(stop, verbose=verbose)
    try:
        return _call(process, wire.Tune(settings), wire.Tuned, notify, progress).report
    finally:
        process.close()


def undo_tuning(settings: EngineSettings, notify: Callable[[str], None]) -> list[str]:
    """Forget what was tuned for the pair and remove the files made of its draft; returns what was removed, in words.

    Another pair that was tuned with the same draft then says that the file is gone, and uses the one given.
    Raises: UsageError without a draft, and while another one runs; ModelError for a model that cannot be read;
    StorageError if the disk refuses.
    """
    process = EngineProcess(StopFlag(), verbose=False)
    try:
        return _call(process, wire.Untune(settings), wire.Untuned, notify).removed
    finally:
        process.close()


def _call(
    process: EngineProcess,
    request: wire.Request,
    expected: type[_Expected],
    notify: Callable[[str], None] = lambda _text: None,
    progress: Callable[[str], None] = lambda _now: None,
) -> _Expected:
    """Ask, pass on what is said meanwhile, and return what ends it."""
    process.ask(request)
    while True:
        match process.reply():
            case wire.Notice(text):
                notify(text)
            case wire.Progress(text):
                progress(text)
            case reply:
                if not isinstance(reply, expected):
                    raise _unexpected(reply)
                return reply


def _unexpected(reply: wire.Reply) -> TypeError:
    return TypeError(f"the engine said {type(reply).__name__} in answer to another question")
