"""The command as a whole: what it says without arguments, and what it costs to ask for help."""

from __future__ import annotations

import re
import resource
import subprocess
import sys

import pytest

from specdesk import __version__
from tests.cli.shell import lines, specdesk


def test_without_a_terminal_the_chat_says_what_to_do_instead() -> None:
    done = specdesk()
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = lines(done.stderr)
    assert "specdesk run" in line


def test_version() -> None:
    assert specdesk("--version").stdout.strip() == f"specdesk {__version__}"


@pytest.mark.parametrize(
    "args", [[], ["run"], ["chat"], ["chats"], ["download"], ["models"], ["pair"], ["tune"], ["doctor"]]
)
def test_help_is_there_and_says_what_it_does(args: list[str]) -> None:
    done = specdesk(*args, "--help")
    assert done.returncode == 0
    assert "Usage: specdesk" in done.stdout


@pytest.mark.parametrize(
    "args",
    [[], ["run"], ["chat"], ["chats"], ["chats", "export"], ["download"], ["models"], ["pair"], ["tune"], ["doctor"]],
)
def test_help_loads_nothing_heavy(args: list[str]) -> None:
    code = f"""
import sys
sys.argv = ["specdesk", *{args}, "--help"]
from specdesk.__main__ import main
try:
    main()
except SystemExit:
    pass
print([name for name in ("llama_cpp", "textual", "huggingface_hub", "numpy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert lines(done.stdout)[-1] == "[]"


CHOICES = [
    (option, command)
    for command, options in {
        ("run", "hello"): ("--cache-type-k", "--cache-type-v", "--load-mode", "--verify", "--drafter", "--color"),
        ("chats", "export", "x"): ("--format",),
        ("models", "add"): ("--from",),
    }.items()
    for option in options
]


@pytest.mark.parametrize(("option", "command"), CHOICES)
def test_a_choice_that_is_none_is_told_with_those_there_are(option: str, command: tuple[str, ...]) -> None:
    done = specdesk(*command, option, "foo")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(
        rf"specdesk: Invalid value for '{option}': must be ([\w-]+, )*[\w-]+ or [\w-]+, not 'foo' \(see --help\)\n",
        done.stderr,
    ), done.stderr


@pytest.mark.parametrize(
    ("option", "wanted"),
    [("--max-tokens", "a whole number"), ("--temperature", "a number"), ("--seed", "a whole number")],
)
def test_what_is_no_number_is_told_with_its_value(option: str, wanted: str) -> None:
    done = specdesk("run", option, "many", "hello")
    assert done.returncode == 2
    assert done.stderr.endswith(f"must be {wanted}, not 'many' (see --help)\n")


def test_help_is_there_before_a_reader_waits_for_it() -> None:
    """By the processor's time, of which other programs take none: 0.2 to 0.3 s on a slow core, most of it Typer's."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    specdesk("--help")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5


def test_an_unknown_command_is_one_line() -> None:
    done = specdesk("bogus")
    assert done.returncode == 2
    (line,) = lines(done.stderr)
    assert "bogus" in line
