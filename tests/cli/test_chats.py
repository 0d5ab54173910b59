"""`specdesk chats` from the shell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pexpect
import pytest

from specdesk.paths import chats_file
from specdesk.store.chat_store import ChatStore
from specdesk.store.values import State
from tests.cli.shell import COMMAND, TIMEOUT_S, lines, specdesk
from tests.store.samples import MODELS, SETTINGS, Clock, answered, ask

EVIL = "[red]x[/red] [/ \x1b[31m\x9b\x07 y"


def chats(*args: object, stdin: str | bytes = "") -> subprocess.CompletedProcess[str]:
    return specdesk("chats", *args, stdin=stdin)


def in_store(use: Callable[[ChatStore], object], clock: Clock | None = None) -> None:
    """Do something to the chats of the user."""
    with ChatStore.open(pytest.fail, clock=clock or Clock()) as store:
        use(store)


@pytest.fixture
def three() -> None:
    """Chat 1 with two branches, chat 2 with odd text, chat 3 without messages."""

    def fill(store: ChatStore) -> None:
        question, _ = ask(store, store.create_chat("Tides", "Be brief.").id, None, "Why two?", "The Earth turns.")
        answered(store, question, "The Moon pulls.")
        ask(store, store.create_chat(EVIL).id, None, f"p->next {EVIL}", f"你好\n\n{EVIL}\n")
        store.create_chat("Tidy\ncode")

    in_store(fill)


def test_the_list(three: None) -> None:
    done = chats("list")
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split(maxsplit=4) for line in done.stdout.splitlines()]
    assert [(row[0], row[3], row[4]) for row in rows] == [
        ("3", "0", "Tidy code"),
        ("2", "2", "[red]x[/red] [/ ␛[31m�␇ y"),
        ("1", "3", "Tides"),
    ]
    local = Clock().now.astimezone()
    assert rows[0][1:3] == [local.strftime("%Y-%m-%d"), local.strftime("%H:%M")]
    assert chats().stdout == done.stdout


def test_the_list_as_json(three: None) -> None:
    rows = json.loads(chats("list", "--json").stdout)
    assert [row["id"] for row in rows] == [3, 2, 1]
    assert rows[1]["title"] == EVIL
    assert rows[2] == {
        "id": 1,
        "title": "Tides",
        "system": "Be brief.",
        "created": rows[2]["created"],
        "updated": rows[2]["updated"],
        "deleted": None,
        "leaf": 3,
        "n_messages": 3,
    }
    assert datetime.fromisoformat(rows[2]["created"]).tzinfo == UTC


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "there are no chats yet"),
        (["list"], "there are no chats yet"),
        (["list", "--deleted"], "no chat was deleted"),
        (["search", "x"], "nothing was found"),
    ],
)
def test_nothing_to_show_is_said_and_no_error(args: list[str], said: str) -> None:
    done = chats(*args)
    assert (done.returncode, done.stdout, lines(done.stderr)) == (0, "", [f"specdesk: {said}"])
    if args:
        done = chats(*args, "--json")
        assert (done.returncode, done.stdout, lines(done.stderr)) == (0, "[]\n", [f"specdesk: {said}"])


def test_search(three: None) -> None:
    done = chats("search", "p->next")
    assert (done.returncode, done.stderr) == (0, "")
    where, what = done.stdout.splitlines()
    assert where.split()[0] == "2"
    assert " user " in where
    assert what.strip() == "p->next [red]x[/red] [/ ␛[31m�␇ y"
    (hit,) = json.loads(chats("search", "P->NEXT", "--json").stdout)
    assert (hit["chat"]["id"], hit["role"], hit["snippet"][hit["start"] : hit["end"]]) == (2, "user", "p->next")
    done = chats("search", "-n", "1", "TID")
    assert len(done.stdout.splitlines()) == 2
    assert lines(done.stderr) == ["specdesk: the first 1 places; more with -n"]


def test_search_marks_the_place_on_a_terminal(three: None) -> None:
    seen = on_terminal("search", "NEXT")
    assert "p->\x1b[1;7mnext\x1b[0m [red]x[/red] [/ ␛[31m�␇ y" in seen


def test_show(three: None) -> None:
    done = chats("show", 2)
    assert (done.returncode, done.stderr) == (0, "")
    # Standard output is data: as it was said.
    assert f"## You\n\np->next {EVIL}\n\n## Big 7B, drafted by Small 1B\n\n你好\n\n{EVIL}\n" in done.stdout
    record = json.loads(chats("show", "1", "--json").stdout)
    assert (record["id"], record["title"]) == (1, "Tides")
    asked, said = record["messages"]
    assert (asked["text"], said["text"], said["siblings"]) == ("Why two?", "The Moon pulls.", [2, 3])
    assert (said["settings"], said["models"]) == (SETTINGS, MODELS)


def test_a_terminal_is_not_driven_by_what_was_said(three: None) -> None:
    for args in (("show", "2"), ("export", "2"), ("list",)):
        seen = on_terminal(*args)
        assert "[red]x[/red] [/ ␛[31m�␇ y" in seen
        assert not any(control in seen for control in "\x1b\x9b\x07")


def on_terminal(*args: str) -> str:
    """All that a terminal is sent."""
    env = {**os.environ, "TERM": "xterm-256color", "NO_COLOR": "1"}
    child = pexpect.spawn(
        COMMAND[0], [*COMMAND[1:], "chats", *args], encoding="utf-8", timeout=TIMEOUT_S, env=env, dimensions=(50, 200)
    )
    seen = child.read()
    child.close()
    assert child.exitstatus == 0, seen
    return str(seen)


@pytest.mark.parametrize("name", ["1", "Tides", "TIDE"])
def test_a_chat_by_number_or_title(three: None, name: str) -> None:
    assert json.loads(chats("show", name, "--json").stdout)["id"] == 1


def test_a_whole_title_is_meant_before_the_beginning_of_another(three: None) -> None:
    for title in ("Tides and more", "7 seas", "4"):
        in_store(partial(ChatStore.create_chat, title=title))
    assert json.loads(chats("show", "tides", "--json").stdout)["id"] == 1
    assert json.loads(chats("show", "7", "--json").stdout)["title"] == "7 seas"
    assert json.loads(chats("show", "4", "--json").stdout)["title"] == "Tides and more"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tid", 'several titles begin with "tid" (give a number: 3 "Tidy code", 1 "Tides")'),
        ("Tidse", 'there is no chat "Tidse" (the nearest: 1 "Tides"'),
        ("77", 'there is no chat "77" (specdesk chats list shows them all)'),
        ("-1", "No such option"),
        ("", "the name of a chat is empty"),
        ("\udcff", "UTF-8"),
        ("9" * 5000, "there is no chat"),
    ],
)
def test_which_chat_is_unclear(three: None, name: str, said: str) -> None:
    done = chats("show", name)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = lines(done.stderr)
    assert said in line


@pytest.mark.parametrize("name", ["tid", "", "77"])
def test_nothing_is_deleted_by_half_a_name(three: None, name: str) -> None:
    assert chats("delete", name).returncode == 2
    assert len(chats("list").stdout.splitlines()) == 3


def test_rename(three: None) -> None:
    done = chats("rename", "Tides", EVIL)
    assert (done.returncode, done.stdout) == (0, "")
    assert lines(done.stderr) == ["specdesk: chat 1 is now called: [red]x[/red] [/ ␛[31m�␇ y"]
    assert json.loads(chats("show", "1", "--json").stdout)["title"] == EVIL
    assert chats("rename", "1", " ").returncode == 2


def test_delete_and_restore(three: None) -> None:
    before = chats("list").stdout
    done = chats("delete", "tides")
    assert (done.returncode, done.stdout) == (0, "")
    assert lines(done.stderr) == ["specdesk: deleted chat 1: Tides; specdesk chats restore 1 brings it back"]
    assert [row["id"] for row in json.loads(chats("list", "--json").stdout)] == [3, 2]
    assert [row["id"] for row in json.loads(chats("list", "--deleted", "--json").stdout)] == [1]
    done = chats("show", 1)
    assert done.returncode == 2
    assert "chat 1 was deleted (specdesk chats restore 1 brings it back)" in done.stderr
    assert "chat 2 is not deleted" in chats("restore", 2).stderr
    assert 'there is no deleted chat "Tidy"' in chats("restore", "Tidy").stderr
    done = chats("restore", "Tides")
    assert (done.returncode, lines(done.stderr)) == (0, ["specdesk: restored chat 1: Tides"])
    assert chats("list").stdout == before


def test_what_was_deleted_long_ago_is_removed_at_a_delete(three: None) -> None:
    clock = Clock()
    clock.now = datetime.now(UTC) - timedelta(days=31)
    in_store(lambda store: store.delete(1), clock)
    assert lines(chats("delete", 2).stderr)[1:] == ["specdesk: deleted more than 30 days ago, now removed for good: 1"]
    assert [row["id"] for row in json.loads(chats("list", "--deleted", "--json").stdout)] == [2]


def test_export_and_import(three: None, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    done = chats("export", 1, "-o", file)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert chats("export", "1", "--format", "json").stdout == file.read_text("ascii")
    done = chats("import", file)
    assert (done.returncode, done.stdout) == (0, "4\n")
    assert lines(done.stderr) == ["specdesk: imported as chat 4, beside chat 1, which began at the same moment: Tides"]
    assert chats("export", "4", "--format", "json").stdout == file.read_text("ascii")
    chats("delete", 1)
    chats("delete", 4)
    done = chats("import", "-", stdin=file.read_bytes())
    assert (done.stdout, lines(done.stderr)) == ("5\n", ["specdesk: imported as chat 5: Tides"])


def test_export_as_markdown(three: None, tmp_path: Path) -> None:
    file = tmp_path / "chat.md"
    done = chats("export", 1, "-o", file)
    assert lines(done.stderr) == ["specdesk: messages of other branches, left out: 1; --format json has them"]
    assert file.read_text("utf-8") == chats("show", "1").stdout == chats("export", 1, "--format", "md").stdout
    chats("export", 2, "--output", file, "--force")
    assert EVIL.encode() in file.read_bytes()


def test_export_does_not_overwrite(three: None, tmp_path: Path) -> None:
    file = tmp_path / "precious.md"
    file.write_text("precious")
    done = chats("export", 1, "-o", file)
    assert (done.returncode, lines(done.stderr)) == (2, [f"specdesk: {file} is there already (--force overwrites it)"])
    assert file.read_text() == "precious"
    assert chats("export", 1, "-o", file, "--force").returncode == 0
    assert file.read_text().startswith("# Tides")


def test_export_where_nothing_can_be_written(three: None, tmp_path: Path) -> None:
    for place, said in ((tmp_path / "no" / "x.md", "No such file or directory"), ("/dev/full", "No space left")):
        done = chats("export", 1, "-o", place, "--force")
        assert done.returncode == 5
        assert said in lines(done.stderr)[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"# Tides\n", "not JSON: Expecting value"),
        (b"[]", "must be an object, not a list"),
        (b'{"format": "specdesk chat", "version": 9}', "version must be 1 to 2, not 9"),
    ],
)
def test_a_file_that_is_no_chat(three: None, tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(content)
    done = chats("import", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"specdesk: {file}: {said}" in lines(done.stderr)[0]
    assert len(chats("list").stdout.splitlines()) == 3


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    done = chats("import", tmp_path / "none.json")
    assert (done.returncode, lines(done.stderr)) == (
        2,
        [f"specdesk: cannot read {tmp_path}/none.json: No such file or directory"],
    )
    assert chats("import", tmp_path).returncode == 2


def test_an_answer_that_was_cut_off_is_shown_as_stopped() -> None:
    def fill(store: ChatStore) -> None:
        answer = store.begin_answer(store.add_question(store.create_chat("t").id, None, "q"), {}, MODELS)
        store.append(answer, "```\nhalf")
        store.finish(answer, State.STOPPED)

    in_store(fill)
    assert chats("show", "t").stdout.endswith("```\nhalf\n```\n\n*Stopped before its end.*\n")


def test_a_damaged_file_is_one_line_and_is_left_alone() -> None:
    chats_file().parent.mkdir(parents=True)
    chats_file().write_bytes(b"no database, but precious" * 100)
    for command in (["list"], ["search", "x"], ["show", "1"], ["delete", "1"]):
        done = chats(*command)
        assert (done.returncode, done.stdout) == (5, "")
        (line,) = lines(done.stderr)
        assert f"{chats_file()} is no file of chats" in line
        assert "move it away" in line
    assert chats_file().read_bytes() == b"no database, but precious" * 100


def test_a_pipe_that_is_closed_early(three: None) -> None:
    command = f"{sys.executable} -m specdesk chats show 2 | head -c 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    assert (done.stdout, done.stderr) == ("#", "")


@pytest.mark.parametrize("args", [["list"], ["search", "x"], ["show", "1"]])
def test_chats_wait_for_nothing_heavy(three: None, args: list[str]) -> None:
    code = f"""
import sys
sys.argv = ["specdesk", "chats", *{args}]
from specdesk.__main__ import main
try:
    main()
except SystemExit:
    pass
print([name for name in ("llama_cpp", "textual", "huggingface_hub", "numpy", "psutil") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert lines(done.stdout)[-1] == "[]"


def test_help_does_not_load_the_store() -> None:
    code = """
import sys
sys.argv = ["specdesk", "--help"]
from specdesk.__main__ import main
try:
    main()
except SystemExit:
    pass
print("sqlite3" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert lines(done.stdout)[-1] == "False"
