"""`specdesk pair` from the shell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.shell import TIMEOUT_S, specdesk
from tests.tiny.gguf_models import TinyPair
from tests.tiny.gguf_stubs import WORDS, write_stub


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return write_stub(tmp_path / "target.gguf")


def test_a_usable_pair(tiny_pair: TinyPair) -> None:
    done = specdesk("pair", tiny_pair.target, tiny_pair.draft)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "usable: all 260 tokens are the same",
        "  the draft is no smaller than the target, so drafting with it cannot save time",
    ]


def test_padding_is_accepted(tmp_path: Path, target: Path) -> None:
    done = specdesk("pair", target, write_stub(tmp_path / "draft.gguf", n_padding=5))
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "usable: all 6 tokens are the same but for padding")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*WORDS[:3], "b", "a", "c"], "token 3 is 'b' in the draft and 'a' in the target"),
        (["!", '"', "#", "$"], "token 0 is '!' in the draft and '<unk>' in the target"),
    ],
    ids=["permuted", "another family"],
)
def test_another_vocabulary_is_refused_naming_the_first_token(
    tmp_path: Path, target: Path, words: list[str], said: str
) -> None:
    done = specdesk("pair", target, write_stub(tmp_path / "draft.gguf", words=words))
    assert (done.returncode, done.stdout.splitlines()) == (3, [f"refused: {said}"])


def test_as_json(tmp_path: Path) -> None:
    one = write_stub(tmp_path / "one.gguf", special=["<a>", "<b>"])
    other = write_stub(tmp_path / "other.gguf", special=["<a>", "<c>"])
    done = specdesk("pair", one, other, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "target": str(one),
        "draft": str(other),
        "usable": True,
        "sentence": "usable: one special token differs and is never drafted: "
        "token 7 is '<c>' in the draft and '<b>' in the target",
        "banned": [7],
        "most_drafted": None,
        "notes": ["the draft is no smaller than the target, so drafting with it cannot save time"],
        "settled_by_loading": [],
    }
    refused = specdesk("pair", one, write_stub(tmp_path / "x.gguf", words=["x"]), "--json")
    assert (refused.returncode, json.loads(refused.stdout)["usable"]) == (3, False)


def test_a_model_with_a_running_state_cannot_speculate(tmp_path: Path, target: Path) -> None:
    mamba = write_stub(tmp_path / "mamba.gguf", architecture="mamba", recurrent=True)
    for files, role in (((mamba, target), "target"), ((target, mamba), "draft")):
        done = specdesk("pair", *files)
        assert done.returncode == 3
        (said,) = done.stdout.splitlines()
        assert said.startswith(f"refused: the {role} keeps a running state (recurrent) that cannot be cut back")


def test_a_sliding_window_and_experts_are_said(tmp_path: Path) -> None:
    target = write_stub(tmp_path / "t.gguf", window=512, n_experts=8)
    done = specdesk("pair", target, write_stub(tmp_path / "d.gguf"))
    assert done.returncode == 0
    assert "  the target is a mixture of 8 experts: several tokens in a pass" in done.stdout
    assert "  some layers of the target look back 512 tokens (sliding window): the whole text is kept" in done.stdout


def test_what_cannot_be_loaded_is_an_error(tmp_path: Path, target: Path) -> None:
    mmproj = write_stub(tmp_path / "mmproj.gguf", architecture="clip", purpose="mmproj", words=[])
    for files, said in (
        ((target, tmp_path / "none.gguf"), "no file lies at {tmp_path}/none.gguf: there is no model"),
        ((target, mmproj), "mmproj.gguf cannot be loaded: it is no language model but what goes with one (mmproj)"),
        ((tmp_path, target), "cannot be loaded: it is no regular file"),
    ):
        done = specdesk("pair", *files)
        assert (done.returncode, done.stdout) == (3, "")
        assert said.format(tmp_path=tmp_path) in done.stderr


def test_models_by_the_names_they_have_in_the_list(tmp_path: Path) -> None:
    folder = Path(os.environ["SPECDESK_HOME"]) / "models" / "owner" / "toy"
    folder.mkdir(parents=True)
    write_stub(folder / "one.gguf", name="First")
    write_stub(folder / "two.gguf", name="Second")
    for one, other in (("one.gguf", "Second"), ("owner/toy/one.gguf", "TWO"), ("hf:owner/toy/one.gguf", "two.gguf")):
        done = specdesk("pair", one, other, "--json")
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        assert (said["target"], said["draft"]) == (str(folder / "one.gguf"), str(folder / "two.gguf"))
    done = specdesk("run", "--target", "onee.gguf", "--draft", "Second", "Hi")
    assert done.returncode == 3
    assert "no file lies at onee.gguf: " in done.stderr
    assert "the nearest: one.gguf" in done.stderr
    done = specdesk("run", "--target", "hf:owner/toy/three.gguf", "Hi")
    assert (done.returncode, "(specdesk download hf:owner/toy/three.gguf)" in done.stderr) == (3, True)


def test_one_file_alone_wants_a_draft(target: Path) -> None:
    done = specdesk("pair", target)
    assert (done.returncode, done.stderr) == (2, f"specdesk: a draft is missing (specdesk pair {target} DRAFT)\n")
    done = specdesk("pair", "default", target)
    assert (done.returncode, "default is a pair" in done.stderr) == (2, True)


def test_a_recommended_pair_by_its_name() -> None:
    done = specdesk("pair", "default")
    assert done.returncode == 3
    assert "specdesk download" in done.stderr
    assert specdesk("pair", "no-such-pair").returncode == 2


def test_neither_llama_cpp_nor_numpy_is_needed(tiny_pair: TinyPair) -> None:
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['llama_cpp', 'numpy', 'textual', 'huggingface_hub'])); "
        "from specdesk.__main__ import main; main()"
    )
    command = [sys.executable, "-c", code, "pair", str(tiny_pair.target), str(tiny_pair.draft)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=os.environ)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "usable: all 260 tokens are the same"), done.stderr


@pytest.mark.models
def test_the_default_pair_is_usable(real_pair: tuple[Path, Path]) -> None:
    done = specdesk("pair", *real_pair)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usable: all 151,")
    assert "so gains are small" in done.stdout
