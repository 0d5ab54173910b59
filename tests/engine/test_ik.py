"""LlamaLM on ik_llama.cpp: the tests of llama.cpp's, what it refuses, and that neither disturbs the other."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType

from specdesk.core.answer import Answer
from specdesk.core.interrupted import Interrupted
from specdesk.core.names import RuleName
from specdesk.core.sampling import Sampling
from specdesk.engine.calibrate import measure
from specdesk.engine.invariance import find_invariance
from specdesk.engine.llama import LlamaLM
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.loaded import LoadedPair
from specdesk.engine.native.ik import binding, layouts
from specdesk.engine.native.ik.binding import VERSION, ik_library, installed_version
from specdesk.engine.native.ik.cache import CACHE_TYPES
from specdesk.engine.options import AnswerOptions
from specdesk.engine.profiles import Profiles
from specdesk.engine.session import Session
from specdesk.engine.stop import StopFlag
from specdesk.errors import EngineMissingError, ModelError
from specdesk.memory import CacheType
from specdesk.settings import EngineSettings, LoadMode, NativeLibrary, Placing
from tests.engine import test_law_tiny, test_llama
from tests.engine.conftest import N_CTX, N_THREADS, OpenLM, WriteModel
from tests.engine.test_law_tiny import ALARM, PValue
from tests.engine.test_llama import mapped_files
from tests.tiny.gguf_models import GEMMA, MAMBA, TARGET, TinyPair

if installed_version() is None:
    pytest.skip(f"ik-llama-cpp-python=={VERSION} is not installed (specdesk[ik])", allow_module_level=True)

OPTIONS = LoadOptions(N_CTX, N_THREADS, 0, native=NativeLibrary.IK)
WITHOUT_FLASH = replace(OPTIONS, flash_attention=False)

LOAD_ALL = "from specdesk.settings import NativeLibrary\n" + test_llama.LOAD_ALL.replace(
    "LoadOptions(64, 1, 0)", "LoadOptions(64, 1, 0, native=NativeLibrary.IK)"
)


p_value = test_law_tiny.p_value
"""A fixture, which opens its models with this module's."""


def opened(path: Path, options: LoadOptions = OPTIONS) -> LlamaLM:
    return LlamaLM(path, options, StopFlag())


@pytest.fixture
def open_lm() -> Iterator[OpenLM]:
    """In the place of the one that opens with llama.cpp: what is inherited here runs on this library."""
    with ExitStack() as models:

        def opener(path: Path, *, n_ctx: int = N_CTX, stop: StopFlag | None = None) -> LlamaLM:
            return models.enter_context(LlamaLM(path, replace(OPTIONS, n_ctx=n_ctx), stop or StopFlag()))

        yield opener


class TestContract(test_llama.TestContract):
    pass


class TestRows(test_llama.TestRows):
    pass


class TestInterruption(test_llama.TestInterruption):
    pass


@pytest.mark.parametrize(("rule", "k"), [(RuleName.REJECTION, 4), (RuleName.BLOCK, 2), (RuleName.COUPLED, 4)])
def test_three_tokens_follow_the_target(p_value: PValue, rule: RuleName, k: int) -> None:
    assert p_value(k, rule=rule) > ALARM


@pytest.mark.parametrize("drafts", [OPTIONS, LoadOptions(N_CTX, N_THREADS, 0)], ids=["ik", "llama.cpp"])
def test_a_pair_answers_as_its_target_does_alone(tiny_pair: TinyPair, drafts: LoadOptions) -> None:
    """The target on this library, the draft on this one or the other."""
    how = AnswerOptions(Sampling(0.0), seed=1, max_tokens=40)
    answers = []
    for k in (0, 4):
        stop = StopFlag()
        session = Session(LlamaLM(tiny_pair.target, OPTIONS, stop), LlamaLM(tiny_pair.draft, drafts, stop), stop)
        answer = Answer()
        for event in session.complete("a text", replace(how, lookahead=k)):
            answer.add(event)
        session.close()
        answers.append(answer.token_ids)
        assert answer.tally.drafted > 0 or k == 0
    assert answers[0] == answers[1]


def test_a_loaded_pair_answers_with_it_and_says_so(quantized_pair: TinyPair) -> None:
    how = EngineSettings(quantized_pair.target, quantized_pair.draft, N_CTX, N_THREADS, engine=NativeLibrary.IK)
    for exact in (False, True):
        texts = []
        with LoadedPair(replace(how, exact=exact), lambda _: None, StopFlag()) as pair:
            assert pair.info.native is NativeLibrary.IK
            assert pair.machine()["ik_llama_cpp_python"] == VERSION
            for k in (0, 3):
                answer = Answer()
                for event in pair.complete("a text", AnswerOptions(Sampling(0.0), 1, lookahead=k, max_tokens=40)):
                    answer.add(event)
                texts.append(answer.token_ids)
                assert answer.tally.drafted > 0 or k == 0
        assert texts[0] == texts[1] or not exact


def test_auto_takes_one_of_both_and_says_which(tiny_pair: TinyPair) -> None:
    said: list[str] = []
    settings = EngineSettings(tiny_pair.target, tiny_pair.draft, N_CTX, N_THREADS, engine=None)
    with LoadedPair(settings, said.append, StopFlag()) as pair:
        chosen = pair.info.native
    assert [line for line in said if line.startswith(f"--engine auto: {chosen.full_name}, by expected")]


class TestFacts:
    def test_about_the_file_are_those_of_llama_cpp(self, tiny_pair: TinyPair) -> None:
        with opened(tiny_pair.target) as lm, opened(tiny_pair.target, LoadOptions(64, 1, 0)) as other:
            for fact in ("n_ctx_train", "keeps_state", "name", "chat_template", "window"):
                assert getattr(lm.weights, fact) == getattr(other.weights, fact)
            assert lm.weights.metadata("general.architecture") == "llama"
            assert lm.vocabulary.tokenize("a text") == other.vocabulary.tokenize("a text")
            assert lm.most_cut is None

    def test_what_comes_after_closing_is_refused(self, tiny_pair: TinyPair) -> None:
        lm = opened(tiny_pair.target)
        lm.extend([5, 6, 7], 0)
        lm.close()
        lm.close()
        with pytest.raises(ValueError, match="closed"):
            lm.extend([8], 1)


class TestSlidingWindow:
    def test_a_cut_far_behind_it_leaves_the_text_as_it_was(self, write_model: WriteModel) -> None:
        ids, other = list(range(5, 105)), list(range(105, 205))
        with opened(write_model(GEMMA)) as lm:
            expected = lm.extend([*ids, 7], 1).copy()
            lm.truncate(len(ids))
            lm.extend(other, 0)
            lm.truncate(len(ids))
            np.testing.assert_allclose(lm.extend([7], 1), expected, atol=0.15)


class TestBesideLlamaCpp:
    """Both define the same names, and each must call its own."""

    @pytest.mark.parametrize("kind", [GGMLQuantizationType.F32, GGMLQuantizationType.Q8_0, GGMLQuantizationType.Q4_0])
    def test_both_compute_the_same_in_one_process(self, write_model: WriteModel, kind: GGMLQuantizationType) -> None:
        path = write_model(replace(TARGET, quantization=kind))
        ids = [1, 80, 90, 100, 110]
        with opened(path) as lm, opened(path, LoadOptions(N_CTX, 1, 0)) as other:
            for _ in range(2):
                difference = np.abs(lm.extend(ids, 5) - other.extend(ids, 5)).max()
                assert 0 < difference < 1.5  # logits spread over some 30
                lm.truncate(0)
                other.truncate(0)

    def test_which_one_is_loaded_first_makes_no_difference(self, tiny_pair: TinyPair) -> None:
        code = (
            "import sys; from specdesk.engine.native.ik.binding import ik_library; ik_library(); "
            f"sys.argv[1:] = [{str(tiny_pair.target)!r}]\n"
        )
        done = subprocess.run([sys.executable, "-c", code + LOAD_ALL], capture_output=True, text=True, check=False)
        assert (done.returncode, json.loads(done.stdout)) == (0, "loaded"), done.stderr


class TestExact:
    """Which passes round as one-token passes do."""

    @pytest.mark.parametrize("kind", [GGMLQuantizationType.F32, GGMLQuantizationType.Q8_0])
    def test_wide_ones_do_without_flash_attention_and_repacking(
        self, write_model: WriteModel, tmp_path: Path, kind: GGMLQuantizationType
    ) -> None:
        path = write_model(replace(TARGET, quantization=kind))
        profiles = Profiles(tmp_path / "profiles", lambda _: None)
        for _ in range(2):  # probed, and then read
            found = find_invariance(path, OPTIONS, profiles, lambda _: None, StopFlag())
            assert found.width > 1
            assert found.settings.changes == "weights are not repacked and flash attention is off"
        plain = replace(OPTIONS, n_ctx=2048).cached(found.settings)
        ids = [5 + i * 7 % 250 for i in range(600)]
        with opened(path, plain) as lm:
            lm.extend(ids, 0)
            alone = [lm.extend([token], 1)[0].copy() for token in ids[: found.width]]
            lm.truncate(len(ids))
            np.testing.assert_array_equal(lm.extend(ids[: found.width], found.width), alone)

    def test_another_library_s_findings_are_not_its_own(self, write_model: WriteModel, tmp_path: Path) -> None:
        path, said = write_model(TARGET), list[str]()
        profiles = Profiles(tmp_path / "profiles", said.append)
        for options in (OPTIONS, replace(OPTIONS, native=NativeLibrary.LLAMA)):
            find_invariance(path, options, profiles, said.append, StopFlag())
        assert sum("probing" in line for line in said) == 2


class TestCopies:
    def test_are_refused_where_they_would_spoil_the_text(self, tiny_pair: TinyPair) -> None:
        with opened(tiny_pair.target, replace(OPTIONS, n_sequences=2)) as lm:
            assert not lm.takes_copies
            with pytest.raises(ValueError, match="flash attention"):
                lm.put_cells(lm.cells(), 1)

    def test_are_unseen_by_the_text_without_flash_attention(self, tiny_pair: TinyPair) -> None:
        ids = list(range(5, 45))
        with opened(tiny_pair.target, replace(WITHOUT_FLASH, n_sequences=3)) as lm:
            lm.extend(ids, 0)
            before = lm.extend([7, 8], 2).copy()
            lm.truncate(len(ids))
            cells = lm.cells()
            for sequence in (1, 2):
                lm.put_cells(cells, sequence)
            np.testing.assert_allclose(lm.extend([7, 8], 2), before, atol=0.05)

    @pytest.mark.parametrize("options", [OPTIONS, WITHOUT_FLASH])
    def test_costs_are_measured_with_them_or_without(self, tiny_pair: TinyPair, options: LoadOptions) -> None:
        with opened(tiny_pair.target, options) as lm:
            costs = measure(lm, (1, 2, 8), lambda _: None, every_row=True)
        assert all(seconds > 0 for seconds in costs.base_s)
        assert all(growth >= 0 for growth in costs.growth_s)


@pytest.fixture(scope="module")
def said(tiny_pair: TinyPair, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each file's error says, all tried in one process."""
    folder = tmp_path_factory.mktemp("broken")
    whole = tiny_pair.target.read_bytes()
    head, rest = whole.split(b"tokenizer.ggml.model")
    contents = {
        "text": b"This is not a model. " * 20,
        "cut_header": whole[:4000],
        "cut_tensors": whole[: len(whole) // 2],
        "architecture": whole.replace(b"llama", b"lorem"),
        "only_llama_cpp_s": b"tokenizer.ggml.model".join((head.replace(b"llama", b"arcee"), rest)),
        "whole": whole,
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    paths = [folder / name for name in contents]
    done = subprocess.run([sys.executable, "-c", LOAD_ALL, *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(zip(contents, [json.loads(line) for line in done.stdout.splitlines()], strict=True))


class TestFiles:
    @pytest.mark.parametrize(
        ("file", "words"),
        [
            ("text", "not a GGUF file"),
            ("cut_header", "failed to read key-value pairs"),
            ("cut_tensors", "not within the file bounds"),
            ("architecture", "unknown model architecture"),
            ("only_llama_cpp_s", "ik_llama.cpp cannot load"),
            ("whole", "loaded"),
        ],
    )
    def test_get_one_line_that_says_why(self, said: dict[str, str], file: str, words: str) -> None:
        assert words in said[file]
        assert "\n" not in said[file]

    def test_one_whose_name_is_no_text(self, tiny_pair: TinyPair, tmp_path: Path) -> None:
        odd = tmp_path / os.fsdecode("modèle".encode("latin-1") + b".gguf")
        try:
            odd.write_bytes(tiny_pair.target.read_bytes())
        except OSError:
            pytest.skip("this file system wants names in UTF-8")
        with opened(odd) as lm:
            assert lm.extend([5], 1).shape == (1, lm.n_vocab)

    def test_one_that_keeps_a_running_state_is_refused(self, write_model: WriteModel) -> None:
        with pytest.raises(ModelError, match="running state"):
            opened(write_model(MAMBA))

    @pytest.mark.parametrize(("repack", "mapped"), [(True, False), (False, True)])
    def test_are_mapped_unless_they_may_be_laid_out_anew(
        self, write_model: WriteModel, repack: bool, mapped: bool
    ) -> None:
        path = write_model(replace(TARGET, quantization=GGMLQuantizationType.Q4_0))
        with opened(path, replace(OPTIONS, repack=repack)):
            assert (str(path) in mapped_files()) == mapped

    def test_a_load_that_is_stopped_gives_up(self, tiny_pair: TinyPair) -> None:
        stop = StopFlag()
        stop.set()
        with pytest.raises(Interrupted):
            LlamaLM(tiny_pair.target, OPTIONS, stop)


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (replace(OPTIONS, n_gpu_layers=-1), "no layers on a GPU"),
            (replace(OPTIONS, placing=Placing(load_mode=LoadMode.MAP)), "does not map a file"),
            (replace(OPTIONS, cache_type_k=CacheType.F32), "keys as f32 with values as f16"),
            (replace(OPTIONS, cache_type_v=CacheType.Q4_0), "keys as f16 with values as q4_0"),
            (replace(WITHOUT_FLASH, cache_type_v=CacheType.Q8_0), "keys as f16 with values as q8_0"),
        ],
    )
    def test_that_cannot_be_honoured_are_refused(self, tiny_pair: TinyPair, options: LoadOptions, words: str) -> None:
        with pytest.raises(ModelError, match=words):
            opened(tiny_pair.target, options)

    @pytest.mark.parametrize("k", CACHE_TYPES)
    @pytest.mark.parametrize("v", CACHE_TYPES)
    def test_cache_types_are_those_of_llama_cpp(self, tiny_pair: TinyPair, k: CacheType, v: CacheType) -> None:
        ids = [1, 80, 90, 100]
        rows = []
        for options in (OPTIONS, LoadOptions(N_CTX, N_THREADS, 0)):
            with opened(tiny_pair.target, replace(options, cache_type_k=k, cache_type_v=v)) as lm:
                rows.append(lm.extend(ids, 4).copy())
        assert np.abs(rows[0] - rows[1]).max() < 3


class TestTheLibraryItself:
    """Refused, with one line, where it is not the one that is declared here."""

    @pytest.fixture(autouse=True)
    def looked_for_anew(self) -> Iterator[None]:
        ik_library.cache_clear()
        yield
        ik_library.cache_clear()

    def refusal(self) -> str:
        with pytest.raises(EngineMissingError) as refused:
            ik_library()
        assert "\n" not in str(refused.value)
        return str(refused.value)

    def test_absent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def absent(name: str) -> str:
            raise PackageNotFoundError(name)

        monkeypatch.setattr(binding, "version", absent)
        assert installed_version() is None
        assert "is not installed" in self.refusal()

    def test_of_another_version(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(binding, "version", lambda _: "0.2.0")
        assert f"{VERSION}, not 0.2.0" in self.refusal()

    def test_without_its_file(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(binding, "find_spec", lambda _: None)
        assert "without its lib" in self.refusal()

    def test_that_is_none(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        broken = tmp_path / "libllama.so"
        broken.write_bytes(b"nothing")
        monkeypatch.setattr(binding, "_path", lambda: broken)
        assert "cannot be loaded" in self.refusal()

    def test_that_lacks_a_function(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(binding._FUNCTIONS, "llama_is_not_there", (None,))
        assert "llama_is_not_there" in self.refusal()

    @pytest.mark.parametrize(
        ("which", "struct"), [("MODEL_DEFAULTS", "llama_model_params"), ("CONTEXT_DEFAULTS", "llama_context_params")]
    )
    def test_of_another_layout(self, monkeypatch: pytest.MonkeyPatch, which: str, struct: str) -> None:
        known: dict[str, Any] = getattr(layouts, which)
        monkeypatch.setattr(binding, which, {**known, "n_ubatch": 511})
        assert f"{struct}, n_ubatch = 512" in self.refusal()

    def test_on_a_processor_that_lacks_what_it_was_compiled_for(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        info = tmp_path / "cpuinfo"
        info.write_text("processor\t: 0\nflags\t\t: fpu sse4_2 avx f16c\n")
        for machine, missing in (("aarch64", ""), ("x86_64", "AVX2, FMA")):
            monkeypatch.setattr(platform, "machine", lambda machine=machine: machine)
            assert binding._missing_instructions(info) == missing
        monkeypatch.setattr(binding, "_missing_instructions", lambda: missing)
        assert "AVX2, FMA" in self.refusal()
