"""What goes between the engine's process and its client: one JSON line per message, read back as the record it was.

A line is a list of the record's name and its fields. Python's JSON is used as it is, so infinities pass; both ends are
the same program.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from specdesk import errors
from specdesk.core.acceptance import Record
from specdesk.core.closeness import Closeness
from specdesk.core.events import Finished, HistoryCut, PromptRead, PromptTokens, Step
from specdesk.core.sampling import Sampling
from specdesk.engine.build_facts import BuildFacts
from specdesk.engine.info import EngineInfo
from specdesk.engine.message import Message
from specdesk.engine.options import AnswerOptions
from specdesk.engine.tuning.report import Report
from specdesk.errors import SpecdeskError
from specdesk.settings import EngineSettings

# --- what the client asks; each is answered by any number of other replies and then one that ends it


@dataclass(frozen=True, slots=True)
class Load:
    """Load a pair; once, before anything that needs one."""

    settings: EngineSettings


@dataclass(frozen=True, slots=True)
class Chat:
    """Answer a conversation."""

    messages: tuple[Message, ...]
    options: AnswerOptions


@dataclass(frozen=True, slots=True)
class Complete:
    """Go on with a text."""

    text: str
    options: AnswerOptions


@dataclass(frozen=True, slots=True)
class GetPromptIds:
    """Call `LoadedPair.prompt_ids`."""

    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class GetCloseness:
    """Call `LoadedPair.closeness`."""

    messages: tuple[Message, ...]
    answer: tuple[int, ...]
    at: int
    tokens: tuple[int, int]
    width: int


@dataclass(frozen=True, slots=True)
class GetAgreement:
    """Call `LoadedPair.agreement`."""

    messages: tuple[Message, ...]
    answer: tuple[int, ...]
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class Forget:
    """Call `LoadedPair.forget`."""


@dataclass(frozen=True, slots=True)
class GetMachine:
    """Call `LoadedPair.machine`."""


@dataclass(frozen=True, slots=True)
class GetBuild:
    """Tell what this build of llama.cpp is and sees; no pair need be loaded."""


@dataclass(frozen=True, slots=True)
class Tune:
    """Tune a pair, which need not be loaded."""

    settings: EngineSettings


@dataclass(frozen=True, slots=True)
class Untune:
    """Take that back."""

    settings: EngineSettings


@dataclass(frozen=True, slots=True)
class StopNext:
    """Stop the request behind this one from its beginning; nothing is replied.

    A stop by the other pipe could be heard only when a short request is over already.
    """


PairRequest = Chat | Complete | GetPromptIds | GetCloseness | GetAgreement | Forget | GetMachine
"""What takes a loaded pair."""
Work = Load | GetBuild | Tune | Untune | PairRequest
"""What is replied to."""
Request = StopNext | Work

# --- what the engine says meanwhile, beside the events of an answer


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that could not be honoured as given, or that takes long."""

    text: str


@dataclass(frozen=True, slots=True)
class Progress:
    """What is done now."""

    text: str


# --- what ends a request


@dataclass(frozen=True, slots=True)
class Loaded:
    """The pair is loaded."""

    info: EngineInfo


@dataclass(frozen=True, slots=True)
class Answered:
    """The last event of the answer has been said."""

    draft_record: Record | None


@dataclass(frozen=True, slots=True)
class Ids:
    """What `LoadedPair.prompt_ids` returned."""

    value: list[int]


@dataclass(frozen=True, slots=True)
class ClosenessFound:
    """What `LoadedPair.closeness` returned."""

    value: Closeness


@dataclass(frozen=True, slots=True)
class Agreement:
    """What `LoadedPair.agreement` returned."""

    value: list[float] | None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """`LoadedPair.forget` is done."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What `LoadedPair.machine` returned."""

    value: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Build:
    """What it is and sees."""

    facts: BuildFacts


@dataclass(frozen=True, slots=True)
class Tuned:
    """The pair is tuned."""

    report: Report


@dataclass(frozen=True, slots=True)
class Untuned:
    """What was removed, in words."""

    removed: list[str]


@dataclass(frozen=True, slots=True)
class Failed:
    """It could not be done, and the user can be told why."""

    kind: str
    """The name of the error's class."""
    message: str
    hint: str

    @staticmethod
    def by(error: SpecdeskError) -> Failed:
        """What tells of `error`."""
        return Failed(type(error).__name__, error.message, error.hint)

    @property
    def error(self) -> SpecdeskError:
        """The error again."""
        kind: type[SpecdeskError] = getattr(errors, self.kind)
        return kind(self.message, self.hint)


@dataclass(frozen=True, slots=True)
class Stopped:
    """It was stopped from outside."""


@dataclass(frozen=True, slots=True)
class Crashed:
    """It met a bug of ours."""

    traceback: str


Reply = (
    Notice
    | Progress
    | HistoryCut
    | PromptTokens
    | PromptRead
    | Step
    | Finished
    | Loaded
    | Answered
    | Ids
    | ClosenessFound
    | Agreement
    | Forgotten
    | Machine
    | Build
    | Tuned
    | Untuned
    | Failed
    | Stopped
    | Crashed
)

FINAL: Final = (Loaded, Answered, Ids, ClosenessFound, Agreement, Forgotten, Machine, Build, Tuned, Untuned)
"""What ends a request that was done."""

_REQUESTS: Final[dict[str, type]] = {kind.__name__: kind for kind in Request.__args__}
_REPLIES: Final[dict[str, type]] = {kind.__name__: kind for kind in Reply.__args__}


def send(stream: BinaryIO, message: Request | Reply) -> None:
    """Write a message, whole. Raises OSError if nobody reads."""
    fields = msgspec.to_builtins(message, enc_hook=str)
    stream.write(json.dumps([type(message).__name__, fields], separators=(",", ":")).encode() + b"\n")
    stream.flush()


def receive_request(stream: BinaryIO) -> Request | None:
    """The next one; None if there will be none."""
    request: Request | None = _receive(stream, _REQUESTS)
    return request


def receive_reply(stream: BinaryIO) -> Reply | None:
    """The next one; None if there will be none, also where the last one is cut off."""
    reply: Reply | None = _receive(stream, _REPLIES)
    return reply


def _receive(stream: BinaryIO, kinds: dict[str, type]) -> Any:
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    name, fields = json.loads(line)
    return msgspec.convert(fields, kinds[name], dec_hook=lambda _path, text: Path(text))
