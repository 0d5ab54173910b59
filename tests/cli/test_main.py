"""The command as a whole: what it says without arguments, and what it costs to ask for help."""

from __future__ import annotations

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
