"""What the engine's thread tells the screen."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from specdesk.core.events import Event
from specdesk.engine.client import EngineInfo
from specdesk.errors import SpecdeskError


@dataclass
class EngineNotice(Message):
    """Something the user should know and need not act on, such as a setting that could not be honoured as given."""

    text: str


@dataclass
class EngineLoaded(Message):
    """The models are ready for questions."""

    info: EngineInfo


@dataclass
class LoadFailed(Message):
    """There will be no engine. Nothing follows."""

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
class EngineCrashed(Message):
    """The engine's thread met a bug of ours and ended. Nothing follows."""

    error: Exception
