"""LlamaLM on the real llama.cpp: the contract, views, interruption, and files that are no models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import llama_cpp
import numpy as np
import psutil
import pytest
from gguf import GGMLQuantizationType

from specdesk.core.interrupted import Interrupted
from specdesk.engine.llama import N_BATCH, LlamaLM
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.stop import StopFlag
from specdesk.errors import ModelError
from tests.contracts import LanguageModelContract, MakeLM
from tests.engine.conftest import OpenLM, WriteModel
from tests.tiny.gguf_models import BYTES, GEMMA, TARGET, TinyModel, TinyPair

LOAD_ALL = """
import json, sys
from pathlib import Path
from specdesk.engine.llama import LlamaLM
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.stop import StopFlag
from specdesk.errors import ModelError

for path in sys.argv[1:]:
    try:
        LlamaLM(Path(path), LoadOptions(64, 1, 0), StopFlag()).close()
        print(json.dumps("loaded"), flush=True)
    except ModelError as error:
        print(json.dumps(str(error)), flush=True)
"""
"""In a process of its own: an assertion in native code would end this one."""

LONG_PROMPT = [3 + i * 37 % 256 for i in range(6000)]


def load_all(paths: list[Path]) -> list[str]:
    """What loading each file says; fewer lines than files if native code ended the process."""
    done = subprocess.run([sys.executable, "-c", LOAD_ALL, *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


class TestContract(LanguageModelContract):
    TOLERANCE = 0.15
    """Keys and values are stored as float16, and a pass over hundreds of tokens sums in another order."""
    LONG = 2 * N_BATCH + 3

    @pytest.fixture
    def make(self, tiny_pair: TinyPair, open_lm: OpenLM) -> MakeLM:
        return lambda n_ctx: open_lm(tiny_pair.target, n_ctx=n_ctx)

    def test_more_rows_than_one_native_call_gives_are_refused(self, make: MakeLM) -> None:
        lm = make(N_BATCH + 1)
        with pytest.raises(ValueError, match=str(N_BATCH)):
            lm.extend([5] * (N_BATCH + 1), N_BATCH + 1)
        assert list(lm.ids) == []

    def test_as_many_rows_as_one_native_call_gives(self, make: MakeLM) -> None:
        lm = make(N_BATCH + 1)
        ids = self.ids(lm, N_BATCH + 1)
        self.same(lm.extend(ids, N_BATCH), self.fresh_rows(make, ids, N_BATCH))


class TestRows:
    def test_are_a_view_of_llama_cpp_s_own_buffer(self, tiny_pair: TinyPair, open_lm: OpenLM) -> None:
        lm = open_lm(tiny_pair.target)
        rows = lm.extend([10, 20], 2)
        before = rows.copy()
        lm.truncate(0)
        later = lm.extend([30, 40], 2)
        assert not rows.flags.owndata
        assert np.shares_memory(rows, later)
        assert not np.array_equal(rows, before)

    def test_leave_the_padding_out(self, write_model: WriteModel, open_lm: OpenLM) -> None:
        padded = open_lm(write_model(replace(TARGET, vocabulary=BYTES.padded(5))))
        plain = open_lm(write_model(TARGET))
        assert padded.n_vocab == plain.n_vocab == len(BYTES.tokens)
        assert padded.vocabulary.n_tokens == padded.n_vocab + 5
        ids = [1, 80, 90, 100]
        np.testing.assert_allclose(padded.extend(ids, 4), plain.extend(ids, 4), atol=1e-3)

    def test_of_a_quantized_file_are_near_the_original_s(
        self, tiny_pair: TinyPair, write_model: WriteModel, open_lm: OpenLM
    ) -> None:
        small = open_lm(write_model(replace(TARGET, quantization=GGMLQuantizationType.Q8_0)))
        large = open_lm(tiny_pair.target)
        assert small.path.stat().st_size < large.path.stat().st_size / 2
        ids = [1, 80, 90, 100]
        difference = np.abs(small.extend(ids, 4) - large.extend(ids, 4)).max()
        assert 0 < difference < 3  # logits spread over some 30


class TestInterruption:
    @pytest.fixture
    def stop(self) -> StopFlag:
        return StopFlag()

    @pytest.fixture
    def lm(self, tiny_pair: TinyPair, open_lm: OpenLM, stop: StopFlag) -> LlamaLM:
        return open_lm(tiny_pair.target, n_ctx=8192, stop=stop)

    def test_a_flag_set_before_the_pass(self, lm: LlamaLM, stop: StopFlag) -> None:
        ids = LONG_PROMPT[:8]
        lm.extend(ids[:5], 0)
        stop.set()
        with pytest.raises(Interrupted):
            lm.extend(ids[5:], 3)
        assert list(lm.ids) == ids[:5]
        with pytest.raises(Interrupted):
            lm.extend(ids[5:], 3)
        stop.clear()
        rows = lm.extend(ids[5:], 3).copy()
        lm.truncate(0)
        np.testing.assert_allclose(rows, lm.extend(ids, 3), atol=0.1)

    def test_a_flag_set_from_another_thread(self, lm: LlamaLM, stop: StopFlag) -> None:
        def stop_once_it_reads() -> None:
            while len(lm.ids) < N_BATCH:
                pass
            stop.set()

        stopper = threading.Thread(target=stop_once_it_reads, daemon=True)
        stopper.start()
        with pytest.raises(Interrupted):
            lm.extend(LONG_PROMPT, 1)
        stopper.join()
        held = list(lm.ids)
        assert N_BATCH <= len(held) < len(LONG_PROMPT)
        assert held == LONG_PROMPT[: len(held)]

        stop.clear()
        tail = [7, 77, 177]
        rows = lm.extend(tail, 3).copy()
        lm.truncate(0)
        np.testing.assert_allclose(rows, lm.extend(held + tail, 3), atol=0.15)

    def test_one_flag_stops_both_models(
        self, lm: LlamaLM, tiny_pair: TinyPair, open_lm: OpenLM, stop: StopFlag
    ) -> None:
        other = open_lm(tiny_pair.draft, stop=stop)
        stop.set()
        assert stop.is_set()
        for model in (lm, other):
            with pytest.raises(Interrupted):
                model.extend([5], 1)
        stop.clear()
        assert not stop.is_set()
        assert other.extend([5], 1).shape == (1, other.n_vocab)


class TestClosing:
    def test_twice(self, tiny_pair: TinyPair) -> None:
        lm = LlamaLM(tiny_pair.target, LoadOptions(64, 1, 0), StopFlag())
        lm.close()
        lm.close()

    def test_what_comes_after_is_refused_and_never_reaches_freed_memory(self, tiny_pair: TinyPair) -> None:
        with LlamaLM(tiny_pair.target, LoadOptions(64, 1, 0), StopFlag()) as lm:
            lm.extend([5, 6, 7], 0)
        assert list(lm.ids) == []
        with pytest.raises(ValueError, match="closed"):
            lm.extend([8], 1)
        lm.truncate(0)

    def test_facts_about_the_file(self, tiny_pair: TinyPair, open_lm: OpenLM) -> None:
        lm = open_lm(tiny_pair.target, n_ctx=64)
        assert lm.weights.name == "tiny target"
        assert lm.n_ctx == 64
        assert lm.weights.n_ctx_train == TARGET.n_ctx_train
        assert lm.weights.chat_template is None
        assert lm.weights.metadata("general.architecture") == "llama"
        assert lm.weights.metadata("there.is.no.such.key") is None


@pytest.fixture(scope="module")
def said(tiny_pair: TinyPair, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each file's error says, all tried in one process."""
    folder = tmp_path_factory.mktemp("broken")
    whole = tiny_pair.target.read_bytes()
    contents = {
        "empty": b"",
        "text": b"This is not a model. " * 20,
        **{f"cut{n}": whole[:n] for n in (3, 10, 23, 24, 200, 4000)},
        "cut_tensors": whole[: len(whole) // 2],
        "cut_last_byte": whole[:-1],
        "version": whole[:4] + (99).to_bytes(4, "little") + whole[8:],
        "architecture": whole.replace(b"llama", b"lorem"),
    }
    paths = {name: folder / f"{name}.gguf" for name in contents}
    for name, content in contents.items():
        paths[name].write_bytes(content)
    paths["missing"] = folder / "missing.gguf"
    paths["folder"] = folder
    paths["whole"] = tiny_pair.target
    return dict(zip(paths, load_all(list(paths.values())), strict=True))


class TestFilesThatAreNoModels:
    @pytest.mark.parametrize(
        ("file", "words"),
        [
            ("empty", "not a GGUF file"),
            ("text", "not a GGUF file"),
            ("cut3", "not a GGUF file"),
            ("cut10", "cut off inside its header (10 bytes)"),
            ("cut23", "cut off inside its header (23 bytes)"),
            ("cut24", "failed to read key-value pairs"),
            ("cut200", "exceeds remaining file size"),
            ("cut4000", "failed to read key-value pairs"),
            ("cut_tensors", "not within the file bounds"),
            ("cut_last_byte", "not within the file bounds"),
            ("version", "version 99"),
            ("architecture", "unknown model architecture"),
            ("missing", "there is no file"),
            ("folder", "is a folder"),
        ],
    )
    def test_get_one_line_that_says_why(self, said: dict[str, str], file: str, words: str) -> None:
        assert words in said[file]
        assert "\n" not in said[file]
        assert file in said[file] or file == "folder"

    def test_and_a_whole_one_loads_after_them(self, said: dict[str, str]) -> None:
        assert said["whole"] == "loaded"

    def test_a_file_that_may_not_be_read(self, tiny_pair: TinyPair, tmp_path: Path, open_lm: OpenLM) -> None:
        locked = tmp_path / "locked.gguf"
        locked.write_bytes(tiny_pair.target.read_bytes())
        locked.chmod(0)
        try:
            locked.open("rb").close()
        except PermissionError:
            with pytest.raises(ModelError, match=r"cannot read .*locked\.gguf: Permission denied"):
                open_lm(locked)
        else:
            pytest.skip("this user may read everything")

    def test_a_file_whose_name_is_no_text(self, tiny_pair: TinyPair, tmp_path: Path, open_lm: OpenLM) -> None:
        """File names are bytes: a Latin-1 one from an old disk must open too."""
        odd = tmp_path / os.fsdecode("modèle".encode("latin-1") + b".gguf")
        try:
            odd.write_bytes(tiny_pair.target.read_bytes())
        except OSError:
            pytest.skip("this file system wants names in UTF-8")
        assert open_lm(odd).n_vocab == len(BYTES.tokens)

    def test_a_model_without_a_vocabulary(self, write_model: WriteModel) -> None:
        """llama.cpp asserts, and so ends the process, when such a vocabulary is asked about its tokens."""
        path = write_model(replace(TARGET, vocabulary=replace(BYTES, model="no_vocab")))
        (line,) = load_all([path])
        assert "no vocabulary" in line

    @pytest.mark.parametrize(
        ("model", "said"),
        [
            (replace(TARGET, architecture="llama-embed"), "is an encoder model"),
            (replace(TARGET, causal=False), "is an encoder model"),
            (replace(GEMMA, architecture="gemma-embedding"), "is an encoder model"),
            (replace(TARGET, architecture="llada"), "writes a whole text at once (diffusion), and not token by token"),
            (replace(TARGET, architecture="dream"), "writes a whole text at once (diffusion), and not token by token"),
        ],
        ids=["llama-embed", "said by the file", "gemma-embedding", "llada", "dream"],
    )
    def test_a_model_whose_tokens_look_ahead(
        self, write_model: WriteModel, open_lm: OpenLM, model: TinyModel, said: str
    ) -> None:
        """llama.cpp loads it, and makes logits that depend on what stands behind them."""
        path = write_model(model)
        with pytest.raises(ModelError) as caught:
            open_lm(path)
        assert caught.value.message == f"{path.name} {said}"

    def test_a_model_that_says_its_tokens_do_not(self, write_model: WriteModel, open_lm: OpenLM) -> None:
        assert open_lm(write_model(replace(TARGET, causal=True))).n_vocab == len(BYTES.tokens)

    def test_a_context_that_does_not_fit_into_memory(
        self, tiny_pair: TinyPair, open_lm: OpenLM, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Not really tried: some systems promise any amount of memory and end the process that uses it.
        monkeypatch.setattr(llama_cpp, "llama_init_from_model", lambda _model, _params: None)
        with pytest.raises(ModelError, match=r"no context of 4000000 tokens for target.gguf"):
            open_lm(tiny_pair.target, n_ctx=4_000_000)


class TestMemory:
    """A file that is mapped and laid out anew as well would take its size twice."""

    @pytest.mark.parametrize(
        ("quantization", "repack", "mapped"),
        [
            (GGMLQuantizationType.F32, True, True),
            (GGMLQuantizationType.Q4_0, True, False),
            (GGMLQuantizationType.Q4_0, False, True),
        ],
    )
    def test_a_file_is_mapped_unless_it_may_be_laid_out_anew(
        self, quantization: GGMLQuantizationType, repack: bool, mapped: bool, write_model: WriteModel
    ) -> None:
        path = write_model(replace(TARGET, quantization=quantization))
        with LlamaLM(path, LoadOptions(64, 1, 0, repack=repack), StopFlag()):
            assert (str(path) in mapped_files()) == mapped


def mapped_files() -> set[str]:
    if not hasattr(psutil.Process, "memory_maps"):
        pytest.skip("this system does not tell")
    return {area.path for area in psutil.Process().memory_maps()}
