"""What goes over the wire comes out as it went in."""

from __future__ import annotations

import io
import math
from pathlib import Path

import pytest

from specdesk.core.acceptance import Record
from specdesk.core.closeness import Closeness
from specdesk.core.costs import PairCosts, PassCosts
from specdesk.core.events import (
    AnswerToken,
    Delta,
    DraftedToken,
    Finished,
    HistoryCut,
    Outcome,
    PromptRead,
    PromptTokens,
    Source,
    Step,
    StopReason,
)
from specdesk.core.names import DrafterName, RuleName
from specdesk.core.sampling import SamplerName, Sampling
from specdesk.engine import wire
from specdesk.engine.build_facts import BuildFacts, Device, DeviceKind
from specdesk.engine.cache_settings import CacheSettings, Invariance
from specdesk.engine.info import EngineInfo, ModelInfo
from specdesk.engine.message import Message
from specdesk.engine.options import AnswerOptions
from specdesk.engine.tuning.report import CacheTried, FormatTried, Report, ThreadsTried
from specdesk.engine.tuning.tuned import Tuned, TunedDraft
from specdesk.errors import EngineDiedError, ModelError, SpecdeskError, StorageError, UsageError
from specdesk.memory import CacheType
from specdesk.settings import EngineSettings

COSTS = PassCosts((1, 2, 5), (0.1, 0.15, 0.3), (1e-6, 0.0, 2e-6))
TUNED = Tuned(TunedDraft("/a/b.gguf", "Q4_0", 10**10), 2, CacheType.Q8_0)
OPTIONS = AnswerOptions(
    Sampling(0.3, logit_bias=((5, -math.inf), (7, 1.5)), samplers=(SamplerName.TOP_K, SamplerName.TEMPERATURE)),
    2**63,
    None,
    7,
    ("\n\n", "stop"),
    RuleName.COUPLED,
    3,
    2,
    'root ::= "a"',
    DrafterName.SUFFIX,
    placed=True,
    repeatable=True,
)
TURNS = (Message("system", "Be brief."), Message("user", 'Tür "\\\u2028\x00 🦜 \udce9'), Message("assistant", ""))
SETTINGS = EngineSettings(Path("/models/a b.gguf"), Path("d.gguf"), 64, 2, -1, 0, exact=True, measure=False)
STEP = Step(
    3,
    4,
    "why",
    "model",
    "exact",
    (DraftedToken(1, "a", 0.5, None, Outcome.IGNORED), DraftedToken(2, "�", 0.5, 1e-300, Outcome.REJECTED)),
    (AnswerToken(9, "\ud83d", Source.REPLACEMENT, 0.1 + 0.2, 0.0, None, math.inf),),
    (Delta("x\n", Source.ACCEPTED), Delta("", Source.BONUS)),
    0.1,
    0.2,
    0.3,
    None,
    2,
)
INFO = EngineInfo(
    ModelInfo("Big [b + 1", "big.gguf", -1),
    ModelInfo("Small", "small.gguf", 0),
    4096,
    2,
    Invariance(CacheSettings(CacheType.F16, CacheType.Q8_0, repack=False), 6, 4096),
    PairCosts(COSTS, COSTS),
    TUNED,
)
REPORT = Report([FormatTried(None, 3, 1.0, 0.5, 20.0)], [ThreadsTried(2, 1.0, 2.0, 3.0, 4.0)], [], Tuned(), 20.0, 20.0)

REQUESTS: list[wire.Request] = [
    wire.Load(SETTINGS),
    wire.Load(EngineSettings(Path("x"))),
    wire.Chat(TURNS, OPTIONS),
    wire.Complete("", AnswerOptions(Sampling(), 0)),
    wire.GetPromptIds(TURNS),
    wire.GetCloseness(TURNS, (1, 2), 1, (3, 4), 5),
    wire.GetAgreement(TURNS, (), Sampling(0.0)),
    wire.Forget(),
    wire.StopNext(),
    wire.GetMachine(),
    wire.GetBuild(),
    wire.Tune(SETTINGS),
    wire.Untune(SETTINGS),
]
REPLIES: list[wire.Reply] = [
    wire.Notice("note\nthis"),
    wire.Progress("now"),
    HistoryCut(2, 0, 500, 300),
    PromptTokens((1, 230), ("<s>", "\\xe6")),
    PromptRead(1, 2, 0, 0.5),
    STEP,
    Finished(StopReason.CANCELLED, (Delta("é", Source.PLAIN),)),
    wire.Loaded(INFO),
    wire.Loaded(EngineInfo(ModelInfo("a", "b", 0), None, 1, 1)),
    wire.Answered(Record(1.5, 2.0)),
    wire.Answered(None),
    wire.Ids([1, 2]),
    wire.ClosenessFound(Closeness(0.1, math.inf)),
    wire.Agreement([0.5, 1.0]),
    wire.Agreement(None),
    wire.Forgotten(),
    wire.Machine({"devices": ["a"], "n": 1}),
    wire.Build(BuildFacts("1", "2", ("CPU",), (), False, (Device("CUDA0", "é", DeviceKind.GPU, 1, 2**40),))),
    wire.Tuned(REPORT),
    wire.Tuned(
        Report([FormatTried("Q4_0", 3, 1.0, 0.5, 20.0)] * 2, [], [CacheTried(CacheType.Q8_0, 3.0)], TUNED, 20.0, 25.5)
    ),
    wire.Untuned(["a", "b"]),
    wire.Failed("UsageError", "what", "how"),
    wire.Stopped(),
    wire.Crashed("Traceback"),
]


def test_every_kind_is_tried() -> None:
    assert {type(request) for request in REQUESTS} == set(wire._REQUESTS.values())
    assert {type(reply) for reply in REPLIES} == set(wire._REPLIES.values())


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_requests(request_: wire.Request) -> None:
    stream = io.BytesIO()
    wire.send(stream, request_)
    wire.send(stream, wire.Forget())
    assert stream.getvalue().count(b"\n") == 2
    stream.seek(0)
    assert wire.receive_request(stream) == request_
    assert wire.receive_request(stream) == wire.Forget()
    assert wire.receive_request(stream) is None


@pytest.mark.parametrize("reply", REPLIES, ids=lambda reply: type(reply).__name__)
def test_replies(reply: wire.Reply) -> None:
    stream = io.BytesIO()
    wire.send(stream, reply)
    assert stream.getvalue().isascii()
    stream.seek(0)
    assert wire.receive_reply(stream) == reply
    cut = io.BytesIO(stream.getvalue()[:-1])
    assert wire.receive_reply(cut) is None


@pytest.mark.parametrize("error", [UsageError("a", "b"), ModelError("a"), StorageError("", "c"), EngineDiedError("a")])
def test_errors(error: SpecdeskError) -> None:
    again = wire.Failed.by(error).error
    assert type(again) is type(error)
    assert (again.message, again.hint, again.exit_code) == (error.message, error.hint, error.exit_code)
