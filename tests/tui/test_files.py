"""Chats and answers into files and back, from inside the app."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.widgets import Input, OptionList, Static

from specdesk.errors import StorageError
from specdesk.store.chat_store import ChatStore
from specdesk.tui.chat.screen import ChatScreen
from specdesk.tui.chat.state import State
from specdesk.tui.file_names import with_tilde
from specdesk.tui.screens.file_entry import FileEntry
from tests.store.samples import ODD_TEXTS
from tests.tui.compared import told
from tests.tui.driver import Chat, Driver
from tests.tui.full_disk import full
from tests.tui.scripted import step
from tests.tui.test_answer import CONTROLS, MARKUP

Make = Callable[..., Chat]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current one."""
    here = tmp_path / "here [b + 1"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


class Asked:
    """The question for a file."""

    def __init__(self, see: Driver) -> None:
        self.see = see

    @property
    def screen(self) -> FileEntry[object]:
        screen = self.see.pilot.app.screen
        assert isinstance(screen, FileEntry)
        return screen

    @classmethod
    async def by(cls, see: Driver, key: str) -> Asked:
        await see.pilot.press(key)
        await see.until(lambda: isinstance(see.pilot.app.screen, FileEntry), "the question")
        await see.pilot.pause()
        return cls(see)

    @property
    def name(self) -> str:
        return self.screen.query_one(Input).value

    def line(self, name: str) -> str:
        return str(self.screen.query_one(f"#{name}", Static).render())

    async def says(self, text: str) -> None:
        await self.see.until(lambda: text in self.line("said"), text)

    async def enter(self, name: str | None = None) -> None:
        if name is not None:
            self.screen.query_one(Input).value = name
            await self.see.pilot.pause()
        await self.see.pilot.press("enter")

    async def done(self) -> None:
        await self.see.until(lambda: isinstance(self.see.pilot.app.screen, ChatScreen), "the chat")
        await self.see.pilot.pause()


async def talk(see: Driver, *said: tuple[str, str]) -> None:
    for question, answer in said:
        await see.ask(question)
        await see.answer(step([], answer))


async def test_markdown_under_the_name_that_is_offered(make_chat: Make, folder: Path) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await talk(see, ("Parse [/CSV] here?", "Yes."), ("And JSON?", "`no`\r\n"))
        asked = await Asked.by(see, "f5")
        assert asked.name == "Parse-CSV-here.md"
        assert str(folder) in see.pilot.app.screen.query(Static)[2].render().plain  # type: ignore[union-attr]
        await asked.enter()
        await asked.done()
        assert "saved as Parse-CSV-here.md" in told(see)
    written = (folder / "Parse-CSV-here.md").read_bytes().decode()
    assert written.startswith("# Parse [/CSV] here?\n\n## You\n\nParse [/CSV] here?\n\n## Big [b + 1 Model")
    assert "`no`\r\n" in written


async def test_json_and_back_with_branches_and_every_character(make_chat: Make, store: ChatStore, folder: Path) -> None:
    chat = make_chat()
    async with chat.run() as see:
        odd = "\n".join(ODD_TEXTS)
        await talk(see, ("潮汐 🦜", CONTROLS), ("again", odd))
        await see.pilot.press("ctrl+r")
        await see.until(lambda: len(see.engine.asked) == 3, "another answer")
        await see.answer(step(["月が"], "引く", rejected=["[/x]"]))
        (original,) = store.chats()
        document = store.export(original.id)
        asked = await Asked.by(see, "f5")
        assert asked.name == "潮汐.md"
        await asked.enter("out.json")
        await asked.done()
        await see.pilot.press("ctrl+n")
        asked = await Asked.by(see, "f8")
        await asked.enter("out.json")
        await asked.done()
        assert "imported “潮汐 🦜”, beside one that began at the same moment" in told(see)
        await see.until(lambda: len(see.transcript.turns) == 4, "the chat")
        assert [turn.text for turn in see.transcript.turns][-1] == "月が引く"
        assert see.screen.query_one(OptionList).option_count == 2
    assert json.loads((folder / "out.json").read_bytes()) == document
    imported = max(kept.id for kept in store.chats())
    assert store.export(imported) == document


async def test_what_is_told_of_the_models_is_what_the_documentation_says(
    make_chat: Make, store: ChatStore, folder: Path
) -> None:
    """Bug: it promised the SHA-256 of the whole file under another name, and left the rest out."""
    chat = make_chat()
    async with chat.run() as see:
        await talk(see, ("one", "1"))
    (kept,) = store.chats()
    models = store.export(kept.id)["messages"][1]["models"]
    explained = (Path(__file__).parents[2] / "docs" / "chats.md").read_text("utf-8")
    (row,) = (line for line in explained.splitlines() if line.startswith("| `models`"))
    assert set(models) == {"target", "draft"}
    assert (
        {*models, "null", *models["target"]}
        == {*models, "null", *models["draft"]}
        == set(re.findall("`(.+?)`", row)) - {"models"}
    )


async def test_messages_of_other_branches_are_said_to_be_left_out(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await talk(see, ("one", "1"))
        await see.pilot.press("ctrl+r")
        await see.until(lambda: len(see.engine.asked) == 2, "another answer")
        await see.answer(step([], "2"))
        asked = await Asked.by(see, "f5")
        await asked.enter()
        await asked.done()
        assert "messages of other branches, left out: 1" in told(see)


async def test_a_file_that_is_there_is_asked_about(make_chat: Make, folder: Path) -> None:
    there, other = folder / "there.md", folder / "other.md"
    for file in (there, other, folder / "there.json"):
        file.write_text("mine")
    chat = make_chat()
    async with chat.run() as see:
        await talk(see, ("one", "1"))
        asked = await Asked.by(see, "f5")
        assert "what is shown" in asked.line("meaning")
        await asked.enter("there.json")
        await asked.says("there.json is there already")
        assert "everything" in asked.line("meaning")
        await asked.enter("there.md")
        await asked.says("there.md is there already")
        assert there.read_text() == "mine"
        # Another name is another question.
        await asked.enter("other.md")
        await asked.says("other.md is there already")
        assert other.read_text() == "mine"
        await asked.enter("there.md")
        await asked.says("there.md is there already")
        assert there.read_text() == "mine"
        await asked.enter()
        await asked.done()
        assert there.read_text().startswith("# one")
        asked = await Asked.by(see, "f5")
        await asked.enter("other.md")
        await asked.says("is there already")
        await see.pilot.press("escape")
        await asked.done()
    assert other.read_text() == "mine"


async def test_a_message_replaces_no_file_unasked(make_chat: Make, folder: Path) -> None:
    there = folder / "there.md"
    there.write_text("mine")
    chat = make_chat()
    async with chat.run() as see:
        await talk(see, ("one", "1"))
        see.last.focus()
        await see.pilot.pause()
        asked = await Asked.by(see, "s")
        await asked.enter("there.md")
        await asked.says("there.md is there already")
        assert there.read_text() == "mine"
        await asked.enter()
        await asked.done()
    assert there.read_text() == "1"


async def test_what_cannot_be_written_is_said_and_may_be_named_anew(
    make_chat: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "file").write_text("mine")
    chat = make_chat()
    async with chat.run() as see:
        await talk(see, ("one", "1"))
        asked = await Asked.by(see, "f5")
        for name, why in (
            ("gone [/x]/a.md", "error: cannot write gone [/x]/a.md: No such file or directory"),
            ("file/a.md", "error: cannot write file/a.md: Not a directory"),
            ("x" * 300, "File name too long"),
            (".", "error: . is no file"),
            ("a\0b", "error: cannot write a␀b.md: embedded null byte"),
            ("~nobody-here/a.md", "error: cannot write ~nobody-here/a.md: No such file or directory"),
            ("~a\0b", "error: cannot write ~a␀b.md: embedded null byte"),
            ("~\ud800", "error: cannot write ~"),
        ):
            await asked.enter(name)
            await asked.says(why)

        def refused(*_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied")

        with monkeypatch.context() as read_only:
            # Root may write anywhere.
            read_only.setattr(Path, "open", refused)
            await asked.enter("a.md")
            await asked.says("error: cannot write a.md: Permission denied")
        await asked.enter("b.md")
        await asked.done()
    assert sorted(file.name for file in folder.iterdir()) == ["b.md", "file"]


@pytest.mark.parametrize("key", ["f5", "f8", "s"])
async def test_a_pipe_is_not_waited_for(make_chat: Make, folder: Path, key: str) -> None:
    """A device is refused with it: it has no end."""
    os.mkfifo(folder / "pipe.md")
    chat = make_chat()
    async with chat.run() as see:
        await talk(see, ("one", "1"))
        see.last.focus()
        await see.pilot.pause()
        asked = await Asked.by(see, key)
        for name in ("pipe.md", "/dev/null"):
            for _ in range(2):  # the second time means that it may be overwritten
                await asked.enter(name)
                await asked.says(f"error: {name} is no file")


async def test_home_is_where_a_tilde_says(make_chat: Make, own_home: Path) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await talk(see, ("one", "1"))
        asked = await Asked.by(see, "f5")
        await asked.enter("~/a.md")
        await asked.done()
    assert (own_home / "a.md").exists()


@pytest.mark.parametrize("text", [" ".join(MARKUP), CONTROLS, "\ud800 \u2028 a\r\n\n\n"])
async def test_an_answer_is_saved_as_it_was_written(make_chat: Make, folder: Path, text: str) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await talk(see, ("Parse?", text))
        see.last.focus()
        await see.pilot.pause()
        asked = await Asked.by(see, "s")
        assert asked.name == "Parse-answer.md"
        await asked.enter(f"[b + 1{asked.name}")
        await asked.done()
        see.transcript.turns[0].focus()
        await see.pilot.pause()
        asked = await Asked.by(see, "s")
        await asked.enter()
        await asked.done()
    assert (folder / "[b + 1Parse-answer.md").read_bytes() == text.encode("utf-8", "backslashreplace")
    assert (folder / "Parse-question.md").read_text() == "Parse?"


async def test_an_answer_is_saved_also_where_the_store_refuses(
    make_chat: Make, store: ChatStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object) -> None:
        raise StorageError("chats.db is damaged", "move it away")

    chat = make_chat()
    async with chat.run() as see:
        await talk(see, ("one", "1"))
        see.last.focus()
        await see.pilot.pause()
        monkeypatch.setattr(store, "chat", damaged)
        asked = await Asked.by(see, "s")
        await asked.enter()
        await asked.done()
        await see.pilot.press("f5")
        await see.until(lambda: "chats.db is damaged" in see.shown(), "the refusal")
    assert (folder / "chat-answer.md").read_text() == "1"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot read in.json: No such file or directory"),
        (b"not [/x] JSON", "in.json: not JSON"),
        (b'{"format": "other"}', 'in.json: format must be "specdesk chat"'),
        (b"\xff\xfe\x00", "in.json: not JSON"),
    ],
)
async def test_what_cannot_be_imported_is_said(
    make_chat: Make, store: ChatStore, folder: Path, content: bytes | None, why: str
) -> None:
    if content is not None:
        (folder / "in.json").write_bytes(content)
    chat = make_chat()
    async with chat.run() as see:
        asked = await Asked.by(see, "f8")
        await asked.enter("")
        await asked.enter("in.json")
        await asked.says(why)
        await see.pilot.press("escape")
        await asked.done()
    assert not store.chats()


ODD: tuple[object, ...] = (None, True, "x", -1, 10**400, [], {}, [{}], ["length"], "\x1b[31m")
"""What may stand anywhere in a record that somebody else wrote."""


@pytest.mark.parametrize("key", ["speedup", "tokens_per_pass", "generated_tokens", "stop_reason", "seed", "target"])
async def test_records_from_elsewhere_do_not_hide_the_texts(
    make_chat: Make, store: ChatStore, folder: Path, key: str
) -> None:
    """Bug: an answer whose speedup was no number ended the chat whenever it was opened."""
    chat = make_chat()
    async with chat.run() as see:
        await talk(see, *((f"q{number}", f"a{number}") for number in range(len(ODD))))
        (kept,) = store.chats()
        document = store.export(kept.id)
        for odd, answer in zip(ODD, document["messages"][1::2], strict=True):
            for records in ("stats", "settings", "models"):
                answer[records] = {key: odd}
        (folder / "in.json").write_text(json.dumps(document))
        asked = await Asked.by(see, "f8")
        await asked.enter("in.json")
        await asked.done()
        await see.until(lambda: "imported" in told(see), "the chat")
        assert [turn.text for turn in see.transcript.turns][1::2] == [f"a{number}" for number in range(len(ODD))]
        await see.until(lambda: f"a{len(ODD) - 1}" in see.shown(), "the answers")


@pytest.mark.parametrize("trace", [[{}], [{"step": "x"}], [{"step": 0, "drafted": 1}]])
async def test_a_trace_from_elsewhere_is_said_to_be_none(
    make_chat: Make, store: ChatStore, folder: Path, trace: list[object]
) -> None:
    """Bug: it ended the chat when the answer was to be shown as tokens."""
    chat = make_chat()
    async with chat.run() as see:
        await talk(see, ("one", "1 and [/more]"))
        document = store.export(store.chats()[0].id)
        document["messages"][1]["trace"] = trace
        (folder / "in.json").write_text(json.dumps(document))
        asked = await Asked.by(see, "f8")
        await asked.enter("in.json")
        await asked.done()
        await see.until(lambda: "the trace of message 4 is damaged" in " ".join(see.shown().split()), "the trace")
        assert "1 and [/more]" in see.shown()
        await see.ask("go on")
        await see.answer(step([], "2"))


async def test_a_disk_that_refuses_an_import(
    make_chat: Make, store: ChatStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "import_chat", full)
    (folder / "in.json").write_text("{}")
    chat = make_chat()
    async with chat.run() as see:
        asked = await Asked.by(see, "f8")
        await asked.enter("in.json")
        await asked.says("error: chats.db: no space left (make room)")


async def test_an_import_while_it_answers_waits_in_the_list(make_chat: Make, store: ChatStore, folder: Path) -> None:
    kept = store.create_chat("other")
    (folder / "in.json").write_text(json.dumps(store.export(kept.id)))
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("one")
        asked = await Asked.by(see, "f8")
        await asked.enter("in.json")
        await asked.done()
        assert "not opened: still answering" in told(see)
        assert see.screen.query_one(OptionList).option_count == 3
        await see.answer(step([], "1"))
        assert [turn.text for turn in see.transcript.turns] == ["one", "1"]


async def test_a_folder_that_is_gone(make_chat: Make, folder: Path) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await talk(see, ("one", "1"))
        folder.rmdir()
        asked = await Asked.by(see, "f5")
        await asked.enter()
        await asked.says("error: cannot write one.md: No such file or directory")


async def test_without_a_chat_there_is_nothing_to_save(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.pilot.press("f5")
        await see.until(lambda: "nothing was said" in told(see), "why not")


@pytest.mark.parametrize("size", [(40, 24), (80, 24), (120, 40)])
async def test_the_question_fits(make_chat: Make, size: tuple[int, int]) -> None:
    chat = make_chat()
    async with chat.run(size=size) as see:
        await talk(see, ("潮汐 " * 60, "1"))
        asked = await Asked.by(see, "f5")
        await asked.enter("gone/a.md")
        await asked.says("No such file")
        await see.pilot.pause()
        inside = asked.screen.query(Static).last().region
        assert inside.width > 0
        assert asked.screen.region.contains_region(inside)


async def test_everything_is_in_the_palette_once(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.until_state(State.READY)
        names = [command.title for command in chat.app.get_system_commands(chat.app.screen)]
        assert {"A/B", "Export", "Import"} <= set(names)
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("o2.json", "o2.json"),
        ("o2.md", "o2.md"),
        ("o2", "o2.md"),
        ("v1.JSON", "v1.JSON"),
        ("kept", "kept"),  # it is there, and is what is meant
    ],
)
async def test_what_is_typed_is_the_name_and_its_ending_decides(
    make_chat: Make, folder: Path, typed: str, written: str
) -> None:
    """Bug: only the stem was chosen, so that o2.json typed over it became o2.json.md, and Markdown."""
    (folder / "kept").write_text("")
    chat = make_chat()
    async with chat.run() as see:
        await talk(see, ("one", "1"))
        asked = await Asked.by(see, "f5")
        await see.pilot.press(*typed)
        assert asked.name == typed
        assert asked.line("place").endswith(f"as {written}" if written != typed else folder.name)
        await see.pilot.press("enter")
        if typed == "kept":
            await asked.says("kept is there already")
            await see.pilot.press("enter")
        await asked.done()
        assert f"saved as {written}" in told(see)
    text = (folder / written).read_text()
    assert ('"specdesk chat"' in text) is written.lower().endswith(".json")
    assert {path.name for path in folder.iterdir()} == {"kept", written}


@pytest.mark.parametrize("key", ["f5", "f8"])
async def test_where_the_file_goes_is_told_of_what_is_typed(
    make_chat: Make, folder: Path, own_home: Path, tmp_path: Path, key: str
) -> None:
    """Bug: an absolute path stood above "in" with the folder specdesk was started in."""
    chat = make_chat()
    async with chat.run() as see:
        await talk(see, ("one", "1"))
        asked = await Asked.by(see, key)
        for typed, place in (
            ("/x/y/o.json", "in /x/y"),
            ("../o.json", f"in {with_tilde(tmp_path)}"),
            ("sub/o.json", f"in {with_tilde(folder / 'sub')}"),
            ("~/o.json", "in ~"),
            ("", f"in {with_tilde(folder)}"),
        ):
            asked.screen.query_one(Input).value = typed
            await see.until(lambda place=place: asked.line("place") == place, place)  # type: ignore[misc]
