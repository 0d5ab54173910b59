"""`specdesk models verify` from the shell."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pexpect
import pytest
from typer.testing import CliRunner

from specdesk.cli.main import build_app
from specdesk.errors import UsageError
from specdesk.hub import manifest
from specdesk.hub.artifacts import Artifact
from specdesk.hub.here.added import add
from specdesk.hub.here.on_disk import file_path
from specdesk.hub.here.origin import Origin, keep_origin
from specdesk.hub.manifest import Manifest, load_manifest
from specdesk.paths import models_dir
from tests.cli.shell import COMMAND, TIMEOUT_S, lines
from tests.cli.test_models import models, put
from tests.hub.samples import CONTENT, artifact_of, corrupted, pair_of
from tests.tiny.gguf_stubs import write_stub


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write(artifact: Artifact, content: bytes) -> Path:
    path = file_path(artifact, artifact.files[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> Manifest:
    """The only pair there is."""
    pair = pair_of(artifact_of(name="target"), artifact_of(CONTENT[:999], name="draft"))
    toys = Manifest(pair.name, pair.artifacts, (pair,))
    monkeypatch.setattr(manifest, "load_manifest", lambda: toys)
    return toys


def verify(*args: str) -> tuple[int, Sequence[str], Sequence[str]]:
    """In this process, where the manifest is another one."""
    done = CliRunner().invoke(build_app(), ["models", "verify", *args], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.return_value or 0, lines(done.stdout), lines(done.stderr)


def test_a_pair_as_it_was_downloaded(toys: Manifest) -> None:
    target, draft = write(toys.artifacts[0], CONTENT), write(toys.artifacts[1], CONTENT[:999])
    said = [f"ok         {target}", f"ok         {draft}"]
    summary = ["specdesk: 2 files: 2 ok"]
    assert verify("toy-pair") == (0, said, summary)
    assert verify("default") == (0, said, summary)
    assert verify() == (0, [said[1], said[0]], summary)


def test_a_pair_that_is_damaged_says_what_to_do(toys: Manifest) -> None:
    target, draft = write(toys.artifacts[0], corrupted(CONTENT)), write(toys.artifacts[1], CONTENT[:99])
    code, out, err = verify("toy-pair")
    assert code == 3
    expected, found = toys.artifacts[0].files[0].sha256, sha256(target)
    hashes = f"its sha256 is {found}, not {expected}"
    assert out == [f"damaged    {target}: {hashes}", f"damaged    {draft}: it has 99 bytes, not 999"]
    assert err == [
        "specdesk: 2 files: 2 damaged",
        f"specdesk: to repair {target.name}: specdesk models remove {target} && specdesk download toy-pair",
        f"specdesk: to repair {draft.name}: specdesk models remove {draft} && specdesk download toy-pair",
    ]


def test_a_pair_that_is_not_all_here(toys: Manifest) -> None:
    with pytest.raises(UsageError, match="nothing of the pair toy-pair is on this disk"):
        verify("toy-pair")
    draft = write(toys.artifacts[1], CONTENT[:999])
    missing = file_path(toys.artifacts[0], toys.artifacts[0].files[0])
    said = [f"specdesk: not here: {missing}", "specdesk: 1 file: 1 ok"]
    assert verify("toy-pair") == (0, [f"ok         {draft}"], said)


def test_blobs_of_ollama_tell_their_hash(tmp_path: Path) -> None:
    stub = write_stub(tmp_path / "stub")
    blob = stub.rename(tmp_path / f"sha256-{sha256(stub)}")
    add(blob)
    done = models("verify")
    assert (done.returncode, lines(done.stdout)) == (0, [f"ok         {blob}"])
    with blob.open("ab") as file:
        file.write(b"x")
    done = models("verify", blob)
    assert done.returncode == 3
    assert f"to repair {blob.name}: rm {blob}, and have Ollama fetch it again with: ollama pull" in done.stderr


def test_links_of_the_hub_cache_lead_to_files_that_tell_theirs(tmp_path: Path) -> None:
    stub = write_stub(tmp_path / "models--o--r" / "blobs" / "x")
    blob = stub.rename(stub.with_name(sha256(stub)))
    link = tmp_path / "models--o--r" / "snapshots" / "main" / "m.gguf"
    link.parent.mkdir(parents=True)
    link.symlink_to(blob)
    assert lines(models("verify", link).stdout) == [f"ok         {link}"]
    blob.write_bytes(blob.read_bytes()[:-1] + b"?")
    done = models("verify", link)
    assert done.returncode == 3
    assert f"delete {blob} and download it again" in done.stderr


def test_notes_of_the_hub_library_are_believed_of_files_that_did_not_change(tmp_path: Path) -> None:
    path = write_stub(tmp_path / "sub" / "m.gguf")
    note = tmp_path / ".cache" / "huggingface" / "download" / "sub" / "m.gguf.metadata"
    note.parent.mkdir(parents=True)
    note.write_text(f"commit\n{sha256(path)}\n{path.stat().st_mtime}\n")
    assert lines(models("verify", path).stdout) == [f"ok         {path}"]
    found = path.stat()
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    done = models("verify", path)
    assert (done.returncode, "download it again" in done.stderr) == (3, True)
    os.utime(path, (found.st_mtime + 60, found.st_mtime + 60))
    assert models("verify", path).stdout == f"not known  {path}\n"
    note.write_text("what is this")
    assert models("verify", path).stdout == f"not known  {path}\n"


def test_a_download_is_known_by_what_its_source_called_it() -> None:
    path = write_stub(models_dir() / "owner" / "toy" / "toy.gguf")
    keep_origin(path, Origin("hf:owner/toy/toy.gguf", sha256(path), "v1", None))
    assert models("verify", path).stdout == f"ok         {path}\n"
    keep_origin(path, Origin("hf:owner/toy/toy.gguf", "a" * 64, "v1", None))
    done = models("verify", path)
    assert done.returncode == 3
    assert done.stdout == f"damaged    {path}: its sha256 is {sha256(path)}, not {'a' * 64}\n"
    mend = "specdesk download hf:owner/toy/toy.gguf@v1 --update"
    assert lines(done.stderr) == ["specdesk: 1 file: 1 damaged", f"specdesk: to repair toy.gguf: {mend}"]


@pytest.mark.parametrize("later_s", [0, 60])
def test_a_download_that_was_damaged_since_is_judged_by_what_was_downloaded(later_s: int) -> None:
    path = write_stub(models_dir() / "owner" / "toy" / "toy.gguf")
    good, size = path.read_bytes(), path.stat().st_size
    keep_origin(path, Origin("hf:owner/toy/toy.gguf", sha256(path), None, None))
    for content in (corrupted(good), good[: size // 2], b""):
        path.write_bytes(content)
        changed = path.stat().st_mtime + later_s
        os.utime(path, (changed, changed))
        for args in ((path,), ()):
            done = models("verify", *args)
            assert (done.returncode, done.stdout.split()[0]) == (3, "damaged"), done
            assert lines(done.stderr)[-1].endswith("specdesk download hf:owner/toy/toy.gguf --update")
    assert f"it has 0 bytes, not {size:,}" in done.stdout
    path.write_bytes(good)
    assert models("verify", path).stdout == f"ok         {path}\n"


def test_a_download_without_a_sha256_is_judged_by_its_length() -> None:
    path = write_stub(models_dir() / "host" / "toy.gguf")
    keep_origin(path, Origin("https://host/toy.gguf", '"etag"', None, None))
    assert models("verify", path).stdout == f"not known  {path}\n"
    path.write_bytes(path.read_bytes()[:-1])
    done = models("verify", path)
    assert (done.returncode, done.stdout.split()[0]) == (3, "damaged")
    assert "specdesk download https://host/toy.gguf --update" in done.stderr


def test_the_summary_counts_every_verdict() -> None:
    for name in ("a", "b", "c", "d"):
        path = write_stub(models_dir() / f"{name}.gguf", name)
        if name != "a":
            keep_origin(path, Origin(f"hf:o/r/{name}.gguf", sha256(path) if name != "d" else "0" * 64, None, None))
    said = lines(models("verify").stderr)
    counts = "2 ok, 1 damaged, 1 not known (nobody says what its sha256 should be)"
    assert said == [
        f"specdesk: 4 files: {counts}",
        "specdesk: to repair d.gguf: specdesk download hf:o/r/d.gguf --update",
    ]


def test_of_what_nothing_is_known(tmp_path: Path) -> None:
    path = write_stub(models_dir() / "a.gguf", "Alpha")
    said = "specdesk: 1 file: 1 not known (nobody says what its sha256 should be)"
    for args, code in ((), 0), (("Alpha",), 2):
        done = models("verify", *args)
        assert (done.returncode, done.stdout, lines(done.stderr)) == (code, f"not known  {path}\n", [said])
    done = models("verify", "Alphabet")
    assert (done.returncode, done.stdout) == (2, "")
    assert 'there is no model "Alphabet"' in done.stderr


def test_models_are_checked_by_all_names_that_they_are_loaded_by(tmp_path: Path) -> None:
    toy = write_stub(models_dir() / "owner" / "toy" / "toy.gguf", "Toy")
    deep = write_stub(tmp_path / "theirs" / "deep" / "other.gguf", "Other")
    add(tmp_path / "theirs")
    for path, names in {toy: ("owner/toy/toy.gguf", "hf:owner/toy/toy.gguf"), deep: ("deep/other.gguf",)}.items():
        for name in names:
            assert models("verify", name).stdout == f"not known  {path}\n"
    done = models("verify", "hf:owner/toy/none.gguf")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "specdesk: hf:owner/toy/none.gguf is not on this disk (specdesk download hf:owner/toy/none.gguf)\n"
    )


def test_ollama_models_are_checked_by_their_short_name(tmp_path: Path) -> None:
    stub = write_stub(tmp_path / "models" / "blobs" / "stub")
    blob = stub.rename(stub.with_name(f"sha256-{sha256(stub)}"))
    manifest = tmp_path / "models" / "manifests" / "registry.ollama.ai" / "library" / "tiny" / "latest"
    manifest.parent.mkdir(parents=True)
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": blob.name.replace("-", ":", 1)}
    manifest.write_text(json.dumps({"layers": [layer]}))
    add(tmp_path / "models")
    for name in ("tiny", "tiny:latest", "TINY"):
        assert models("verify", name).stdout == f"ok         {blob}\n"


def test_nothing_to_check() -> None:
    done = models("verify")
    assert (done.returncode, done.stdout, lines(done.stderr)) == (
        0,
        "",
        ["specdesk: there are no model files on this disk"],
    )


def test_json(tmp_path: Path) -> None:
    blob = tmp_path / f"sha256-{'0' * 64}"
    write_stub(blob)
    done = models("verify", blob, "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout) == [
        {
            "path": str(blob),
            "verdict": "damaged",
            "sha256": "0" * 64,
            "source": "Ollama's name of it",
            "reason": f"its sha256 is {sha256(blob)}, not {'0' * 64}",
            "mend": f"rm {blob}, and have Ollama fetch it again with: ollama pull",
        }
    ]


def test_on_a_terminal_it_shows_how_far_it_is_and_can_be_stopped() -> None:
    """The file is a hole of 4.7 GB, which takes seconds to hash and no room."""
    path = put(load_manifest().pair("qwen2.5-coder-7b").target)
    before = path.stat().st_mtime_ns
    child = pexpect.spawn(
        COMMAND[0],
        [*COMMAND[1:], "models", "verify", "qwen2.5-coder-7b"],
        timeout=TIMEOUT_S,
        encoding="utf-8",
        dimensions=(24, 160),
    )
    child.expect_exact("/4.7 GB")
    child.send("\x03")
    child.expect_exact("specdesk: stopped")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert path.stat().st_mtime_ns == before
