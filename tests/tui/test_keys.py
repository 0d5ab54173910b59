"""The keys at the foot of a screen."""

from __future__ import annotations

from typing import ClassVar

import pytest
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType

from specdesk.tui.widgets.keys import Keys
from tests.tui.stage import settle, shown


class Footed(App[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "one", "First"),
        Binding("b", "two", "Second"),
        Binding("c", "three", "Third"),
        Binding("d", "four", "漢字"),
    ]

    def compose(self) -> ComposeResult:
        yield Keys()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return None if action == "two" else True


@pytest.mark.parametrize(
    ("width", "named"),
    [
        (120, "a First b Second c Third d 漢字"),
        (44, "a First b Second c Third d 漢字"),
        (43, "a First c Third d 漢字"),
        (34, "a First c Third d 漢字"),
        (33, "a First c Third"),
        (19, "a First"),
    ],
)
async def test_keys_are_named_whole_or_not_at_all(width: int, named: str) -> None:
    app = Footed()
    async with app.run_test(size=(120, 5)) as pilot:
        await pilot.resize_terminal(width, 5)
        await settle(pilot)
        keys, palette = shown(app)[-1].split("▏")
        assert " ".join(keys.split()) == named
        assert palette.split() == ["^p", "palette"]


class Left(Footed):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "five", "Back")]


@pytest.mark.parametrize(
    ("width", "named"), [(120, "a First b Second c Third d 漢字 esc Back"), (34, "a First esc Back"), (24, "esc Back")]
)
async def test_the_way_back_is_named_where_other_keys_are_not(width: int, named: str) -> None:
    app = Left()
    async with app.run_test(size=(width, 5)) as pilot:
        await settle(pilot)
        assert " ".join(shown(app)[-1].split("▏")[0].split()) == named
