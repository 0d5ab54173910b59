"""`specdesk run --grammar` and `--json-schema`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from jsonschema import validate

from tests.cli.shell import answer, lines, specdesk
from tests.tiny.gguf_models import TinyPair

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 5}, "ok": {"type": "boolean"}},
    "required": ["name", "ok"],
}


@pytest.fixture
def pair(tiny_pair: TinyPair) -> Sequence[object]:
    files = ("--target", tiny_pair.target, "--draft", tiny_pair.draft)
    return (*files, "--threads", 1, "--ctx", 256, "--raw", "Answer: ", "--seed", 2)


@pytest.fixture
def write(tmp_path: Path) -> Path:
    return tmp_path / "file"


@pytest.mark.parametrize("k", [0, 8])
def test_the_output_validates(pair: Sequence[object], write: Path, k: int) -> None:
    write.write_text(json.dumps(SCHEMA))
    done = specdesk("run", *pair, "--json-schema", write, "-k", k)
    assert done.returncode == 0, done.stderr
    validate(json.loads(done.stdout), SCHEMA)


def test_a_grammar_from_a_file(pair: Sequence[object], write: Path) -> None:
    write.write_text('\ufeffroot ::= "ja" | "nein"\n', encoding="utf-8")
    record = answer(*pair, "--grammar", write)
    assert record["text"] in ("ja", "nein")
    assert record["stop_reason"] == "eog"
    assert record["settings"]["grammar"].startswith("root ::=")
    assert answer(*pair, "-n", 3)["settings"]["grammar"] is None


def test_an_answer_cut_short_is_said_and_fails(pair: Sequence[object], write: Path) -> None:
    write.write_text(json.dumps(SCHEMA))
    done = specdesk("run", *pair, "--json-schema", write, "-n", 4)
    assert done.returncode == 1
    assert done.stdout
    assert "before it is complete" in lines(done.stderr)[-1]


@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("--grammar", "root ::= (", "grammar cannot be used"),
        ("--grammar", 'start ::= "a"', "root"),
        ("--grammar", "", "empty"),
        ("--grammar", 'root ::= root "a" | "b"', "left recursion"),
        ("--json-schema", "{", "not JSON"),
        ("--json-schema", '{"type": "strng"}', "strng"),
        ("--json-schema", '{"type": "string", "pattern": "a"}', "pattern"),
        ("--json-schema", '{"$ref": "https://example.com/schema"}', "$ref"),
        ("--json-schema", "false", "nothing could be answered"),
    ],
)
def test_what_cannot_be_used_ends_before_any_generation(
    pair: Sequence[object], write: Path, option: str, text: str, said: str
) -> None:
    write.write_text(text)
    done = specdesk("run", *pair, option, write)
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in lines(done.stderr)[-1]
    assert "Traceback" not in done.stderr


def test_files_that_cannot_be_read(pair: Sequence[object], write: Path) -> None:
    for path, content in ((write, None), (write.parent, None), (write, b"\xff\xfe\x00")):
        if content is not None:
            path.write_bytes(content)
        done = specdesk("run", *pair, "--grammar", path)
        assert done.returncode == 2
        assert str(path) in done.stderr
        assert len(lines(done.stderr)) == 1


def test_a_file_without_an_end_is_refused(pair: Sequence[object]) -> None:
    done = specdesk("run", *pair, "--grammar", "/dev/zero")
    assert done.returncode == 2
    assert "MB" in lines(done.stderr)[-1]


def test_drafts_without_a_draft_model_are_counted_and_named(tiny_pair: TinyPair, write: Path) -> None:
    write.write_text('root ::= "always the same text"')
    options = ("--target", tiny_pair.target, "--threads", 1, "--ctx", 256, "--raw", "Answer: ", "-k", 5)
    record = answer(*options, "--grammar", write)
    assert record["settings"]["lookahead"] == 5
    assert record["stats"]["accepted"] > 0
    coloured = specdesk("run", *options, "--grammar", write, "--color", "always")
    assert "accepted" in coloured.stderr


def test_only_one_of_them(pair: Sequence[object], write: Path) -> None:
    write.write_text("{}")
    done = specdesk("run", *pair, "--grammar", write, "--json-schema", write)
    assert done.returncode == 2
    assert "exclude each other" in done.stderr
