"""Tuning on tiny models that the real llama.cpp loads and quantizes; costs are made up where the outcome matters."""

from __future__ import annotations

import errno
import fcntl
import json
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import pytest

from specdesk.core.costs import PassCosts
from specdesk.core.interrupted import Interrupted
from specdesk.engine.build_facts import Device, DeviceKind
from specdesk.engine.llama import LlamaLM
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.loaded import LoadedPair
from specdesk.engine.machine import model_identity
from specdesk.engine.stop import StopFlag
from specdesk.engine.tuning import draft_files
from specdesk.engine.tuning import tune as tuning
from specdesk.engine.tuning.draft_files import DraftFiles
from specdesk.engine.tuning.quantize import Format, has_format, quantize
from specdesk.engine.tuning.trial import TargetTrial
from specdesk.engine.tuning.tune import Report, tune, undo
from specdesk.engine.tuning.tuned import Tuned
from specdesk.errors import ModelError, StorageError, UsageError
from specdesk.memory import CacheType
from specdesk.paths import profiles_dir, tuned_dir
from specdesk.settings import EngineSettings
from tests.engine.conftest import WriteModel
from tests.tiny.gguf_models import DRAFT, TARGET, TinyPair

N_CTX = 512


def settings_of(pair: TinyPair, n_threads: int | None = 1, *, exact: bool = False) -> EngineSettings:
    return EngineSettings(pair.target, pair.draft, N_CTX, n_threads, exact=exact)


def tuned_files() -> list[str]:
    return sorted(path.name for path in tuned_dir().iterdir()) if tuned_dir().is_dir() else []


def records() -> list[Path]:
    return list(profiles_dir().glob("tuned-*.json"))


@dataclass
class Tuner:
    """Tunes, and remembers what it was told."""

    notices: list[str] = field(default_factory=list)
    stages: list[str] = field(default_factory=list)
    stop: StopFlag = field(default_factory=StopFlag)
    stop_at: str | None = None

    def progress(self, text: str) -> None:
        self.stages.append(text)
        if self.stop_at is not None and self.stop_at in text:
            self.stop.set()

    def tune(self, settings: EngineSettings) -> Report:
        return tune(settings, self.notices.append, self.progress, self.stop)


class Machine(NamedTuple):
    """A machine that never was: seconds of a draft step by what the file's name ends with, factors by settings."""

    q4_0_s: float = 0.5
    other_s: float = 0.5
    one_thread: float = 1.0
    q8_0_keys: float = 1.0


def flat(sizes: Sequence[int], seconds: float) -> PassCosts:
    """Every size costs the same, so that a draft pays if its steps are cheap."""
    return PassCosts(tuple(sizes), (seconds,) * len(sizes), (0.0,) * len(sizes))


def pretend(monkeypatch: pytest.MonkeyPatch, machine: Machine) -> None:
    def costs(_trial: TargetTrial, n_threads: int, sizes: Sequence[int], cache_type_k: CacheType) -> PassCosts:
        factor = machine.q8_0_keys if cache_type_k is CacheType.Q8_0 else 1.0
        return flat(sizes, factor * (machine.one_thread if n_threads == 1 else 1.0))

    def draft_costs(path: Path, _options: LoadOptions, counts: Sequence[int], _stop: StopFlag) -> dict[int, PassCosts]:
        return dict.fromkeys(counts, flat((1, 8), machine.q4_0_s if "Q4_0" in path.name else machine.other_s))

    monkeypatch.setattr(TargetTrial, "costs", costs)
    monkeypatch.setattr(tuning, "draft_costs", draft_costs)


CHEAP_Q4_0 = Machine(q4_0_s=0.01)


class TestFormats:
    @pytest.mark.parametrize("wanted", list(Format))
    def test_they_are_made_and_load(self, tiny_pair: TinyPair, tmp_path: Path, wanted: Format) -> None:
        path = tmp_path / "new" / "draft.gguf"
        quantize(tiny_pair.draft, path, wanted, 1, StopFlag())
        assert has_format(path, wanted)
        assert not has_format(tiny_pair.draft, wanted)
        with LlamaLM(path, LoadOptions(64, 1, 0), StopFlag()) as lm:
            assert lm.extend([5, 6, 7], 1).shape == (1, lm.n_vocab)
        assert [file.name for file in path.parent.iterdir()] == ["draft.gguf"]

    def test_one_that_the_file_has_is_not_made(self, quantized_pair: TinyPair) -> None:
        with DraftFiles(quantized_pair.draft) as files:
            assert files.get(Format.Q8_0, 1, StopFlag()) is None
        assert tuned_files() == []

    def test_what_is_not_kept_is_gone_and_what_is_kept_is_not_made_again(
        self, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with DraftFiles(tiny_pair.draft) as files:
            kept, _lost = (files.get(wanted, 1, StopFlag()) for wanted in (Format.Q4_0, Format.Q8_0))
            assert kept is not None
            files.keep(kept)
        assert tuned_files() == [kept.name]
        monkeypatch.setattr(draft_files, "quantize", None)
        with DraftFiles(tiny_pair.draft) as files:
            assert files.get(Format.Q4_0, 1, StopFlag()) == kept
        assert tuned_files() == [kept.name]

    def test_a_damaged_file_in_its_place_is_made_anew(self, tiny_pair: TinyPair) -> None:
        with DraftFiles(tiny_pair.draft) as files:
            tuned_dir().mkdir(parents=True)
            files.path(Format.Q4_0).write_bytes(b"GGUF, almost")
            path = files.get(Format.Q4_0, 1, StopFlag())
            assert path is not None
            assert has_format(path, Format.Q4_0)

    def test_what_cannot_be_quantized_is_said_and_leaves_nothing(self, tiny_pair: TinyPair, tmp_path: Path) -> None:
        cut = tmp_path / "cut.gguf"
        cut.write_bytes(tiny_pair.draft.read_bytes()[:100_000])
        with pytest.raises(ModelError, match="within the file bounds"):
            quantize(cut, tmp_path / "out" / "a.gguf", Format.Q4_0, 1, StopFlag())
        assert list((tmp_path / "out").iterdir()) == []

    def test_a_quantizer_that_dies_is_survived(self, tiny_pair: TinyPair, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match="the quantizer ended with code 1"):
            quantize(tiny_pair.draft, tmp_path / "out" / "a.gguf", Format.Q4_0, "no number", StopFlag())  # type: ignore[arg-type]
        assert list((tmp_path / "out").iterdir()) == []

    def test_a_stop_leaves_nothing(self, tiny_pair: TinyPair, tmp_path: Path) -> None:
        stop = StopFlag()
        stop.set()
        with pytest.raises(Interrupted):
            quantize(tiny_pair.draft, tmp_path / "out" / "a.gguf", Format.Q4_0, 1, stop)
        assert list((tmp_path / "out").iterdir()) == []

    def test_a_full_disk_is_refused_before_anything_is_written(
        self, tiny_pair: TinyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _path: shutil._ntuple_diskusage(10**9, 10**9, 10**6))
        with pytest.raises(StorageError, match=r"needed in .*1\.0 MB free"):
            quantize(tiny_pair.draft, tmp_path / "a.gguf", Format.Q4_0, 1, StopFlag())
        assert list(tmp_path.glob("a.gguf*")) == []


class TestTuning:
    def test_really_measured(self, tiny_pair: TinyPair) -> None:
        tuner = Tuner()
        report = tuner.tune(settings_of(tiny_pair))
        assert tuner.notices[0].startswith("tuning target.gguf with draft.gguf: about ")
        assert [tried.format for tried in report.formats] == [None, "Q4_0", "Q8_0"]
        as_given, q4_0, _ = report.formats
        assert q4_0.n_bytes < as_given.n_bytes
        assert 0 < q4_0.acceptance < as_given.acceptance <= 1
        assert [tried.n_threads for tried in report.threads] == [1]
        assert [tried.cache_type_k for tried in report.caches] == [CacheType.F16, CacheType.Q8_0]
        assert report.tuned_pace > 0
        named = report.tuned.draft
        assert tuned_files() == ([] if named is None else [Path(named.file).name])
        assert len(records()) == bool(report.tuned)

    def test_the_fastest_draft_is_kept_and_used(self, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch) -> None:
        pretend(monkeypatch, CHEAP_Q4_0)
        report = Tuner().tune(settings_of(tiny_pair))
        assert report.tuned.words == "draft as Q4_0"
        assert report.tuned_pace > report.given_pace
        (name,) = tuned_files()
        for _again in range(2):
            notices: list[str] = []
            with LoadedPair(settings_of(tiny_pair), notices.append, StopFlag()) as engine:
                assert engine.info.draft is not None
                assert engine.info.draft.file == name
                assert engine.info.tuned == report.tuned
                assert engine._experience is not None
                assert engine._experience._key["draft"] == model_identity(tuned_dir() / name)
            assert [n for n in notices if "tuned" in n] == ["tuned: draft as Q4_0; specdesk tune --undo takes it back"]

    def test_what_is_as_fast_changes_nothing_and_takes_the_earlier_back(
        self, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pretend(monkeypatch, CHEAP_Q4_0)
        Tuner().tune(settings_of(tiny_pair))
        assert (len(tuned_files()), len(records())) == (1, 1)
        pretend(monkeypatch, Machine())
        report = Tuner().tune(settings_of(tiny_pair))
        assert not report.tuned
        assert report.tuned_pace == report.given_pace
        assert (tuned_files(), records()) == ([], [])

    def test_threads_and_cache_type(self, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tuning, "_thread_counts", lambda: [1, 2])
        monkeypatch.setattr("specdesk.engine.resolve.best_threads", lambda: 2)
        monkeypatch.setattr("specdesk.engine.resolve.most_threads", lambda: 2)
        pretend(monkeypatch, Machine(one_thread=0.5, q8_0_keys=0.4))
        report = Tuner().tune(settings_of(tiny_pair, None))
        assert report.tuned.words == "1 thread, keys cached as q8_0"
        assert report.caches[0].pace == pytest.approx(report.tuned_pace)  # with that one thread
        with LoadedPair(settings_of(tiny_pair, None), lambda _: None, StopFlag()) as engine:
            assert engine.info.n_threads == 1
            assert engine.info.tuned == Tuned(None, 1, CacheType.Q8_0)
            assert engine._session.target.options.cache_type_k is CacheType.Q8_0
        plainly = replace(settings_of(tiny_pair, None), speculate=False)
        with LoadedPair(plainly, lambda _: None, StopFlag()) as engine:
            assert engine.info.draft is None
            assert engine.info.tuned == Tuned(None, 1, CacheType.Q8_0)
        notices: list[str] = []
        with LoadedPair(settings_of(tiny_pair, 2), notices.append, StopFlag()) as engine:
            assert engine.info.n_threads == 2
            assert engine.info.tuned == Tuned(None, None, CacheType.Q8_0)
        assert any(notice.startswith("tuned: keys cached as q8_0;") for notice in notices)

    def test_the_record_tells_the_layers_of_each(self, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch) -> None:
        gpu = Device("CUDA0", "a GPU", DeviceKind.GPU, 10**10, 10**10)
        monkeypatch.setattr("specdesk.engine.resolve.supports_gpu", lambda: True)
        monkeypatch.setattr("specdesk.engine.resolve.devices", lambda: (gpu,))
        pretend(monkeypatch, CHEAP_Q4_0)
        Tuner().tune(replace(settings_of(tiny_pair), n_gpu_layers=2, draft_n_gpu_layers=1))
        (path,) = records()
        kept = json.loads(path.read_text())["value"]
        assert (kept["n_gpu_layers"], kept["draft_n_gpu_layers"]) == (2, 1)

    def test_of_two_measurements_the_smaller_counts(self, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch) -> None:
        """Everything takes ten times as long in the second round."""
        n_seen: Counter[object] = Counter()

        def later(what: object) -> float:
            n_seen[what] += 1
            return 1.0 if n_seen[what] == 1 else 10.0

        def costs(_trial: TargetTrial, n_threads: int, sizes: Sequence[int], cache_type_k: CacheType) -> PassCosts:
            return flat(sizes, later((n_threads, tuple(sizes), cache_type_k)))

        def draft_costs(path: Path, _o: LoadOptions, counts: Sequence[int], _stop: StopFlag) -> dict[int, PassCosts]:
            return {n: flat((1, 8), 0.5 * later((path, n))) for n in counts}

        monkeypatch.setattr(TargetTrial, "costs", costs)
        monkeypatch.setattr(tuning, "draft_costs", draft_costs)
        tuner = Tuner()
        report = tuner.tune(settings_of(tiny_pair))
        assert [tried.draft_step_ms for tried in report.formats] == [500.0] * 3
        assert [tried.target_pass_ms for tried in report.threads] == [1000.0]

    def test_a_cache_type_that_is_hardly_faster_is_left(
        self, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pretend(monkeypatch, Machine(q8_0_keys=0.96))
        assert not Tuner().tune(settings_of(tiny_pair)).tuned

    def test_exact_mode_takes_the_draft_alone(self, quantized_pair: TinyPair, monkeypatch: pytest.MonkeyPatch) -> None:
        pretend(monkeypatch, Machine(q4_0_s=0.01, q8_0_keys=0.5))
        report = Tuner().tune(settings_of(quantized_pair))
        assert report.tuned.words == "draft as Q4_0, keys cached as q8_0"
        with LoadedPair(settings_of(quantized_pair, exact=True), lambda _: None, StopFlag()) as engine:
            assert engine.info.exact is not None
            assert engine._session.target.options.cache_type_k is engine.info.exact.settings.cache_type_k
            assert engine.info.tuned == Tuned(report.tuned.draft)

    def test_a_draft_that_exact_mode_does_not_load_is_not_in_force(
        self, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No pass of several tokens over an F32 target rounds as plain decoding does."""
        pretend(monkeypatch, CHEAP_Q4_0)
        Tuner().tune(settings_of(tiny_pair))
        notices: list[str] = []
        with LoadedPair(settings_of(tiny_pair, exact=True), notices.append, StopFlag()) as engine:
            assert (engine.info.draft, engine.info.tuned) == (None, None)
        assert not any("tuned" in notice for notice in notices)

    def test_what_cannot_be_made_is_said_and_left_out(
        self, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_args: object) -> None:
            raise ModelError("draft.gguf cannot be written", "for a reason")

        monkeypatch.setattr(draft_files, "quantize", refuse)
        tuner = Tuner()
        assert [tried.format for tried in tuner.tune(settings_of(tiny_pair)).formats] == [None]
        assert sum("(for a reason): not tried" in notice for notice in tuner.notices) == 2

    def test_a_cache_type_that_llama_cpp_refuses_is_said_and_left_out(self, write_model: WriteModel) -> None:
        """A quantized cache wants heads of a multiple of 32."""
        pair = TinyPair(*(write_model(replace(model, n_head=4)) for model in (TARGET, DRAFT)))
        tuner = Tuner()
        assert [tried.cache_type_k for tried in tuner.tune(settings_of(pair)).caches] == [CacheType.F16]
        assert any("q8_0" in notice and notice.endswith("not tried") for notice in tuner.notices)

    @pytest.mark.parametrize(
        "stage", ["draft as Q8_0", "answers", "draft as given", "steps of", "threads", "all sizes", "keys cached"]
    )
    def test_a_stop_leaves_all_as_it_was(self, tiny_pair: TinyPair, stage: str) -> None:
        tuner = Tuner(stop_at=stage)
        with pytest.raises(Interrupted):
            tuner.tune(settings_of(tiny_pair))
        assert stage in tuner.stages[-1]
        assert (tuned_files(), records()) == ([], [])

    def test_a_record_that_cannot_be_kept_leaves_no_file(
        self, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pretend(monkeypatch, CHEAP_Q4_0)
        profiles_dir().parent.mkdir(parents=True)
        profiles_dir().write_text("a file, where a folder should be")
        with pytest.raises(StorageError, match="nothing was changed"):
            Tuner().tune(settings_of(tiny_pair))
        assert tuned_files() == []

    def test_without_a_draft_there_is_nothing_to_do(self, tiny_pair: TinyPair) -> None:
        for call in (lambda settings: Tuner().tune(settings), lambda settings: undo(settings, print)):
            with pytest.raises(UsageError, match="without a draft"):
                call(EngineSettings(tiny_pair.target, None, N_CTX, 1))

    def test_two_at_once_would_take_each_other_s_files(self, tiny_pair: TinyPair) -> None:
        """The first one is in the middle of a measurement when the second one starts."""
        first, second = Tuner(), Tuner()

        def start_another(text: str) -> None:
            if "answers" in text:
                for call in (second.tune, lambda settings: undo(settings, print)):
                    with pytest.raises(UsageError, match="another specdesk tune"):
                        call(settings_of(tiny_pair))
                first.notices.append("tried")

        report = tune(settings_of(tiny_pair), first.notices.append, start_another, first.stop)
        assert (len(report.formats), first.notices[-1], second.stages) == (3, "tried", [])
        assert second.tune(settings_of(tiny_pair)).formats

    def test_where_there_are_no_locks_it_works_without(
        self, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refused(*_: object) -> None:
            raise OSError(errno.ENOLCK, "No locks available")

        monkeypatch.setattr(fcntl, "flock", refused)
        assert undo(settings_of(tiny_pair), print) == []

    def test_a_context_too_small_for_the_prompts_is_said(self, tiny_pair: TinyPair) -> None:
        with pytest.raises(UsageError, match="the context holds 32"):
            Tuner().tune(replace(settings_of(tiny_pair), n_ctx=32))
        assert tuned_files() == []


class TestRecord:
    @pytest.fixture(autouse=True)
    def tuned(self, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patches:
            pretend(patches, CHEAP_Q4_0)
            Tuner().tune(settings_of(tiny_pair))

    def opened(self, pair: TinyPair) -> tuple[str, Tuned | None, list[str]]:
        """The draft in use, what is in force, and what was said of it."""
        notices: list[str] = []
        with LoadedPair(settings_of(pair), notices.append, StopFlag()) as engine:
            assert engine.info.draft is not None
            return engine.info.draft.file, engine.info.tuned, [text for text in notices if "tuned" in text]

    def test_a_tuned_file_that_is_gone_is_said(self, tiny_pair: TinyPair) -> None:
        (path,) = tuned_dir().iterdir()
        path.unlink()
        file, tuned, (notice,) = self.opened(tiny_pair)
        assert (file, tuned) == ("draft.gguf", None)
        assert str(path) in notice
        assert "is gone" in notice

    def test_so_is_one_that_was_cut_off(self, tiny_pair: TinyPair) -> None:
        (path,) = tuned_dir().iterdir()
        path.write_bytes(path.read_bytes()[:-1])
        assert self.opened(tiny_pair)[0] == "draft.gguf"

    def test_one_that_was_damaged_and_kept_its_length_says_how_to_be_rid_of_it(self, tiny_pair: TinyPair) -> None:
        (path,) = tuned_dir().iterdir()
        path.write_bytes(b"GGUF" + bytes(path.stat().st_size - 4))
        with pytest.raises(ModelError, match=r"bad GGUF version.*; specdesk tune made this file; specdesk tune --undo"):
            self.opened(tiny_pair)

    def test_a_draft_as_given_that_is_damaged_is_not_said_to_be_tune_s(
        self, tiny_pair: TinyPair, tmp_path: Path
    ) -> None:
        damaged = tmp_path / "damaged.gguf"
        damaged.write_bytes(b"GGUF" + bytes(1000))
        with pytest.raises(ModelError, match="bad GGUF version") as caught:
            LoadedPair(replace(settings_of(tiny_pair), draft=damaged), print, StopFlag())
        assert "tune" not in str(caught.value)

    @pytest.mark.parametrize(
        "value",
        [
            None,
            [],
            "tuned",
            {"tuned": {}},
            {"tuned": {"draft": None, "n_threads": 0, "cache_type_k": None}},
            {"tuned": {"draft": None, "n_threads": "2", "cache_type_k": None}},
            {"tuned": {"draft": None, "n_threads": None, "cache_type_k": "q1"}},
            {"tuned": {"draft": {"file": 3, "format": "Q4_0", "n_bytes": 5}, "n_threads": 1, "cache_type_k": None}},
            {"tuned": {"draft": {"file": "a"}, "n_threads": 1, "cache_type_k": None}},
            {"n_gpu_layers": "0"},
            {"tuned_pace": "fast"},
            {"tuned_pace": None},
        ],
    )
    def test_a_damaged_one_is_as_good_as_none(self, tiny_pair: TinyPair, value: object) -> None:
        (path,) = records()
        kept = json.loads(path.read_text())
        kept["value"] = {**kept["value"], **value} if isinstance(value, dict) else value
        path.write_text(json.dumps(kept))
        assert self.opened(tiny_pair) == ("draft.gguf", None, [])

    @pytest.mark.parametrize("file", ["a\0b", "\ud800"])
    def test_one_that_names_no_possible_file_is_said(self, tiny_pair: TinyPair, file: str) -> None:
        (path,) = records()
        kept = json.loads(path.read_text())
        kept["value"]["tuned"]["draft"]["file"] = file
        path.write_text(json.dumps(kept))
        name, tuned, (notice,) = self.opened(tiny_pair)
        assert (name, tuned) == ("draft.gguf", None)
        assert "is gone" in notice

    def test_it_holds_only_with_the_layers_it_was_measured_with(self, tiny_pair: TinyPair) -> None:
        (path,) = records()
        kept = json.loads(path.read_text())
        kept["value"]["n_gpu_layers"] = 7
        path.write_text(json.dumps(kept))
        assert self.opened(tiny_pair) == ("draft.gguf", None, [])

    def test_plain_decoding_does_not_mind_the_draft(self, tiny_pair: TinyPair, tmp_path: Path) -> None:
        for draft in (tiny_pair.draft, tmp_path / "none.gguf", tmp_path):
            notices: list[str] = []
            settings = EngineSettings(tiny_pair.target, draft, N_CTX, 1, speculate=False)
            with LoadedPair(settings, notices.append, StopFlag()) as engine:
                assert (engine.info.draft, engine.info.tuned) == (None, None)
            assert not any("tuned" in notice for notice in notices)

    def test_it_is_of_this_pair_alone(self, tiny_pair: TinyPair, write_model: WriteModel) -> None:
        other = write_model(replace(DRAFT, seed=5))
        assert self.opened(TinyPair(tiny_pair.target, other))[1:] == (None, [])

    def test_undo_takes_it_back(self, tiny_pair: TinyPair) -> None:
        (path,) = tuned_dir().iterdir()
        part = path.with_name(f"{path.name}.part")
        part.write_text("of a run that was killed")
        removed = undo(settings_of(tiny_pair), print)
        assert removed == ["the record of what is fastest", str(path), str(part)]
        assert (tuned_files(), records()) == ([], [])
        assert self.opened(tiny_pair) == ("draft.gguf", None, [])
        assert undo(settings_of(tiny_pair), print) == []
