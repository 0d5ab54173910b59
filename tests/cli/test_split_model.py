"""A model in several files answers as it does in one."""

from __future__ import annotations

from pathlib import Path

from tests.cli.shell import answer
from tests.tiny.gguf_models import DRAFT, TARGET, TinyPair, write

OPTIONS = ("--threads", 1, "--seed", 1, "-n", 24, "-k", 3, "--raw", "hello")


def test_it_is_loaded_through_its_first_file_whichever_is_named(tiny_pair: TinyPair, tmp_path: Path) -> None:
    write(tmp_path / "target.gguf", TARGET, split_after=8)
    write(tmp_path / "draft.gguf", DRAFT, split_after=12)
    target, draft = (sorted(tmp_path.glob(f"{role}-*.gguf")) for role in ("target", "draft"))
    assert (len(target), len(draft)) == (3, 2)
    whole = answer("--target", tiny_pair.target, "--draft", tiny_pair.draft, *OPTIONS)
    split = answer("--target", target[1], "--draft", draft[1], *OPTIONS)
    assert split["text"] == whole["text"]
    assert (split["target"], split["draft"]) == (target[0].name, draft[0].name)
