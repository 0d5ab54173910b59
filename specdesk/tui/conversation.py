"""One chat as it is written: what is asked of the engine, and what of it is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from specdesk.core.answer import Answer
from specdesk.core.events import Event, Finished, Step, StopReason
from specdesk.engine.client import AnswerOptions, EngineInfo, Message
from specdesk.errors import SpecdeskError
from specdesk.records import settings_record, stats_record, step_record
from specdesk.store.chat_store import ChatStore
from specdesk.store.values import ChatMessage, Role, State
from specdesk.tui.chat_options import ChatOptions

SAVED_EACH_S = 0.5
"""How much of an answer may be lost if this process is killed."""
_TITLE = 60


@dataclass(frozen=True, slots=True)
class Request:
    """What the engine is asked: the conversation so far, with the user's turn or the begun answer last."""

    messages: tuple[Message, ...]
    options: AnswerOptions


@dataclass(frozen=True, slots=True)
class Question(Request):
    """A request whose answer is kept."""

    answer_id: int
    """Where the store keeps the answer."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a question stands in a chat, or is to stand."""

    parent: int | None
    """The answer it is behind; None at the beginning."""
    question_id: int | None = None
    """None while the chat does not have it."""


class Conversation:
    """One chat of the store, or one that its first question will make. One answer at a time.

    Everything that writes raises StorageError where the disk refuses.
    """

    def __init__(
        self, store: ChatStore, chat_id: int | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._clock = clock
        self.chat_id = chat_id
        """None until something was asked."""
        self._writing: _Writing | None = None

    @property
    def turns(self) -> list[ChatMessage]:
        """The visible branch, from the first message to the last."""
        return [] if self.chat_id is None else self._store.conversation(self.chat_id)

    def ask(self, text: str, options: ChatOptions, info: EngineInfo) -> Question:
        """A question behind what was said. One that got no answer before is left in a branch of its own."""
        said = heard(self.turns)
        question = self._store.add_question(self._begun(text, options.system), said[-1].id if said else None, text)
        return self._answered(question, options, info)

    def ask_instead(self, question: ChatMessage, text: str, options: ChatOptions, info: EngineInfo) -> Question:
        """Another question in the place of one that was asked; that and all that followed it stay in their branch."""
        asked = self._store.add_question(question.chat_id, question.parent, text)
        return self._answered(asked, options, info)

    def answer_again(self, answer: ChatMessage, options: ChatOptions, info: EngineInfo) -> Question:
        """Another answer to the same question; the one there is stays in its branch."""
        if answer.parent is None:
            raise ValueError(f"message {answer.id} answers nothing")
        return self._answered(answer.parent, options, info)

    def go_on(self, earlier: Sequence[Step], answer: ChatMessage, options: ChatOptions, info: EngineInfo) -> Question:
        """The rest of an answer that was stopped, in the same message; its figures are of the `earlier` steps too."""
        self._store.resume(answer.id)
        asked = self._asked(options)
        self._writing = _Writing(answer.id, info, self._clock(), earlier)
        return Question(self._messages(self.turns), asked, answer.id)

    def aside(self, before: list[ChatMessage], text: str, options: ChatOptions) -> Request:
        """What would be asked for an answer to `text` behind these turns. Nothing of it is kept."""
        said = self._messages(heard(before))
        if self.chat_id is None and options.system is not None:
            said = (Message("system", options.system),)
        return Request((*said, Message("user", text)), self._asked(options))

    def keep_aside(
        self, place: Place, request: Request, info: EngineInfo, events: Iterable[Event], error: SpecdeskError | None
    ) -> None:
        """Keep what came of such a request, whole or not, in its place; it is shown from now on."""
        question_id = place.question_id
        if question_id is None:
            text = request.messages[-1].content
            system = next((message.content for message in request.messages if message.role == "system"), None)
            question_id = self._store.add_question(self._begun(text, system), place.parent, text)
        self._begin(question_id, request.options, info)
        self.add(events)
        self.finish(error)

    def add(self, events: Iterable[Event]) -> None:
        """Take what the answer brings; it is kept at most so often."""
        if self._writing is None:
            return
        self._writing.add(events)
        if self._clock() - self._writing.saved_at_s >= SAVED_EACH_S:
            self.save()

    @property
    def unsaved(self) -> bool:
        """Whether there is something that is not kept yet."""
        return self._writing is not None and self._writing.unsaved

    def save(self) -> None:
        """Keep what came so far."""
        if self._writing is not None and self._writing.unsaved:
            text, trace = self._writing.take(self._clock())
            self._store.append(self._writing.answer_id, text, trace)

    def finish(self, error: SpecdeskError | None = None) -> None:
        """The answer has ended, in an error or without."""
        writing, self._writing = self._writing, None
        if writing is None:
            return
        text, trace = writing.take(self._clock())
        self._store.append(writing.answer_id, text, trace)
        stopped = writing.answer.reason in (None, StopReason.CANCELLED)
        state = State.FAILED if error is not None else State.STOPPED if stopped else State.COMPLETE
        stats = stats_record(writing.answer.tally) | {
            "stop_reason": None if writing.answer.reason is None else writing.answer.reason.value,
            "left_out": None if writing.answer.cut is None else asdict(writing.answer.cut),
        }
        self._store.finish(writing.answer_id, state, stats, None if error is None else str(error))

    def _begun(self, text: str, system: str | None) -> int:
        """The chat, which its first question makes."""
        if self.chat_id is None:
            self.chat_id = self._store.create_chat(title_of(text), system).id
        return self.chat_id

    def _answered(self, question_id: int, options: ChatOptions, info: EngineInfo) -> Question:
        asked = self._asked(options)
        answer_id = self._begin(question_id, asked, info)
        return Question(self._messages(self.turns[:-1]), asked, answer_id)

    def _begin(self, question_id: int, asked: AnswerOptions, info: EngineInfo) -> int:
        """Open an answer for writing."""
        models = {"target": asdict(info.target), "draft": None if info.draft is None else asdict(info.draft)}
        answer_id = self._store.begin_answer(question_id, settings_record(info, asked), models)
        self._writing = _Writing(answer_id, info, self._clock())
        return answer_id

    def _asked(self, options: ChatOptions) -> AnswerOptions:
        """Each answer of a chat has a number of its own, in whatever branch: with one seed they differ by it."""
        said = [] if self.chat_id is None else self._store.messages(self.chat_id)
        return options.answer_options(sum(message.role is Role.ASSISTANT for message in said))

    def _messages(self, turns: list[ChatMessage]) -> tuple[Message, ...]:
        system = None if self.chat_id is None else self._store.chat(self.chat_id).system
        first = () if system is None else (Message("system", system),)
        return (*first, *(Message(_ROLES[turn.role], turn.text) for turn in turns))


_ROLES: dict[Role, Any] = {Role.USER: "user", Role.ASSISTANT: "assistant"}


class _Writing:
    """An answer on its way into the store."""

    def __init__(self, answer_id: int, info: EngineInfo, now_s: float, earlier: Sequence[Step] = ()) -> None:
        self.answer_id = answer_id
        self.answer = Answer()
        for step in earlier:
            self.answer.add(step)
        self.saved_at_s = now_s
        self._info = info
        self._text: list[str] = []
        self._trace: list[dict[str, Any]] = []

    @property
    def unsaved(self) -> bool:
        return bool(self._text or self._trace)

    def add(self, events: Iterable[Event]) -> None:
        for event in events:
            self.answer.add(event)
            if isinstance(event, Step | Finished):
                self._text.extend(delta.text for delta in event.deltas)
            if isinstance(event, Step):
                self._trace.append(step_record(event, self.answer.tally, self._info))

    def take(self, now_s: float) -> tuple[str, list[dict[str, Any]]]:
        text, self._text = "".join(self._text), []
        trace, self._trace = self._trace, []
        self.saved_at_s = now_s
        return text, trace


def heard(turns: list[ChatMessage]) -> list[ChatMessage]:
    """What the model is told of a branch: without a question at its end that got no answer, or an empty one."""
    if not turns or (turns[-1].text and turns[-1].role is Role.ASSISTANT):
        return turns
    return turns[:-1] if turns[-1].role is Role.USER else turns[:-2]


def title_of(text: str) -> str:
    """The first line of a question, as far as a list has room."""
    line = " ".join(next((line for line in text.splitlines() if line.strip()), "").split())
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"
