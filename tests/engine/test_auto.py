"""As many drafts as pay, on the real llama.cpp: costs measured once, the same seed the same steps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from specdesk.core.acceptance import Acceptance, Evidence
from specdesk.core.events import Event, Step
from specdesk.core.interrupted import Interrupted
from specdesk.core.names import DrafterName, RuleName
from specdesk.core.sampling import Sampling
from specdesk.engine import calibrate
from specdesk.engine.experience import Experience
from specdesk.engine.loaded import LoadedPair
from specdesk.engine.message import Message
from specdesk.engine.options import AnswerOptions
from specdesk.engine.profiles import Profiles
from specdesk.engine.stop import StopFlag
from specdesk.errors import ModelError
from specdesk.paths import profiles_dir
from specdesk.settings import EngineSettings
from tests.answers import fold
from tests.tiny.gguf_models import TinyPair
from tests.toy.costs import SIZES, flat

ASKED = [Message("user", "Name three colours. " * 9)]
AUTO = AnswerOptions(Sampling(0.8), seed=3, max_tokens=80)


def opened(
    pair: TinyPair, notices: list[str] | None = None, *, exact: bool = False, speculate: bool = True
) -> LoadedPair:
    settings = EngineSettings(
        pair.target, pair.draft if speculate else None, 1024, n_threads=1, exact=exact, speculate=speculate
    )
    return LoadedPair(settings, (notices if notices is not None else []).append, StopFlag())


def steps(events: Sequence[Event]) -> list[Step]:
    return [event for event in events if isinstance(event, Step)]


def trace(engine: LoadedPair, options: AnswerOptions) -> list[tuple[str | None, int, tuple[int, ...], str]]:
    """The accept/reject trace: everything about the steps but their times."""
    return [
        (step.drafter, step.lookahead, tuple(token.id for token in step.tokens), step.reason)
        for step in steps(list(engine.chat(ASKED, options)))
    ]


@pytest.fixture(autouse=True)
def every_measurement_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "_WORTH_A_WORD_S", 0.0)


def measured(notices: Sequence[str]) -> int:
    return sum("measuring" in notice for notice in notices)


def test_costs_are_measured_once_and_kept(quantized_pair: TinyPair) -> None:
    first: list[str] = []
    second: list[str] = []
    with opened(quantized_pair, first) as one, opened(quantized_pair, second) as other:
        assert one.info.costs == other.info.costs
    assert (measured(first), measured(second)) == (2, 0)
    assert len(list(profiles_dir().glob("costs-*.json"))) == 2


def test_plain_decoding_measures_nothing(quantized_pair: TinyPair) -> None:
    notices: list[str] = []
    with opened(quantized_pair, notices, speculate=False) as engine:
        events = list(engine.chat(ASKED, replace(AUTO, lookahead=0)))
    assert notices == [] or measured(notices) == 0
    assert all(step.plain and step.plain_s is None for step in steps(events))
    assert not profiles_dir().exists()


@pytest.mark.parametrize("damage", ["", "{", '{"format": 1}', "NaN"])
def test_a_damaged_record_is_measured_anew(quantized_pair: TinyPair, damage: str) -> None:
    with opened(quantized_pair):
        pass
    for path in profiles_dir().glob("*.json"):
        path.write_text(damage)
    notices: list[str] = []
    with opened(quantized_pair, notices) as engine:
        assert fold(engine.chat(ASKED, AUTO)).token_ids
    assert measured(notices) == 2


@pytest.mark.parametrize("damage", ["whole sizes as fractions", "seconds beyond any number", "seconds without end"])
def test_so_are_figures_that_nobody_measured(quantized_pair: TinyPair, damage: str) -> None:
    """Each is JSON, of the right form, and would break the arithmetic long after it was read."""
    with opened(quantized_pair):
        pass
    for path in profiles_dir().glob("*.json"):
        kept = json.loads(path.read_text())
        value = kept["value"]
        n = len(value["sizes"])
        value |= {
            "whole sizes as fractions": {"sizes": [float(size) for size in value["sizes"]]},
            "seconds beyond any number": {"base_s": [10**400] * n},
            "seconds without end": {"growth_s": [1e308] * n},
        }[damage]
        path.write_text(json.dumps(kept))
    with opened(quantized_pair) as engine:
        assert fold(engine.chat(ASKED, AUTO)).token_ids


def test_what_takes_no_time_is_not_worth_a_word(quantized_pair: TinyPair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "_WORTH_A_WORD_S", 60.0)
    notices: list[str] = []
    with opened(quantized_pair, notices):
        pass
    assert measured(notices) == 0


def test_measuring_can_be_stopped(quantized_pair: TinyPair) -> None:
    stop = StopFlag()

    def notify(text: str) -> None:
        if "measuring" in text:
            stop.set()

    with pytest.raises(Interrupted):
        LoadedPair(EngineSettings(quantized_pair.target, quantized_pair.draft, 512, n_threads=1), notify, stop)
    assert not list(profiles_dir().glob("costs-*.json"))


@pytest.mark.parametrize("rule", list(RuleName))
def test_the_same_seed_gives_the_same_steps(
    quantized_pair: TinyPair, rule: RuleName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the clock says, and whatever was learned before."""
    monkeypatch.setattr(calibrate, "find_costs", cheap_width)
    seeded = replace(AUTO, verify=rule, repeatable=True)
    with opened(quantized_pair) as engine:
        once = trace(engine, seeded)
        assert sum(name == "model" for name, *_ in once) > 5
        trace(engine, replace(AUTO, seed=9))
    with opened(quantized_pair) as engine:
        assert engine._session._acceptance != Acceptance()
        assert trace(engine, seeded) == once


def test_exact_mode_writes_the_plain_answer(quantized_pair: TinyPair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "find_costs", cheap_width)
    with opened(quantized_pair, exact=True) as engine:
        for sampling in (Sampling(0.0), Sampling(0.8)):
            options = replace(AUTO, sampling=sampling, verify=RuleName.COUPLED, max_tokens=200, repeatable=True)
            plain = fold(engine.chat(ASKED, replace(options, lookahead=0))).token_ids
            for drafter in DrafterName:
                events = list(engine.chat(ASKED, replace(options, drafter=drafter)))
                assert [token.id for step in steps(events) for token in step.tokens] == plain, drafter
                assert drafter is DrafterName.SUFFIX or sum(len(step.drafted) for step in steps(events)) > 3
                assert max(1 + len(step.drafted) for step in steps(events)) <= (engine.info.widest or 0)


def test_text_seen_before_is_drafted_without_a_draft_model(
    quantized_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibrate, "find_costs", cheap_width)
    settings = EngineSettings(quantized_pair.target, None, 1024, n_threads=1)
    with LoadedPair(settings, lambda _: None, StopFlag()) as engine:
        events = list(engine.chat(ASKED, replace(AUTO, sampling=Sampling(0.0), max_tokens=200)))
    assert {step.drafter for step in steps(events)} <= {None, "suffix"}
    assert sum(len(step.drafted) for step in steps(events)) > 0


def cheap_width(*_args: object, **options: object) -> object:
    """Costs of a machine on which wide passes cost hardly more than narrow ones, and drafts hardly anything."""
    scale = 1.0 if options["every_row"] else 0.01
    return flat([scale * (1.0 + 0.01 * n) for n in SIZES])


def test_what_was_learned_is_kept_for_the_next_run(quantized_pair: TinyPair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "find_costs", cheap_width)
    with opened(quantized_pair) as engine:
        list(engine.chat(ASKED, replace(AUTO, repeatable=True)))
    assert not list(profiles_dir().glob("acceptance-*.json"))
    with opened(quantized_pair) as engine:
        list(engine.chat(ASKED, AUTO))
        learned = engine._session._acceptance.state
    assert learned["counts"]
    with opened(quantized_pair) as engine:
        assert engine._session._acceptance.state == learned


@pytest.mark.parametrize("damage", ["text", [], {"counts": 3}, {"counts": [["model"]]}], ids=str)
def test_damaged_experience_is_as_good_as_none(quantized_pair: TinyPair, damage: object) -> None:
    with opened(quantized_pair) as engine:
        list(engine.chat(ASKED, replace(AUTO, lookahead=None)))
    profiles = Profiles(profiles_dir(), lambda _: None)
    experience = Experience(quantized_pair.target, quantized_pair.draft, profiles)
    profiles.put("acceptance", experience._key, damage)
    with opened(quantized_pair) as engine:
        assert engine._session._acceptance == Acceptance()


def test_where_costs_cannot_be_measured_a_few_are_drafted(
    quantized_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object, **_options: object) -> None:
        raise ModelError("no context of 1040 tokens for target.gguf: no memory")

    monkeypatch.setattr(calibrate, "find_costs", full)
    notices: list[str] = []
    with opened(quantized_pair, notices) as engine:
        events = list(engine.chat(ASKED, AUTO))
    assert any("cannot be measured" in notice and "4 tokens are drafted" in notice for notice in notices)
    assert {len(step.drafted) for step in steps(events)[:-2]} == {4}


def test_a_step_tells_what_plain_decoding_costs(quantized_pair: TinyPair) -> None:
    with opened(quantized_pair) as engine:
        events = steps(list(engine.chat(ASKED, replace(AUTO, lookahead=3))))
    assert all(step.plain_s is not None and step.plain_s > 0 for step in events)


def test_what_is_measured_is_what_passes_take() -> None:
    """Of a model whose every pass takes as long as it is told to, but for the first of each size, which is held up."""
    machine = SlowMachine()
    sizes = (1, 4, 8, 16, 24)
    found = calibrate.measure(machine, sizes, lambda _: None, every_row=True, clock=lambda: machine.now)  # type: ignore[arg-type]
    assert found.base_s == pytest.approx([machine.takes(n, 16) for n in sizes])
    assert found.growth_s == pytest.approx([0.001 * n for n in (1, 4, 8, 16, 16)])
    assert machine.deepest == 1008
    assert machine.rows == {n: {n} for n in sizes}
    calibrate.measure(machine, sizes, lambda _: None, every_row=False, clock=lambda: machine.now)  # type: ignore[arg-type]
    assert machine.rows == {n: {n, 1} for n in sizes}


def test_what_takes_no_copies_is_measured_deep_in_the_context_by_reading() -> None:
    machine = SlowMachine()
    machine.takes_copies = False
    sizes = (1, 4, 8, 16, 24)
    found = calibrate.measure(machine, sizes, lambda _: None, every_row=True, clock=lambda: machine.now)  # type: ignore[arg-type]
    assert found.base_s == pytest.approx([machine.takes(n, 16) for n in sizes])
    assert found.growth_s == pytest.approx([0.001 * n for n in (1, 4, 8, 16, 16)])
    assert machine.deepest == 448


class SlowMachine:
    """A model and its cache, both at once."""

    n_vocab = 8
    path = Path("slow.gguf")
    takes_copies = True

    def __init__(self) -> None:
        self.now = 0.0
        self.ids: list[int] = []
        self.rows: dict[int, set[int]] = {}
        self.deepest = 0
        self._copied = 0
        """Cells of other sequences, which a pass goes over too."""
        self._seen: set[tuple[int, int]] = set()

    def takes(self, n: int, depth: int) -> float:
        return 1.0 + 0.1 * n + 0.001 * n * depth

    def beside(self, _n_ctx: int, _n_sequences: int) -> SlowMachine:
        self._seen.clear()
        return self

    def __enter__(self) -> SlowMachine:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.ids = []
        self._copied = 0

    def extend(self, ids: Sequence[int], n_rows: int) -> None:
        n, depth = len(ids), len(self.ids) + self._copied
        if n_rows:
            self.rows.setdefault(n, set()).add(n_rows)
            self.deepest = max(self.deepest, depth)
            self.now += self.takes(n, depth) + (5.0 if (n, depth) not in self._seen else 0.0)
            self._seen.add((n, depth))
        self.ids.extend(ids)

    def truncate(self, length: int) -> None:
        del self.ids[length:]

    def cells(self) -> list[int]:
        return list(self.ids)

    def put_cells(self, cells: Sequence[int], _copy: int) -> None:
        self._copied += len(cells)


@pytest.mark.parametrize("repeatable", [False, True])
def test_earlier_drafts_are_no_reason_where_they_had_no_say(quantized_pair: TinyPair, repeatable: bool) -> None:
    with opened(quantized_pair) as engine:
        for _ in range(50):
            engine._session._acceptance.learn(Evidence("model", 1, 0.5), accepted=False)
        fold(engine.chat(ASKED, replace(AUTO, repeatable=repeatable)))
        assert engine.draft_record is not None
        assert (engine.draft_record.expected >= 25) != repeatable


def test_what_is_forgotten_is_as_for_the_first_answer_ever(quantized_pair: TinyPair) -> None:
    with opened(quantized_pair) as engine:
        engine._session._acceptance.learn(Evidence("model", 1, 0.5), accepted=True)
        engine.forget()
        assert engine._session._acceptance == Acceptance()


def test_measured_costs_ascend_with_depth_and_hold_every_size(quantized_pair: TinyPair, tmp_path: Path) -> None:
    from specdesk.engine.llama import LlamaLM
    from specdesk.engine.load_options import LoadOptions

    with LlamaLM(quantized_pair.target, LoadOptions(64, 1, 0), StopFlag()) as lm:
        found = calibrate.measure(lm, calibrate.TARGET_SIZES, lambda _: None, every_row=True)
        assert list(lm.ids) == []
    assert found.sizes == calibrate.TARGET_SIZES
    assert found.seconds(1, 1000) >= found.seconds(1, 0) > 0
