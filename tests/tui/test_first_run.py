"""The first screen of a new user: what the program is, what it would download, and how that goes."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest
from huggingface_hub import close_session, constants

from specdesk import paths
from specdesk.errors import NetworkError, StorageError
from specdesk.hub.artifacts import Pair
from specdesk.hub.download.fetch import fetch_pair
from specdesk.hub.download.report import Reporter
from specdesk.hub.here import on_disk
from specdesk.hub.here.chosen import of_pair, remembered
from specdesk.hub.here.on_disk import file_path, has_pair
from specdesk.hub.manifest import Manifest
from specdesk.hub.sources.hub import HubSource
from specdesk.hub.stopping import Stop
from specdesk.store.chat_store import ChatStore
from specdesk.tui.chat.state import State
from specdesk.tui.models import offer
from specdesk.tui.screens.fetch import REPAINT_S, FetchScreen
from specdesk.tui.screens.settings import SettingsScreen
from specdesk.tui.widgets.fetch_row import FetchRow
from specdesk.tui.widgets.model_list import ModelList
from specdesk.tui.widgets.prompt import Prompt
from specdesk.tui.widgets.setting_rows import SettingRow
from specdesk.tui.widgets.turns import Failure
from tests.hub.samples import CONTENT
from tests.hub.server import HubServer
from tests.tui.models import OTHER, SMALL, ModelsChat, ScriptedFetch, Seen, put
from tests.tui.scripted import PATIENCE_S

SIZE = len(CONTENT)
Fetch = Callable[[Pair, Reporter, Stop], object]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    """A hub with both pairs."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    close_session()
    files = {f"{a.repo}/{a.files[0].path}": CONTENT for pair in (SMALL, OTHER) for a in pair.artifacts}
    with HubServer(files) as server:
        yield server
    close_session()


def from_hub(hub: HubServer) -> Fetch:
    def fetch(pair: Pair, report: Reporter, stop: Stop) -> object:
        return fetch_pair(
            pair,
            report,
            stop=stop,
            sources_of=lambda artifact: (HubSource(artifact, endpoint=hub.url, stop=stop),),
        )

    return fetch


def left(folder: Path) -> list[str]:
    """Every file below a folder but locks."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")


async def at_offer(see: Seen) -> None:
    await see.until(lambda: isinstance(see.app.screen, FetchScreen), "the offer")
    await see.says("Enter downloads")


async def test_it_is_asked_before_anything_is_downloaded(store: ChatStore) -> None:
    chat = ModelsChat(store)
    async with chat.run() as see:
        await at_offer(see)
        words = see.words
        for part in (
            "specdesk",
            "a small model drafts, the big one checks every token",
            "The recommended pair small is not on this disk yet. two toys [b + 1.",
            "target small-target.gguf 10.2 kB, MIT, from owner/small-target",
            "draft small-draft.gguf 10.2 kB, MIT, from owner/small-draft",
            "fetch 20.5 kB",
            "to ~/specdesk/models,",
            "GB free",
            "memory fits: about 5",
        ):
            assert part in words, part
        await see.press("escape")
        await see.until_state(State.EMPTY)
        await see.says("No models yet. Ctrl+O")
        await see.press("ctrl+l", *"hello", "enter")
        await see.says("not sent: there are no models yet · Ctrl+O chooses them")
        assert not see.app.screen.query(Failure), "leaving it is no error"
    assert chat.loads == []
    assert see.app.load_error is None
    assert left(paths.models_dir()) == []


async def test_nothing_is_said_to_load_while_it_is_asked(store: ChatStore) -> None:
    """Bug: "loading the models" stood behind the offer, and behind the models to choose from."""
    chat = ModelsChat(store, fetch=ScriptedFetch())
    async with chat.run(size=(80, 24)) as see:
        await at_offer(see)
        assert State.EMPTY.value in str(see.chat.query_one(Prompt).border_subtitle)
        await see.press("o")
        await see.says("Recommended pairs")
        assert State.LOADING.value not in see.text


async def test_settings_do_not_load_what_the_user_left(store: ChatStore) -> None:
    """Bug: a context that was set then had the pair loaded that was not wanted, and its absence told as an error."""
    chat = ModelsChat(store)
    async with chat.run() as see:
        await at_offer(see)
        await see.press("escape")
        await see.says("No models yet. Ctrl+O")
        await see.press("ctrl+s")
        await see.until(lambda: isinstance(see.app.screen, SettingsScreen), "the settings")
        next(row for row in see.app.screen.query(SettingRow) if row.setting.key == "ctx").enter()
        await see.press("home", "shift+end", "delete", *"2048", "ctrl+s")
        await see.until(lambda: see.app.screen is see.chat, "the chat")
        assert see.app._setup.values["ctx"] == 2048
        assert see.app._setup.must_load
        assert "No models yet. Ctrl+O" in see.words
        assert not see.app.screen.query(Failure)
    assert see.app.load_error is None


async def test_the_help_opens_where_models_are_downloaded_and_chosen(store: ChatStore) -> None:
    async with ModelsChat(store).run() as see:
        await at_offer(see)
        await help_over(see)
        await see.press("o")
        await see.says("Type to filter")
        await help_over(see)


async def help_over(see: Seen) -> None:
    above = see.app.screen
    await see.press("f1")
    await see.says("Anywhere")
    await see.press("escape")
    await see.until(lambda: see.app.screen is above, "the screen below")


async def test_enter_downloads_loads_and_opens_the_chat(store: ChatStore, hub: HubServer) -> None:
    chat = ModelsChat(store, fetch=from_hub(hub))
    async with chat.run() as see:
        await at_offer(see)
        await see.press("enter")
        await see.until_state(State.READY)
    assert chat.loads == [of_pair(SMALL)]
    assert has_pair(SMALL)
    assert see.app.load_error is None
    assert remembered(Manifest(SMALL.name, (), (SMALL,))) is None, "nothing was chosen against the default"


async def test_what_is_here_is_not_asked_about(store: ChatStore) -> None:
    put(SMALL)
    async with ModelsChat(store).run() as see:
        await see.until_state(State.READY)
        assert not isinstance(see.app.screen, FetchScreen)


async def test_stopping_is_quick_keeps_what_came_and_the_next_try_goes_on(store: ChatStore, hub: HubServer) -> None:
    hub.sent_bytes, hub.stalls = 4000, True
    chat = ModelsChat(store, fetch=from_hub(hub))
    async with chat.run() as see:
        await at_offer(see)
        await see.press("enter")
        await see.says("4.0 kB of 10.2 kB", "4.0 kB of 20.5 kB")
        stopped_s = time.monotonic()
        await see.press("escape")
        await see.says("Enter goes on")
        assert time.monotonic() - stopped_s < 3, "it waited for the server, which sends nothing any more"
        await see.says("4.0 kB are kept: the next download goes on from there")
        assert left(paths.models_dir()) == ["small-target.gguf.part"]
        hub.sent_bytes, hub.stalls = None, False
        await see.press("enter")
        await see.until_state(State.READY)
    assert [seen.range for seen in hub.seen if seen.method == "GET"] == [None, "bytes=4000-", None]
    assert hub.body_bytes == 2 * SIZE
    assert left(paths.models_dir()) == ["small-draft.gguf", "small-target.gguf"]


async def test_a_later_start_offers_to_go_on(store: ChatStore) -> None:
    path = file_path(SMALL.target, SMALL.target.files[0])
    path.parent.mkdir(parents=True)
    path.with_name(f"{path.name}.part").write_bytes(CONTENT[:1000])
    async with ModelsChat(store).run() as see:
        await at_offer(see)
        await see.says("1.0 kB of 10.2 kB here from before", "fetch 19.5 kB")


async def test_a_failure_is_said_with_its_hint_and_tried_again(store: ChatStore, hub: HubServer) -> None:
    hub.status = 503
    chat = ModelsChat(store, fetch=from_hub(hub))
    async with chat.run() as see:
        await at_offer(see)
        await see.press("enter")
        await see.says("error: small-target.gguf could not be fetched: 127.0.0.1:", "answered 503", "Enter tries again")
        hub.status = 200
        await see.press("enter")
        await see.until_state(State.READY)
    assert chat.loads == [of_pair(SMALL)]


async def test_errors_are_no_markup(store: ChatStore) -> None:
    fetch = ScriptedFetch(lambda report: report.notice("[/first] is down; trying [red]second"))
    fetch.error = NetworkError("it broke off [/x] at [b + 1", "see [@click=app.quit]here[/]")
    async with ModelsChat(store, fetch=fetch).run() as see:
        await at_offer(see)
        await see.press("enter")
        await see.says("[/first] is down; trying [red]second")
        fetch.may_end.set()
        await see.says("error: it broke off [/x] at [b + 1", "see [@click=app.quit]here[/]")


class Usage(NamedTuple):
    total: int
    used: int
    free: int


async def test_a_full_disk_is_refused_before_the_first_byte(
    store: ChatStore, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage(1000, 0, 1000))
    async with ModelsChat(store, fetch=from_hub(hub)).run() as see:
        await at_offer(see)
        await see.says("1.0 kB free: 268.5 MB needed")
        await see.press("enter")
        await see.says("error: 268.5 MB needed in", "1.0 kB free", "make room", "Enter tries again")
        assert hub.seen == []
        monkeypatch.undo()
        await see.press("escape")


@pytest.mark.parametrize("key", ["ctrl+q", "ctrl+c"])
@pytest.mark.parametrize("when", ["offered", "under way"])
async def test_quitting_leaves_nothing_half_written(store: ChatStore, hub: HubServer, key: str, when: str) -> None:
    hub.sent_bytes, hub.stalls = 4000, True
    chat = ModelsChat(store, fetch=from_hub(hub))
    async with chat.run() as see:
        await at_offer(see)
        if when == "under way":
            await see.press("enter")
            await see.says("4.0 kB of 10.2 kB")
        await see.press(key)
    assert {"fetch", "engine"}.isdisjoint(thread.name for thread in threading.enumerate())
    assert left(paths.models_dir()) == (["small-target.gguf.part"] if when == "under way" else [])
    assert chat.loads == []
    assert see.app.load_error is None
    assert see.app.return_code == 0


async def test_progress_is_shown_by_file_and_in_total(store: ChatStore) -> None:
    may_go_on = threading.Event()

    def said(report: Reporter) -> None:
        report.start("small-target.gguf", SIZE)
        report.keep(240)
        for _ in range(SIZE - 240):  # far more often than a screen could show
            report.advance(1)
        may_go_on.wait(PATIENCE_S)
        report.finish()
        report.start("small-draft.gguf", SIZE)
        report.advance(1000)

    fetch = ScriptedFetch(said)
    async with ModelsChat(store, fetch=fetch).run() as see:
        await at_offer(see)
        await see.press("enter")
        await see.says("10.2 kB of 10.2 kB, checking", "10.2 kB of 20.5 kB", "50%")
        may_go_on.set()
        await see.says("here, checked", "1.0 kB of 10.2 kB", "11.2 kB of 20.5 kB", "/s")
        await see.press("escape")
        await see.says("Enter goes on")


async def test_the_screen_is_painted_fifteen_times_a_second_at_most(
    store: ChatStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[float] = []
    show = FetchRow.show

    def counted(self: FetchRow, *args: object, **kwargs: object) -> None:
        shown.append(time.monotonic())
        show(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(FetchRow, "show", counted)

    def said(report: Reporter) -> None:
        report.start("small-target.gguf", SIZE)
        for _ in range(SIZE):
            report.advance(1)

    async with ModelsChat(store, fetch=ScriptedFetch(said)).run() as see:
        await at_offer(see)
        shown.clear()
        began_s = time.monotonic()
        await see.press("enter")
        await see.until(lambda: len(shown) >= 8, "some repaints")
        assert len(shown) / len(SMALL.artifacts) <= (time.monotonic() - began_s) * 15 + 1
        await see.press("escape")
        await see.says("Enter goes on")
    assert REPAINT_S >= 1 / 15


@pytest.mark.parametrize("key", ["o", "O"])
async def test_other_models_can_be_chosen_instead(store: ChatStore, hub: HubServer, key: str) -> None:
    chat = ModelsChat(store, fetch=from_hub(hub))
    async with chat.run() as see:
        await at_offer(see)
        await see.press(key)
        await see.says("Recommended pairs")
        assert see.app.screen.query_one(ModelList).pointed is not None
        assert "nothing holds that text" not in see.text
        await see.point_at("pair other")
        await see.press("enter")
        await see.says("The recommended pair other is not on this disk yet", "Own [/x]")
        await see.press("enter")
        await see.until_state(State.READY)
    assert chat.loads == [of_pair(OTHER)]
    assert remembered(Manifest(SMALL.name, (), (SMALL, OTHER))) == of_pair(OTHER)


async def test_leaving_the_other_models_goes_back_to_the_offer(store: ChatStore, hub: HubServer) -> None:
    chat = ModelsChat(store, fetch=from_hub(hub))
    async with chat.run() as see:
        await at_offer(see)
        await see.press("o")
        await see.says("Recommended pairs")
        await see.press("escape")
        await at_offer(see)
        await see.press("enter")
        await see.until_state(State.READY)
    assert chat.loads == [of_pair(SMALL)]


async def test_after_leaving_it_models_can_still_be_chosen(store: ChatStore, hub: HubServer) -> None:
    chat = ModelsChat(store, fetch=from_hub(hub))
    async with chat.run() as see:
        await at_offer(see)
        await see.press("escape")
        await see.until_state(State.EMPTY)
        await see.open_picker()
        await see.point_at("pair small")
        await see.press("enter")
        await see.says("The recommended pair small is not on this disk yet")
        await see.press("enter")
        await see.until_state(State.READY)
    assert see.app.load_error is None
    assert chat.loads == [of_pair(SMALL)]


async def test_a_disk_that_does_not_say_what_is_there_is_told_and_the_chat_goes_on(store: ChatStore) -> None:
    """Bug: it ended the program where a target was missing and the place of its draft could not be looked at."""
    place = file_path(SMALL.draft, SMALL.draft.files[0]).parent
    place.parent.mkdir(parents=True)
    place.symlink_to(place)
    put(OTHER)
    chat = ModelsChat(store)
    async with chat.run() as see:
        await see.until_state(State.BROKEN)
        await see.says("symbolic links", "SPECDESK_HOME names the directory")
        await see.open_picker()
        await see.point_at("pair other")
        await see.press("enter")
        await see.until_state(State.READY)
    assert chat.loads == [of_pair(OTHER)]


def test_an_offer_of_what_the_disk_does_not_tell_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bug: of a part it was no error of ours, which nobody catches."""

    def refuse(_path: Path) -> NoReturn:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(on_disk, "part_bytes", refuse)
    with pytest.raises(StorageError, match=r"small-target.gguf: Input/output error.*SPECDESK_HOME"):
        offer.offer_of(SMALL, 4096)


async def test_a_bug_in_a_fetch_ends_the_app_with_itself(store: ChatStore) -> None:
    fetch = ScriptedFetch()
    fetch.error = ZeroDivisionError("bug")
    fetch.may_end.set()

    async def meet_the_bug() -> None:
        async with ModelsChat(store, fetch=fetch).run() as see:
            await at_offer(see)
            await see.press("enter")
            await see.until(lambda: not see.app.is_running, "the end of the app")

    with pytest.raises(ZeroDivisionError):
        await meet_the_bug()


async def test_without_network_it_says_so_at_once_and_what_can_be_done(
    store: ChatStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bug: it offered a download, and to try again, which could not help."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    async with ModelsChat(store).run() as see:
        await see.says("HF_HUB_OFFLINE is set", "O chooses models", "unset it", "O other models · Esc not now")
        assert "Enter" not in see.words
        await see.press("enter")  # which fetches nothing
        await see.press("o")
        await see.says("Recommended pairs")
        await see.press("escape")
        await see.says("HF_HUB_OFFLINE is set")


@pytest.mark.parametrize("end", ["stopped", "failed"])
async def test_what_was_going_on_is_not_told_of_a_download_that_has_ended(store: ChatStore, end: str) -> None:
    """Bug: "trying the Python package registry" stood there as if it went on."""
    fetch = ScriptedFetch(lambda report: report.notice("the hub is down; trying another"))
    fetch.error = NetworkError("nothing delivered")
    async with ModelsChat(store, fetch=fetch).run() as see:
        await at_offer(see)
        await see.press("enter")
        await see.says("the hub is down; trying another", "F1 help")
        if end == "failed":
            fetch.may_end.set()
        else:
            await see.press("escape")
        await see.says("Enter tries again" if end == "failed" else "Enter goes on", "F1 help")
        assert "trying another" not in see.words


@pytest.mark.parametrize(("width", "height"), [(40, 24), (80, 24), (120, 40)])
async def test_every_width_says_all_that_matters(store: ChatStore, width: int, height: int) -> None:
    async with ModelsChat(store, fetch=ScriptedFetch()).run(size=(width, height)) as see:
        await at_offer(see)
        words = see.words
        for part in ("small-target.gguf", "small-draft.gguf", "MIT", "20.5 kB", "GB free"):
            assert part in words
        if width > 40:
            assert len({line.count("│") for line in see.text.splitlines() if "small-" in line}) == 1
