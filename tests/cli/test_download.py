from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from huggingface_hub import close_session, constants
from typer.testing import CliRunner

from specdesk.cli.download import download
from specdesk.errors import NetworkError, UsageError
from specdesk.hub import manifest
from specdesk.hub.manifest import Manifest
from tests.hub.samples import CONTENT, artifact_of, pair_of
from tests.hub.server import HubServer

ROOT = Path(__file__).parents[2]
app = typer.Typer()
app.command()(download)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A hub with both files of the only pair there is."""
    pair = pair_of(artifact_of(name="target"), artifact_of(CONTENT[:999], name="draft"))
    toys = Manifest(pair.name, pair.artifacts, (pair,))
    monkeypatch.setattr(manifest, "load_manifest", lambda: toys)
    monkeypatch.setenv("SPECDESK_HOME", str(tmp_path))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    close_session()
    with HubServer({"owner/target/target.gguf": CONTENT, "owner/draft/draft.gguf": CONTENT[:999]}) as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        yield server
    close_session()


def test_progress_goes_to_stderr_and_the_places_to_stdout(hub: HubServer, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, [])
    assert done.exit_code == 0, done.output
    target = tmp_path / "models" / "owner" / "target" / "target.gguf"
    draft = tmp_path / "models" / "owner" / "draft" / "draft.gguf"
    assert done.stdout.splitlines() == [f"target  {target}", f"draft   {draft}"]
    assert (target.read_bytes(), draft.read_bytes()) == (CONTENT, CONTENT[:999])
    first = [
        "fetching toy-pair: 11.2 kB (target.gguf, draft.gguf)",
        "licence: MIT",
        "memory: about 57.1 MB to run it",
    ]
    assert done.stderr.splitlines()[:3] == first
    assert re.fullmatch(rf"destination: {tmp_path / 'models'}, \S+ .?B free", done.stderr.splitlines()[3])
    assert done.stderr.splitlines()[-2:] == [
        "draft.gguf  checked",
        "specdesk: run it with: specdesk run --pair toy-pair PROMPT",
    ]


def test_a_second_download_asks_nobody(hub: HubServer) -> None:
    first = CliRunner().invoke(app, ["toy-pair"])
    hub.seen.clear()
    second = CliRunner().invoke(app, ["default"])
    assert (second.stdout, second.stderr) == (
        first.stdout,
        "specdesk: run it with: specdesk run --pair toy-pair PROMPT\n",
    )
    assert hub.seen == []


def test_quiet_says_where_the_files_are_and_no_more(hub: HubServer) -> None:
    done = CliRunner().invoke(app, ["--quiet"])
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["target", "draft"]
    assert done.stderr == ""


def test_json_is_all_there_is(hub: HubServer, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["--json"])
    assert done.stderr == ""
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["event"] for line in lines if line["event"] != "progress"] == [
        "plan",
        *["start", "checked"] * 2,
        "done",
    ]
    folder = tmp_path / "models" / "owner"
    assert lines[-1] == {
        "event": "done",
        "files": {"target": str(folder / "target" / "target.gguf"), "draft": str(folder / "draft" / "draft.gguf")},
        "run": "specdesk run --pair toy-pair PROMPT",
    }


@pytest.mark.parametrize(
    "options",
    [["--json", "--quiet"], ["--json", "--list"], ["--list", "toy-pair"], ["hf:o/r/x.gguf", "--check", "--update"]],
)
def test_options_that_contradict_each_other_are_refused(options: list[str]) -> None:
    assert isinstance(CliRunner().invoke(app, options).exception, UsageError)


def test_only_what_is_missing_is_fetched(hub: HubServer, tmp_path: Path) -> None:
    CliRunner().invoke(app, [])
    (tmp_path / "models" / "owner" / "draft" / "draft.gguf").unlink()
    hub.seen.clear()
    done = CliRunner().invoke(app, [])
    assert "fetching toy-pair: 999 bytes (draft.gguf)" in done.stderr
    assert {seen.target for seen in hub.seen} == {"/owner/draft/resolve/main/draft.gguf"}


def test_an_unknown_pair_is_a_usage_error(hub: HubServer) -> None:
    done = CliRunner().invoke(app, ["toypair"])
    assert isinstance(done.exception, UsageError)
    assert done.exception.exit_code == 2
    assert (
        str(done.exception) == 'unknown pair "toypair"; the nearest is "toy-pair" (specdesk download --list names all)'
    )


@pytest.mark.parametrize(
    ("asked", "likely"),
    [
        ("owner/toy", "hf:owner/toy"),
        ("owner/toy:Q4_K_M", "hf:owner/toy"),
        ("hf.co/owner/toy", "hf:owner/toy"),
        ("owner/toy/x.gguf", "hf:owner/toy/x.gguf"),
        ("hf:owner/toy:Q4_K_M", "hf:owner/toy"),
    ],
)
def test_how_other_programs_name_models_is_understood(hub: HubServer, asked: str, likely: str) -> None:
    error = CliRunner().invoke(app, [asked]).exception
    assert isinstance(error, UsageError)
    assert f"specdesk download {likely}" in error.hint
    assert hub.seen == []


def test_a_hub_without_the_file_is_a_network_error(hub: HubServer) -> None:
    hub.files.clear()
    done = CliRunner().invoke(app, [])
    assert isinstance(done.exception, NetworkError)
    assert done.exception.exit_code == 4
    assert done.stdout == ""


def test_importing_the_command_loads_nothing_slow() -> None:
    code = (
        "import sys\n"
        "import specdesk.cli.download, specdesk.cli.progress, specdesk.hub.download.fetch, specdesk.hub.manifest\n"
        "print(sorted({'huggingface_hub', 'httpx2', 'textual', 'llama_cpp', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
