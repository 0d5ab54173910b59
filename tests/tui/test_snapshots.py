"""How the main screens look, compared with pictures that somebody has looked at and accepted."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.console import Console

from specdesk.hub.download.tally import FetchTally
from specdesk.store.chat_store import ChatStore
from specdesk.tui import model_changes
from specdesk.tui.chat import bookshelf
from specdesk.tui.models import offer
from specdesk.tui.screens import fetch
from specdesk.tui.widgets import headroom
from tests.tui.driver import Chat
from tests.tui.scenes import SCENES, SIZES, Clock, Stand
from tests.tui.snapshot import ACCEPT, ACCEPTED, REPORTS, check, differences, normal, picture

_NOW = datetime(2026, 3, 14, 15, 9, tzinfo=UTC)
_GB = 10**9


class Usage(NamedTuple):
    total: int
    used: int
    free: int


class Today(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Today:
        return cls.fromtimestamp(_NOW.timestamp(), tz)


def _name(scene: str, size: tuple[int, int]) -> str:
    return f"{scene}-{size[0]}x{size[1]}"


def _svg(unique: int, text: str) -> str:
    console = Console(record=True, file=io.StringIO(), width=20)
    console.print(text)
    return console.export_svg(unique_id=f"terminal-{unique}")


@pytest.fixture
def store(own_home: Path) -> Iterator[ChatStore]:
    """Begun two days ago, and used every hour since."""
    hours = count()
    with ChatStore.open(pytest.fail, clock=lambda: _NOW - timedelta(hours=46 - next(hours))) as opened:
        yield opened


@pytest.fixture
def stand(
    make_chat: Callable[..., Chat], store: ChatStore, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[tuple[int, int]], Stand]]:
    """A machine on which time stands still, with as much room as ever, in a folder of no name."""
    clock = Clock()
    monkeypatch.setattr(bookshelf, "datetime", Today)
    monkeypatch.setattr(fetch, "FetchTally", partial(FetchTally, clock))
    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage(256 * _GB, 156 * _GB, 100 * _GB))
    monkeypatch.setattr(headroom, "SPARE", 0)  # how much of it is left depends on how the answer came in
    for module in (model_changes, offer):
        monkeypatch.setattr(module, "free_memory", lambda: 12 * _GB)
    work = own_home / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield partial(Stand, make_chat, store, clock)
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("size", SIZES, ids="{0[0]}x{0[1]}".format)
@pytest.mark.parametrize("scene", SCENES)
async def test_it_looks_as_accepted(
    stand: Callable[[tuple[int, int]], Stand], scene: str, size: tuple[int, int], pytestconfig: pytest.Config
) -> None:
    async with SCENES[scene](stand(size)) as pilot:
        drawn = await picture(pilot)
    check(_name(scene, size), drawn, accept=pytestconfig.getoption(ACCEPT), root=pytestconfig.rootpath)


def test_every_picture_is_of_a_scene() -> None:
    names = {f"{_name(scene, size)}.svg" for scene in SCENES for size in SIZES}
    assert {path.name for path in ACCEPTED.iterdir()} == names, "delete what is left over, accept what is missing"


class TestTheComparison:
    ONE = _svg(1, "accepted")
    OTHER = _svg(2, "changed")

    def test_what_changes_from_run_to_run_is_left_out(self) -> None:
        assert normal(self.ONE) == normal(_svg(3, "accepted"))
        assert "terminal-1-" not in normal(self.ONE)
        assert "font-face" not in normal(self.ONE)

    def test_a_difference_is_said_and_shown_and_can_be_accepted(self, tmp_path: Path) -> None:
        one, other = normal(self.ONE), normal(self.OTHER)
        compare = partial(check, "a", root=tmp_path, folder=tmp_path / "accepted")
        with pytest.raises(pytest.fail.Exception, match="a has no accepted picture"):
            compare(one, accept=False)
        compare(one, accept=True)
        compare(one, accept=False)
        with pytest.raises(pytest.fail.Exception, match="does not look as it did") as failure:
            compare(other, accept=False)
        said = str(failure.value)
        for part in ("-accepted", "+changed", f"{REPORTS}/a.html", "--accept-snapshots -k a", "textual "):
            assert part in said
        report = (tmp_path / REPORTS / "a.html").read_text(encoding="utf-8")
        assert "&gt;accepted&lt;" in report
        assert "&gt;changed&lt;" in report
        compare(other, accept=True)
        compare(other, accept=False)

    def test_other_colours_alone_are_a_difference(self) -> None:
        one = normal(self.ONE)
        assert "colours" in differences(one, one.replace("#c5c8c6", "#ff0000"))[0]
