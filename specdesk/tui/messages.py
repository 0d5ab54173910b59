"""What threads tell the screen: the engine's, a fetch, and those that look through the disk."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from specdesk.core.events import Event
from specdesk.core.pairing import Verdict
from specdesk.engine.client import EngineInfo
from specdesk.errors import EngineDiedError, SpecdeskError
from specdesk.hub.here.local_models import LocalModel


@dataclass
class EngineNotice(Message):
    """Something the user should know and need not act on, such as a setting that could not be honoured as given."""

    text: str


@dataclass
class EngineReloading(Message):
    """The models are loaded again, or others: what was said of the last load holds no more."""


@dataclass
class EngineProgress(Message):
    """What is done now while the models load."""

    text: str

    def can_replace(self, message: Message) -> bool:
        """Only the latest is of interest."""
        return isinstance(message, EngineProgress)


@dataclass
class EngineLoaded(Message):
    """The models are ready for questions."""

    info: EngineInfo


@dataclass
class LoadFailed(Message):
    """There is no engine until another load is asked for."""

    error: SpecdeskError


@dataclass
class EngineEvent(Message):
    """The next event of the answer under way."""

    event: Event


@dataclass
class AnswerFailed(Message):
    """The answer under way ended in an error. The engine takes the next question."""

    error: SpecdeskError


@dataclass
class EngineLost(Message):
    """The engine is gone, and with it the answer under way, if there was one. Another load may be asked for."""

    error: EngineDiedError


@dataclass
class EngineCrashed(Message):
    """The engine's thread met a bug of ours and ended. Nothing follows."""

    error: Exception


@dataclass
class FetchEnded(Message):
    """A fetch is over: everything is here, unless there is an error or it was stopped."""

    error: SpecdeskError | None
    stopped: bool


@dataclass
class FetchCrashed(Message):
    """A fetch met a bug of ours and ended."""

    error: Exception


@dataclass
class ModelsFound(Message):
    """Models were found on the disk."""

    models: tuple[LocalModel, ...]
    done: bool
    """Whether these are the last."""


@dataclass
class PairJudged(Message):
    """Whether two models may speculate together."""

    target: LocalModel
    draft: LocalModel
    verdict: Verdict
