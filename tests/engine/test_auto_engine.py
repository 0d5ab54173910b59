"""`--engine auto`: the faster library by what was measured; llama.cpp, and why, where the other cannot serve.

What is measured stands in here, so none of this needs the second library; tests/engine/test_ik.py measures.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from specdesk.core.costs import PairCosts, PassCosts
from specdesk.core.interrupted import Interrupted
from specdesk.engine.child import ChildDiedError, in_child
from specdesk.engine.native import choice
from specdesk.engine.native.choice import choose
from specdesk.engine.native.ik import binding
from specdesk.engine.stop import StopFlag
from specdesk.errors import EngineMissingError
from specdesk.settings import EngineSettings, NativeLibrary
from tests.tiny.gguf_models import TinyPair

Answer = PairCosts | str | ChildDiedError


def costs(second: float) -> PairCosts:
    """Every token takes so long, in a pass over several too."""
    sizes = (1, 2, 32)
    return PairCosts(PassCosts(sizes, tuple(second * n for n in sizes), (0.0, 0.0, 0.0)), None)


class Chooser:
    def __init__(self, pair: TinyPair, monkeypatch: pytest.MonkeyPatch) -> None:
        self.settings = EngineSettings(pair.target, pair.draft, 512, 1, engine=None)
        self.answers: dict[NativeLibrary, Answer] = {NativeLibrary.LLAMA: costs(0.02), NativeLibrary.IK: costs(0.01)}
        self.said: list[str] = []
        self.n_measured = 0
        monkeypatch.setattr(choice, "in_child", self._in_child)
        monkeypatch.setattr(choice, "ik_library", lambda: None)

    def _in_child(self, work: Callable[..., Any], arguments: tuple[Any, ...], stop: StopFlag) -> Any:
        self.n_measured += 1
        (settings,) = arguments
        answer = self.answers[settings.engine]
        if isinstance(answer, ChildDiedError):
            raise answer
        return answer

    def choose(self, **changed: Any) -> NativeLibrary:
        self.said.clear()
        return choose(replace(self.settings, **changed), self.said.append, StopFlag())


@pytest.fixture
def chooser(tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch) -> Chooser:
    return Chooser(tiny_pair, monkeypatch)


@pytest.mark.parametrize(
    ("llama_s", "ik_s", "chosen"), [(0.02, 0.01, "ik"), (0.01, 0.02, "llama"), (0.01, 0.00999, "llama")]
)
def test_the_faster_one_computes_and_among_equals_llama_cpp(
    chooser: Chooser, llama_s: float, ik_s: float, chosen: str
) -> None:
    chooser.answers = {NativeLibrary.LLAMA: costs(llama_s), NativeLibrary.IK: costs(ik_s)}
    assert chooser.choose() == chosen
    assert f"{NativeLibrary(chosen).full_name}, by expected tokens per second" in chooser.said[-1]


def test_it_is_measured_once_for_each_way_to_use_the_pair(chooser: Chooser) -> None:
    for _ in range(2):
        assert chooser.choose() is NativeLibrary.IK
    assert chooser.n_measured == 2
    chooser.choose(speculate=False)
    chooser.choose(draft=None)
    assert chooser.n_measured == 6


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("it cannot load it", "cannot load it"),
        (ChildDiedError(-signal.SIGILL), "ended its process with code -4"),
    ],
)
def test_what_it_cannot_compute_is_left_to_llama_cpp_and_tried_again(
    chooser: Chooser, answer: Answer, reason: str
) -> None:
    chooser.answers[NativeLibrary.IK] = answer
    for n in (2, 4):
        assert chooser.choose() is NativeLibrary.LLAMA
        assert chooser.said[-1].startswith("--engine auto: llama.cpp, since ")
        assert reason in chooser.said[-1]
        assert chooser.n_measured == n


def test_where_it_is_absent_nothing_is_measured(chooser: Chooser, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise EngineMissingError("it is not installed")

    monkeypatch.setattr(choice, "ik_library", absent)
    assert chooser.choose() is NativeLibrary.LLAMA
    assert chooser.said == ["--engine auto: llama.cpp, since it is not installed"]
    assert chooser.n_measured == 0


@pytest.mark.parametrize(("changed", "reason"), [({"exact": True}, "exact mode"), ({"cache_type_k": "q4_0"}, "q4_0")])
def test_options_that_only_llama_cpp_takes_decide(chooser: Chooser, changed: dict[str, Any], reason: str) -> None:
    assert chooser.choose(**changed) is NativeLibrary.LLAMA
    assert reason in chooser.said[0]
    assert chooser.n_measured == 0


class TestChild:
    def test_gives_back_what_is_computed(self) -> None:
        assert in_child(pow, (3, 4), StopFlag()) == 81

    def test_that_dies_is_survived(self) -> None:
        with pytest.raises(ChildDiedError) as died:
            in_child(os._exit, (7,), StopFlag())
        assert died.value.code == 7

    def test_is_ended_by_a_stop(self) -> None:
        stop = StopFlag()
        stop.set()
        with pytest.raises(Interrupted):
            in_child(signal.pause, (), stop)


def test_a_pair_is_measured_with_either(tiny_pair: TinyPair) -> None:
    settings = EngineSettings(tiny_pair.target, tiny_pair.draft, 512, 1)
    found = choice.measured(settings)
    assert isinstance(found, PairCosts)
    assert found.draft is not None
    with_ik = choice.measured(replace(settings, engine=NativeLibrary.IK))
    assert isinstance(with_ik, str) == (binding.installed_version() is None)
