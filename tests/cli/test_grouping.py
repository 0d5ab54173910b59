"""Which options were given is known, whatever their values are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from specdesk.cli.grouping import Given, grouped


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    number: Annotated[int, typer.Option("--number", "-n")] = 3
    flag: Annotated[bool, typer.Option("--flag")] = False
    word: Annotated[str | None, typer.Option("--word", envvar="SPECDESK_TEST_WORD")] = None


CALLS: list[tuple[Group, Given]] = []


@grouped
def command(*, group: Group, given: Given) -> int:
    CALLS.append((group, given))
    return 0


def called(*args: str, env: dict[str, str] | None = None) -> tuple[Group, Given]:
    CALLS.clear()
    app = typer.Typer()
    app.command()(command)
    done = CliRunner().invoke(app, args, env=env)
    assert done.exit_code == 0, done.output
    return CALLS[0]


@pytest.mark.parametrize(
    ("args", "given"),
    [
        ([], set()),
        (["--number", "3"], {"number"}),
        (["-n", "4", "--flag"], {"number", "flag"}),
        (["--word", ""], {"word"}),
    ],
)
def test_what_was_typed_is_known_also_where_it_is_the_default(args: list[str], given: set[str]) -> None:
    assert set(called(*args)[1]) == given


def test_the_environment_counts_as_given() -> None:
    assert called(env={"SPECDESK_TEST_WORD": "x"}) == (Group(word="x"), Given({"word"}))


def test_a_direct_call_gives_what_it_names() -> None:
    CALLS.clear()
    assert command(number=3) == 0
    (call,) = CALLS
    assert call == (Group(), Given({"number"}))
