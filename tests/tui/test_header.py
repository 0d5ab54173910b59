"""The line on top: what is left out first where it does not all fit."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import astuple

import pytest
from rich.cells import cell_len

from specdesk.tui.widgets.header import ChatHeader, Heading, fitted
from tests.tui.driver import Chat

FULL = Heading(
    "specdesk",
    "Qwen2.5 Coder 1.5B Instruct",
    "0.5B",
    "T 0.8",
    "K auto",
    "exact",
    "seed new each answer",
    "llama.cpp CPU",
)


def words(heading: Heading) -> list[str]:
    return [word for part in astuple(heading) for word in part.split()]


@pytest.mark.parametrize("one_line", [True, False])
@pytest.mark.parametrize("width", range(20, 140))
def test_it_fits_and_no_word_is_cut(width: int, one_line: bool) -> None:
    """Bug: on 80 columns it ended in the middle of a word."""
    heading = fitted(FULL, width, one_line=one_line)
    rows = (
        [[heading.brand, heading.models, heading.settings, heading.engine]]
        if one_line
        else [[heading.models], [heading.settings, heading.engine]]
    )
    if width >= 44 or not one_line:
        for row in rows:
            assert cell_len((" " * 3).join(filter(None, row))) <= width
    assert {word.rstrip("…") for word in words(heading)} <= {*words(FULL), ""}
    assert heading.lookahead == "K auto"
    assert heading.exact == "exact"


def test_what_matters_least_goes_first() -> None:
    assert fitted(FULL, 140, one_line=True) == FULL
    on_80 = fitted(FULL, 78, one_line=True)
    assert (on_80.models, on_80.settings) == ("Qwen2.5 Coder 1.5B Instruct ⇐ 0.5B", "T 0.8   K auto   exact")
    assert (on_80.brand, on_80.engine) == ("specdesk", "CPU")
    assert fitted(FULL, 58, one_line=True).models.startswith("Qwen2.5 Coder 1.5B… ⇐ 0.5B")


def test_a_seed_that_was_chosen_stays_longer() -> None:
    chosen = Heading("specdesk", "Model", "Draft", "T 0", "K 4", "", "seed 123456", "llama.cpp CPU")
    assert fitted(chosen, 42, one_line=True).seed == "seed 123456"


@pytest.mark.parametrize("width", [40, 60, 80, 120])
async def test_what_is_shown_is_what_fits(make_chat: Callable[..., Chat], width: int) -> None:
    async with make_chat().run(size=(width, 24)) as see:
        rows = see.shown().splitlines()[: 1 if width >= 80 else 2]
        header = see.screen.query_one(ChatHeader)
        assert header._heading is not None
        known = set(words(header._heading)) | {"⇐"}
        assert all(word.rstrip("…") in known for row in rows for word in row.split())
        assert re.search("K (auto|[0-9]+)", " ".join(rows))
        await see.pilot.resize_terminal(140, 24)
        await see.until(lambda: "llama.cpp CPU" in see.shown().splitlines()[0], "all of it")
