"""`specdesk doctor` as a user's shell runs it: here, and where llama.cpp is absent or crashes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from specdesk.hub.manifest import load_manifest
from tests.cli.shell import specdesk

OFFLINE = {"HF_HUB_OFFLINE": "1"}


def record(*args: object, code: int = 0, env: dict[str, str] | None = None) -> dict[str, Any]:
    done = specdesk("doctor", "--json", *args, env=OFFLINE | (env or {}))
    assert (done.returncode, done.stderr) == (code, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def with_engine(folder: Path, code: str) -> dict[str, str]:
    """An environment in which llama_cpp is `code`."""
    (folder / "llama_cpp.py").write_text(code)
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH", str(Path.cwd())))))}


def test_the_report() -> None:
    done = specdesk("doctor", env=OFFLINE)
    assert (done.returncode, done.stderr) == (0, "")
    for said in ("llama-cpp-python", "backends", "device", "cores", "memory", "models", "hub", "Recommended:", "fits"):
        assert said in done.stdout
    assert all(pair.name in done.stdout for pair in load_manifest().pairs)
    assert "HF_HUB_OFFLINE is set" in done.stdout


def test_the_json_object() -> None:
    found = record()
    assert found["engine"]["build"]["devices"][0]["name"] == "CPU"
    assert found["n_usable"] >= found["n_threads"] >= 1
    assert 0 < found["memory_free_bytes"] <= found["memory_total_bytes"]
    pairs = load_manifest().pairs
    assert [pair["name"] for pair in found["pairs"]] == [pair.name for pair in pairs]
    assert found["pairs"][0]["needed_bytes"] == pairs[0].memory_bytes(4096)
    assert {pair["fit"] for pair in found["pairs"]} <= {"fits", "tight", "does not fit"}
    assert found["hub"]["problem"] == "HF_HUB_OFFLINE is set"


def test_every_key_is_told_of() -> None:
    told = Path("docs/doctor.md").read_text(encoding="utf-8").partition("## The object of --json")[2]
    found = record()
    told_of = ("room", "recommended", "hub", "engine")
    keys = [*found, *found["engine"]["build"], *found["pairs"][0], *found["findings"][0]]
    for key in (*keys, *(key for name in told_of for key in found[name])):
        assert f"`{key}`" in told, key


@pytest.mark.parametrize(
    ("variables", "pair", "said"),
    [
        ({"HF_HUB_OFFLINE": "1"}, None, "no pair is here, and none can be had: HF_HUB_OFFLINE is set"),
        ({"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": "foo"}, None, "HF_ENDPOINT is no http(s) address: 'foo'"),
        ({"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": "http://127.0.0.1:9"}, "qwen2.5-coder-1.5b", "free in"),
    ],
    ids=["offline", "no endpoint", "unreachable"],
)
def test_only_what_can_be_had_is_recommended(variables: dict[str, str], pair: str | None, said: str) -> None:
    found = record(env=variables)["recommended"]
    assert found["pair"] == pair
    assert said in found["why"]


@pytest.mark.parametrize("place", ["dangling", "a file"])
def test_a_models_folder_that_cannot_be_made(tmp_path: Path, place: str) -> None:
    home = tmp_path / "specdesk"
    if place == "dangling":
        home.symlink_to(tmp_path / "unplugged" / "disk")
        said = f"{home} is a link to {tmp_path / 'unplugged' / 'disk'}, which is not there"
    else:
        home.write_text("")
        said = f"{home} is no folder"
    found = record(env={"SPECDESK_HOME": str(home)})
    assert found["models_problem"] == said
    assert found["disk_free_bytes"] > 0


def test_pairs_are_judged_with_the_context_that_is_asked_about() -> None:
    found = record("--ctx", 8192)
    assert found["n_ctx"] == 8192
    assert found["pairs"][0]["needed_bytes"] == load_manifest().pairs[0].memory_bytes(8192)


def test_a_context_out_of_range() -> None:
    assert specdesk("doctor", "--ctx", 1).returncode == 2


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise ModuleNotFoundError(\"No module named 'llama_cpp'\")", "No module named"),
        (
            "import os, sys; print('illegal', file=sys.stderr, flush=True); os.abort()",
            "SIGABRT while llama.cpp was loaded",
        ),
    ],
    ids=["absent", "crashing"],
)
def test_without_an_engine_the_rest_is_told(tmp_path: Path, code: str, said: str) -> None:
    found = record(code=3, env=with_engine(tmp_path, code))
    assert found["engine"]["build"] is None
    assert found["findings"][0]["weight"] == "problem"
    assert said in found["findings"][0]["text"]
    assert f"{sys.executable} -m pip install" in found["findings"][0]["do"]
    assert found["recommended"]["why"]


def test_without_an_engine_the_report_says_so(tmp_path: Path) -> None:
    done = specdesk("doctor", env=OFFLINE | with_engine(tmp_path, "raise ImportError('gone')"))
    assert done.returncode == 3
    assert "none that can be used" in done.stdout
    assert "problem: " in done.stdout
