"""Choosing which models run."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.widgets import Input

from specdesk import paths
from specdesk.core.events import HistoryCut
from specdesk.errors import EngineDiedError, ModelError
from specdesk.hub.gguf.header import GgufHeader, read_header
from specdesk.hub.here.added import add
from specdesk.hub.here.chosen import Chosen, of_pair, remembered
from specdesk.hub.here.on_disk import file_path
from specdesk.hub.here.parts import part_of
from specdesk.hub.manifest import Manifest
from specdesk.store.chat_store import ChatStore
from specdesk.store.values import State as Kept
from specdesk.tui.chat.state import State
from specdesk.tui.screens.compare import CompareScreen
from specdesk.tui.screens.fetch import FetchScreen
from specdesk.tui.screens.picker import PickerScreen
from specdesk.tui.widgets.prompt import Prompt
from tests.hub.samples import CONTENT
from tests.tiny.gguf_stubs import WORDS, lock, write_stub
from tests.tui.models import OTHER, SMALL, ModelsChat, Seen, put
from tests.tui.scripted import END, PATIENCE_S, step
from tests.tui.stage import burst

MANIFEST = Manifest(SMALL.name, (), (SMALL, OTHER))
WIDTHS = pytest.mark.parametrize("width", [40, 80, 120])


@pytest.fixture
def folder() -> Path:
    """Where models lie, with the small pair in it."""
    put(SMALL)
    return paths.models_dir()


def key(path: Path) -> str:
    return f"file {path}"


@asynccontextmanager
async def picking(chat: ModelsChat, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Seen]:
    """The chat with its first models loaded and the others shown to choose from."""
    async with chat.run(size) as see:
        await see.until_state(State.READY)
        await see.open_picker()
        yield see


async def test_a_pair_that_is_here_is_loaded(store: ChatStore, folder: Path) -> None:
    put(OTHER)
    chat = ModelsChat(store)
    async with picking(chat) as see:
        assert "▸ small" in see.text
        await see.point_at("pair other")
        await see.says("two more", "Own [/x], here", "free")
        await see.press("enter")
        await see.until(lambda: len(chat.loads) == 2, "the load")
        await see.until_state(State.READY)
    assert chat.loads == [of_pair(SMALL), of_pair(OTHER)]
    assert remembered(MANIFEST) == of_pair(OTHER)


async def test_a_choice_that_cannot_be_kept_is_loaded_and_said(store: ChatStore, folder: Path) -> None:
    put(OTHER)
    paths.chosen_file().mkdir()
    chat = ModelsChat(store)
    async with picking(chat) as see:
        await see.point_at("pair other")
        await see.press("enter")
        await see.until(lambda: len(chat.loads) == 2, "the load")
        await see.until_state(State.READY)
        await see.says("note: this choice cannot be kept", "chosen.json: Is a")


async def test_a_target_is_loaded_with_a_draft_or_alone(store: ChatStore, folder: Path) -> None:
    target, draft = write_stub(folder / "t.gguf", "The Target"), write_stub(folder / "d.gguf", "The Draft")
    chat = ModelsChat(store)
    async with picking(chat) as see:
        await see.point_at(key(target))
        await see.says("llama, Q4_K_M, trained for 4,096 tokens, 6 tokens in its vocabulary")
        await see.press("enter")
        await see.says("A draft for The Target", "no draft model")
        await see.point_at(key(draft))
        await see.says("the same vocabulary; the draft is no smaller than the target")
        await see.press("enter")
        await see.until(lambda: len(chat.loads) == 2, "the load")
        await see.until_state(State.READY)
        await see.open_picker()
        assert see.list.pointed_key == key(target)
        await see.press("enter")
        await see.says("only what followed the last time")
        await see.press("enter")
        await see.until(lambda: len(chat.loads) == 3, "the load")
        await see.until_state(State.READY)
    assert chat.loads[1:] == [Chosen(None, target, draft), Chosen(None, target, None)]


async def test_an_answer_under_way_is_stopped_and_kept_first(store: ChatStore, folder: Path) -> None:
    put(OTHER)
    chat = ModelsChat(store)
    async with chat.run() as see:
        await see.until_state(State.READY)
        see.chat.query_one(Prompt).insert("go")
        await see.press("enter")
        await see.until(lambda: bool(chat.engines[0].asked), "the question")
        chat.engines[0].feed(step(["half"], " an answer"))
        await see.says("half an answer")
        await see.open_picker()
        await see.point_at("pair other")
        await see.press("enter")
        await see.until(lambda: len(chat.engines) == 2, "the load")
        await see.until_state(State.READY)
        assert "half an answer" in see.text
        assert chat.engines[0].stopped
        assert chat.engines[0].closed
        see.chat.query_one(Prompt).insert("on")
        await see.press("enter")
        await see.until(lambda: bool(chat.engines[1].asked), "the next question")
        said = [message.content for message in chat.engines[1].asked[0][0]]
        assert said == ["go", "half an answer", "on"], "the other models are told all of it"
    (kept,) = store.chats()
    answer = store.conversation(kept.id)[1]
    assert (answer.text, answer.state) == ("half an answer", Kept.STOPPED)


async def test_a_draft_with_other_tokens_is_refused_by_its_first_one(store: ChatStore, folder: Path) -> None:
    target = write_stub(folder / "t.gguf", "The Target")
    draft = write_stub(folder / "d.gguf", "The Draft", words=[*WORDS[:4], "[/b]", "c"])
    chat = ModelsChat(store)
    async with picking(chat) as see:
        await see.point_at(key(target))
        await see.press("enter")
        await see.says("Cannot draft for it", "The Draft Q4_K_M token 4 is '[/b]' in the draft and 'b' in the target")
        await see.point_at(key(draft))
        await see.says("Enter says why it is not loaded · Esc goes back · F1 help")
        await see.press("enter")
        await see.says(
            "not loaded: d.gguf cannot draft for t.gguf: token 4 is '[/b]' in the draft and 'b' in the target"
        )
        await see.press("escape", "escape")
        await see.until_state(State.READY)
    assert chat.loads == [of_pair(SMALL)]


async def test_a_draft_with_more_tokens_is_refused_by_their_number(store: ChatStore, folder: Path) -> None:
    target = write_stub(folder / "t.gguf", "The Target")
    write_stub(folder / "d.gguf", "The Draft", words=[*WORDS, "more"])
    async with picking(ModelsChat(store)) as see:
        await see.point_at(key(target))
        await see.press("enter")
        await see.says("Cannot draft for it", "The Draft Q4_K_M another vocabulary of 7 tokens")


async def test_a_target_is_no_draft_for_itself(store: ChatStore, folder: Path) -> None:
    """Bug: it was offered as one, which could only cost time."""
    target = write_stub(folder / "t.gguf", "The Target")
    draft = write_stub(folder / "d.gguf", "The Draft")
    async with picking(ModelsChat(store)) as see:
        await see.point_at(key(target))
        await see.press("enter")
        await see.says("A draft for The Target Q4_K_M · t.gguf", "↑↓ move · Enter loads it · Esc goes back · F1 help")
        await see.until(lambda: see.list.entry(key(draft)) is not None, "the draft")
        assert see.list.entry(key(target)) is None


@WIDTHS
async def test_models_of_one_name_are_told_apart_by_their_files(store: ChatStore, folder: Path, width: int) -> None:
    """Bug: they looked the same until they were pointed at."""
    (folder / "x").mkdir()
    paths = [write_stub(folder / name, "The Model") for name in ("a.gguf", "b.gguf", "x/b.gguf")]
    write_stub(folder / "c.gguf", "Another")
    async with picking(ModelsChat(store), (width, 40)) as see:
        for name in ("a.gguf · The", "models/b.gguf", "x/b.gguf · The", "Another Q4"):
            assert name in see.words
        assert "c.gguf" not in see.words
        await see.point_at(key(paths[0]))
        await see.press("enter")
        await see.says("A draft for The Model Q4_K_M · a.gguf", "models/b.gguf", "x/b.gguf · The")


async def test_what_is_still_to_fetch_is_one_figure(store: ChatStore, folder: Path) -> None:
    """Bug: the list named all bytes of a pair of which a part had come."""
    path = file_path(OTHER.target, OTHER.target.files[0])
    path.parent.mkdir(parents=True)
    part_of(path).write_bytes(CONTENT[:3000])
    async with picking(ModelsChat(store)) as see:
        await see.point_at("pair other")
        await see.says("17.5 kB to fetch", "Enter goes to its download")
        await see.press("enter")
        await see.says("fetch 17.5 kB")


async def test_a_draft_with_other_special_tokens_may_be_taken(store: ChatStore, folder: Path) -> None:
    target = write_stub(folder / "t.gguf", "The Target", special=("<|im_end|>",))
    draft = write_stub(folder / "d.gguf", "The Draft", special=("<|eot|>",))
    chat = ModelsChat(store)
    async with picking(chat) as see:
        await see.point_at(key(target))
        await see.press("enter")
        await see.says("A draft for The Target", "The Draft")
        await see.until(lambda: "Cannot draft for it" not in see.text, "the verdict")
        await see.point_at(key(draft))
        await see.says("one special token differs and is never drafted: token 6")
        await see.press("enter")
        await see.until(lambda: len(chat.loads) == 2, "the load")
    assert chat.loads[1] == Chosen(None, target, draft)


async def test_a_failed_load_says_why_and_lets_one_choose_again(store: ChatStore, folder: Path) -> None:
    target = write_stub(folder / "t.gguf", "The Target")
    refusal = ModelError("d.gguf cannot draft for t.gguf: token 17 is '[/x' in the draft", "take another [b + 1 draft")
    chat = ModelsChat(store, errors={target: refusal})
    async with picking(chat) as see:
        await see.point_at(key(target))
        await see.press("enter", "enter")
        await see.says("error: d.gguf cannot draft for t.gguf: token 17 is '[/x' in the draft", "take another [b + 1")
        await see.until(lambda: see.list.pointed_key == key(target), "the choice that failed")
        assert remembered(MANIFEST) is None
        await see.press("enter", "enter")
        await see.until_state(State.READY)
        assert chat.loads == [of_pair(SMALL), Chosen(None, target, None), Chosen(None, target, None)]
    assert remembered(MANIFEST) == Chosen(None, target, None)
    assert see.app.load_error is None


async def test_without_another_choice_the_failure_stays(store: ChatStore, folder: Path) -> None:
    target = write_stub(folder / "t.gguf")
    error = ModelError("it does not load")
    chat = ModelsChat(store, errors={target: error})
    async with picking(chat) as see:
        await see.point_at(key(target))
        await see.press("enter", "enter")
        await see.says("error: it does not load")
        await see.press("escape")
        await see.until_state(State.BROKEN)
    assert see.app.load_error is error


async def test_leaving_changes_nothing(store: ChatStore, folder: Path) -> None:
    chat = ModelsChat(store)
    async with picking(chat) as see:
        await see.press("escape")
        await see.until_state(State.READY)
        await see.open_picker()
        await see.press("enter")  # what runs already
        await see.until_state(State.READY)
    assert len(chat.loads) == 1
    assert remembered(MANIFEST) is None


async def test_typing_filters_and_esc_takes_that_back(store: ChatStore, folder: Path) -> None:
    write_stub(folder / "needle.gguf", "Something")
    async with picking(ModelsChat(store)) as see:
        await see.press(*"NEEDLE")
        await see.until(lambda: "small" not in see.text, "the filter")
        assert see.list.pointed is not None
        assert see.list.pointed.name == "Something Q4_K_M"
        await see.press(*"xyz")
        await see.says("nothing holds that text")
        await see.press("enter")
        await see.press("escape")
        await see.says("Recommended pairs")
        assert see.app.screen.query_one(Input).value == ""


async def test_a_pair_that_is_not_here_goes_to_the_download(store: ChatStore, folder: Path) -> None:
    chat = ModelsChat(store)
    async with picking(chat) as see:
        await see.point_at("pair other")
        assert "20.5 kB to fetch" in see.text
        await see.press("enter")
        await see.says("The recommended pair other is not on this disk yet")
        assert isinstance(see.app.screen, FetchScreen)
        await see.press("o")
        await see.says("Recommended pairs")
        await see.press("escape")
        await see.says("The recommended pair other is not on this disk yet")
        await see.press("escape")
        await see.until_state(State.READY)
    assert len(chat.loads) == 1


async def test_no_download_is_said_and_kept(store: ChatStore, folder: Path) -> None:
    async with picking(ModelsChat(store, may_fetch=False)) as see:
        await see.point_at("pair other")
        await see.press("enter")
        await see.says("other is not on this disk, and --no-download forbids to fetch it")
        assert isinstance(see.app.screen, PickerScreen)


async def test_files_of_the_command_line_are_listed_wherever_they_lie(
    store: ChatStore, folder: Path, tmp_path: Path
) -> None:
    target = write_stub(tmp_path / "elsewhere" / "t.gguf", "Elsewhere")
    chat = ModelsChat(store, first=Chosen(None, target, None), files=[target])
    async with picking(chat) as see:
        assert "▸ Elsewhere" in see.text
        assert see.list.pointed_key == key(target)


@pytest.mark.parametrize("name", ["[/", "[red]", "[b + 1", "[@click=app.quit]x[/]"])
@WIDTHS
async def test_names_are_no_markup(store: ChatStore, folder: Path, name: str, width: int) -> None:
    path = write_stub(folder / f"{name.replace('/', '')}.gguf", name)
    (folder / f"bad {name.replace('/', '')}.gguf").write_bytes(b"no model")
    async with picking(ModelsChat(store), size=(width, 30)) as see:
        assert name[:10] in see.text
        assert f"bad {name.replace('/', '')[:6]}" in see.text
        await see.point_at(key(path))
        await see.pilot.click("#details", offset=(1, 0))
        await see.press("enter")
        await see.says("A draft for", name[:10])
        assert see.app.is_running


@WIDTHS
async def test_every_width_shows_names_sizes_and_fit_within_the_border(
    store: ChatStore, folder: Path, width: int
) -> None:
    write_stub(folder / "wide.gguf", "日本語のモデル👩‍👩‍👧‍👦 with a name that is much too long for any column")
    async with picking(ModelsChat(store), size=(width, 30)) as see:
        lines = see.text.splitlines()
        (other,) = (line for line in lines if "other" in line)
        assert "20.5 kB" in other
        assert "fits" in other
        (wide,) = (line for line in lines if "日本語" in line)
        assert "…" in wide
        assert "fits" in wide
        if width > 40:
            assert len({line.count("│") for line in (other, wide)}) == 1


async def test_many_models_some_damaged_do_not_delay_the_list(
    store: ChatStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """300 stubs, 5 damaged, 1 unreadable."""
    first = write_stub(folder / "many" / "m000.gguf", "Model 000").read_bytes()
    for number in range(1, 300):
        content = first.replace(b"Model 000", f"Model {number:03}".encode())
        (folder / "many" / f"m{number:03}.gguf").write_bytes(content)
    for number in range(5):
        (folder / "many" / f"damaged{number}.gguf").write_bytes(first[: 20 + number])
    locked = folder / "many" / "locked.gguf"
    locked.write_bytes(first)
    lock(monkeypatch, locked)
    may_read = threading.Event()

    def held(path: Path) -> GgufHeader:
        may_read.wait(PATIENCE_S)
        return read_header(path)

    monkeypatch.setattr("specdesk.hub.here.local_models.read_header", held)
    async with ModelsChat(store).run() as see:
        await see.until_state(State.READY)
        await see.press("ctrl+o")
        await see.says("Recommended pairs", "looking")
        may_read.set()
        await see.until(lambda: "looking" not in see.text and see.list.option_count > 300, "the end of the search")
        await see.press(*"damaged")
        await see.says("Cannot be loaded", "damaged4.gguf it is cut off inside its header, or damaged")
        await see.press("escape", *"locked")
        await see.says("locked.gguf it cannot be read: Permission denied")
        await see.press("enter")
        await see.says("locked.gguf cannot be loaded: it cannot be read: Permission denied")
        await see.press("escape", *"Model 299")
        await see.until(lambda: "Model 299" in see.text and "Model 298" not in see.text, "the last model")


async def test_the_list_is_there_before_the_disk_has_answered(
    store: ChatStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_stub(folder / "a.gguf", "Slow")
    may_read = threading.Event()

    def slow(path: Path) -> GgufHeader:
        may_read.wait(PATIENCE_S)
        return read_header(path)

    monkeypatch.setattr("specdesk.hub.here.local_models.read_header", slow)
    async with ModelsChat(store).run() as see:
        await see.until_state(State.READY)
        await see.press("ctrl+o")
        await see.says("Recommended pairs", "looking")
        await see.press("down")
        assert see.list.pointed_key == "pair other"
        may_read.set()
        await see.says("Slow")
        assert see.list.pointed_key == "pair other"


async def test_what_is_added_while_the_chat_runs_can_be_chosen(store: ChatStore, folder: Path, tmp_path: Path) -> None:
    file = write_stub(tmp_path / "elsewhere" / "x.gguf", "From Elsewhere")
    chat = ModelsChat(store)
    async with picking(chat) as see:
        assert "From Elsewhere" not in see.text
        await see.press("escape")
        add(file)
        await see.open_picker()
        await see.point_at(key(file))
        await see.press("enter")
        await see.says("A draft for From Elsewhere")
        await see.press("enter")
        await see.until(lambda: len(chat.loads) == 2, "the load")
        await see.until_state(State.READY)
    assert chat.loads[1] == Chosen(None, file, None)


async def test_leaving_ends_the_search(store: ChatStore, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        write_stub(folder / f"{number}.gguf")
    may_read, read = threading.Event(), []

    def slow(path: Path) -> GgufHeader:
        read.append(path)
        may_read.wait(PATIENCE_S)
        return read_header(path)

    monkeypatch.setattr("specdesk.hub.here.local_models.read_header", slow)
    async with ModelsChat(store).run() as see:
        await see.until_state(State.READY)
        await see.press("ctrl+o")
        await see.until(lambda: bool(read), "the search")
        await see.press("escape")
        await see.until_state(State.READY)
        may_read.set()
        await see.app.workers.wait_for_complete()
    assert len(read) == 1


async def test_the_command_palette_has_it(store: ChatStore, folder: Path) -> None:
    async with ModelsChat(store).run() as see:
        await see.until_state(State.READY)
        assert "Models" in [command.title for command in see.app.get_system_commands(see.app.screen)]
        await see.press("ctrl+p")
        await see.pilot.pause()
        await see.press(*"Models")
        await see.says("Choose which models run")


async def test_models_are_not_changed_under_a_comparison(store: ChatStore, folder: Path) -> None:
    """Bug: the second answer was another model's, under the first one's name."""
    chat = ModelsChat(store)
    async with chat.run() as see:
        await see.until_state(State.READY)
        see.chat.query_one(Prompt).insert("go")
        await see.press("f3")
        await see.says("reading the prompt, for both")
        assert "Models" not in [command.title for command in see.app.get_system_commands(see.app.screen)]
        await see.press("ctrl+o")
        assert isinstance(see.app.screen, CompareScreen)
        await see.press("escape", "escape")
        await see.until_state(State.READY)
        await see.open_picker()


async def test_it_opens_once_however_often_it_is_called(store: ChatStore, folder: Path) -> None:
    async with ModelsChat(store).run() as see:
        await see.until_state(State.READY)
        await burst(see.pilot, "ctrl+o", "ctrl+o")
        await see.says("Type to filter")
        await see.press("escape")
        await see.until_state(State.READY)


async def test_models_that_were_lost_can_be_chosen_again(store: ChatStore, folder: Path) -> None:
    chat = ModelsChat(store)
    async with chat.run() as see:
        await see.until_state(State.READY)
        see.chat.query_one(Prompt).insert("go")
        await see.press("enter")
        chat.engines[0].feed(EngineDiedError("ended by SIGABRT", "", ()))
        await see.until_state(State.BROKEN)
        await see.open_picker()
        await see.point_at("pair small")
        await see.press("enter")
        await see.until_state(State.READY)
    assert chat.loads == [of_pair(SMALL)] * 2


async def test_notes_about_models_go_with_them_and_turns_stay(store: ChatStore, folder: Path) -> None:
    """Bug: the notes about the first models stood under the ones that replaced them."""
    target = write_stub(folder / "t.gguf", "The Target")
    refused = ModelError("it does not load")
    chat = ModelsChat(store, errors={target: refused}, notices=lambda chosen: [f"about {chosen.pair or 'the target'}"])
    async with chat.run() as see:
        await see.until_state(State.READY)
        await see.says("note: about small")
        see.chat.query_one(Prompt).insert("go")
        await see.press("enter")
        await see.until(lambda: bool(chat.engines[0].asked), "the question")
        chat.engines[0].feed(HistoryCut(2, 0, 900, 3000), step(["an"], " answer"), END)
        await see.says("2 earlier messages not sent", "an answer")
        await see.until_state(State.READY)
        await see.open_picker()
        await see.point_at(key(target))
        await see.press("enter", "enter")
        await see.says("error: it does not load")
        await see.press("escape")
        await see.until_state(State.BROKEN)
        await see.says("note: about the target", "error: it does not load")
        assert "about small" not in see.text
        await see.press("ctrl+l")
        await see.until_state(State.READY)
        assert see.words.count("note: about the target") == 1
        assert "error: it does not load" not in see.words
        assert "2 earlier messages not sent" in see.words
        assert "an answer" in see.words


async def test_a_note_of_the_first_choice_is_kept_in_the_chat(store: ChatStore, folder: Path) -> None:
    async with ModelsChat(store, note="the models chosen last time are [/gone]").run() as see:
        await see.until_state(State.READY)
        await see.says("note: the models chosen last time are [/gone]")
