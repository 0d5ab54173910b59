"""Answers as they are written: by this process, by another, and by one that is killed."""

from __future__ import annotations

import errno
import fcntl
import sqlite3
import threading
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from specdesk.errors import StorageError, UsageError
from specdesk.store.chat_store import ChatStore
from specdesk.store.database import Database
from specdesk.store.values import State
from tests.store.samples import ask, process, texts

WRITER = """
store = ChatStore.open(print, Path(sys.argv[1]))
chat = store.create_chat("from a child")
question = store.add_question(chat.id, None, "Count!")
answer = store.begin_answer(question, {}, {})
for number in range(10**9):
    store.append(answer, f"{number} ", [{"step": number}])
    print(chat.id, number, flush=True)
    if number == int(sys.argv[2]):
        sys.stdin.readline()
"""
"""Says each append when it is done; waits for a line, and so may be looked at, behind a number of them."""


@pytest.fixture
def question(store: ChatStore) -> int:
    return store.add_question(store.create_chat("t").id, None, "q")


def test_an_answer_piece_by_piece(store: ChatStore, question: int, file: Path) -> None:
    chat = store.chats()[0].id
    answer = store.begin_answer(question, {}, {})
    for piece in ("The ", "", "Earth"):
        store.append(answer, piece, [{"piece": piece}, {"and": 1.5}])
    with ChatStore.open(pytest.fail, file) as other:
        said = other.conversation(chat)[1]
        assert (said.text, said.state, said.stats) == ("The Earth", State.WRITING, None)
    store.append(answer, " turns.")
    store.finish(answer, State.STOPPED, {"n": 1}, error=None)
    said = store.conversation(chat)[1]
    assert (said.text, said.state, said.stats, said.error) == ("The Earth turns.", State.STOPPED, {"n": 1}, None)
    assert sorted(path.name for path in file.parent.iterdir()) == ["chats.db", "chats.db-shm", "chats.db-wal"]
    assert store.trace(answer) == [step for piece in ("The ", "", "Earth") for step in ({"piece": piece}, {"and": 1.5})]
    assert store.trace(question) == []


def test_a_finished_answer_is_finished(store: ChatStore, question: int) -> None:
    answer = store.begin_answer(question, {}, {})
    store.finish(answer, State.FAILED, error="out of memory")
    for use in (partial(store.append, answer, "more"), partial(store.finish, answer, State.COMPLETE)):
        with pytest.raises(UsageError, match=f"message {answer} is no answer that is being written here"):
            use()
    said = store.conversation(store.chats()[0].id)[1]
    assert (said.state, said.error, said.text) == (State.FAILED, "out of memory", "")


def test_halves_of_a_character_that_meet_become_it(store: ChatStore, question: int) -> None:
    answer = store.begin_answer(question, {}, {})
    store.append(answer, "\ud83e")
    store.append(answer, "\udd9c")
    store.finish(answer, State.COMPLETE)
    assert texts(store, store.chats()[0].id)[1] == "🦜"


def test_appending_costs_what_is_appended(store: ChatStore, question: int, file: Path) -> None:
    """Every page that is written goes to the log, which is as long as the most that was ever in it."""
    answer = store.begin_answer(question, {}, {})
    store.append(answer, "long " * 400_000, [{"step": "x" * 2_000_000}])
    log = file.with_name(f"{file.name}-wal")
    with store._database.writing() as db:
        db.execute("PRAGMA wal_autocheckpoint = 0")
    before = log.stat().st_size
    for number in range(100):
        store.append(answer, f"{number} ", [{"step": number}])
    assert log.stat().st_size - before < 100 * 40_000


def test_closing_a_store_stops_what_it_writes(file: Path) -> None:
    with ChatStore.open(pytest.fail, file) as store:
        chat = store.create_chat("t").id
        store.append(store.begin_answer(store.add_question(chat, None, "q"), {}, {}), "half")
    assert sorted(path.name for path in file.parent.iterdir()) == ["chats.db"]
    with ChatStore.open(pytest.fail, file) as store:
        said = store.conversation(chat)[1]
    assert (said.text, said.state) == ("half", State.STOPPED)


def test_a_killed_writer_loses_only_what_it_had_not_appended(file: Path) -> None:
    with process(WRITER, file, 10**9) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(300)]
        child.kill()
        lines += child.stdout.readlines()
    chat, last = map(int, lines[-1].split() if lines[-1].endswith("\n") else lines[-2].split())
    with ChatStore.open(pytest.fail, file) as store:
        said = store.conversation(chat)[1]
        # The append that was under way when the process was killed may be there too, as a whole.
        numbers = [int(word) for word in said.text.split()]
        assert numbers in (list(range(last + 1)), list(range(last + 2)))
        assert (said.state, said.error) == (State.STOPPED, None)
        assert [step["step"] for step in store.trace(said.id)] == numbers
        assert [hit.message_id for hit in store.search("100 101 102")] == [said.id]
        ask(store, chat, said.id, "go on", "done")
        assert texts(store, chat)[2:] == ["go on", "done"]
    assert sorted(path.name for path in file.parent.iterdir()) == ["chats.db"]


def test_the_answer_of_another_process_is_left_alone(store: ChatStore, file: Path) -> None:
    with process(WRITER, file, 3) as child:
        assert child.stdout is not None
        chat = int([child.stdout.readline() for _ in range(4)][-1].split()[0])
        for opened in (store, ChatStore.open(pytest.fail, file)):
            said = opened.conversation(chat)[1]
            assert (said.text, said.state) == ("0 1 2 3 ", State.WRITING)
            with pytest.raises(UsageError, match="is no answer that is being written here"):
                opened.append(said.id, "mine")
            with pytest.raises(UsageError, match="no answer that has ended"):
                opened.resume(said.id)
        opened.close()
        child.kill()
        child.wait()
        # A store that is open finds out too, and may go on with it.
        assert store.conversation(chat)[1].state is State.STOPPED
        store.resume(said.id)
        store.append(said.id, "done")
        store.finish(said.id, State.COMPLETE)
        assert (texts(store, chat)[1], len(store.trace(said.id))) == ("0 1 2 3 done", 4)


def test_a_writer_that_was_taken_for_gone_loses_nothing(
    store: ChatStore, question: int, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a file system has no locks, others cannot know better."""

    def refuse(*_args: object) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)
    chat = store.chats()[0].id
    answer = store.begin_answer(question, {}, {})
    store.append(answer, "one ")
    assert store.conversation(chat)[1].state is State.WRITING
    with ChatStore.open(pytest.fail, file) as other:
        assert other.conversation(chat)[1].state is State.STOPPED
        assert [hit.message_id for hit in other.search("one")] == [answer]
    store.append(answer, "two")
    assert texts(store, chat)[1] == "one two"
    store.finish(answer, State.COMPLETE)
    said = store.conversation(chat)[1]
    assert (said.text, said.state) == ("one two", State.COMPLETE)
    assert [hit.message_id for hit in store.search("one two")] == [answer]


def test_chats_can_be_read_where_the_disk_is_full(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer that filled it cannot be put together, but it can be seen."""
    with process(WRITER, file, 5) as child:
        assert child.stdout is not None
        chat = int([child.stdout.readline() for _ in range(6)][-1].split()[0])
        child.kill()
    said: list[str] = []

    def refuse(_self: Database) -> None:
        raise StorageError("no room left", "make room")

    with monkeypatch.context() as full:
        full.setattr(Database, "writing", refuse)
        with ChatStore.open(said.append, file) as store:
            answer = store.conversation(chat)[1]
            assert (answer.text, answer.state) == ("0 1 2 3 4 5 ", State.STOPPED)
            assert store.export(chat)["messages"][1]["state"] == "stopped"
    assert said == ["no room left (make room)"]
    with ChatStore.open(pytest.fail, file) as store:
        assert store.conversation(chat)[1] == answer
        assert len(store.search("4 5")) == 1


def test_a_link_to_the_file_is_the_file(store: ChatStore, question: int, file: Path, tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(file)
    store.begin_answer(question, {}, {})
    with ChatStore.open(pytest.fail, tmp_path / "link.db") as other:
        assert other.conversation(1)[1].state is State.WRITING


def test_an_answer_that_cannot_be_begun_is_not_there(store: ChatStore, question: int, file: Path) -> None:
    in_the_way = file.with_name(f"chats.db-writing-{question + 1}")
    in_the_way.mkdir()
    with pytest.raises(StorageError, match="Is a directory"):
        store.begin_answer(question, {}, {})
    in_the_way.rmdir()

    def no_commit(_action: int, what: str | None, *_where: str | None) -> int:
        return sqlite3.SQLITE_DENY if what == "COMMIT" else sqlite3.SQLITE_OK

    store._database._connection.set_authorizer(no_commit)
    with pytest.raises(StorageError, match="not authorized"):
        store.begin_answer(question, {}, {})
    store._database._connection.set_authorizer(None)
    assert [message.id for message in store.messages(1)] == [question]
    assert sorted(path.name for path in file.parent.iterdir()) == ["chats.db", "chats.db-shm", "chats.db-wal"]
    store.finish(store.begin_answer(question, {}, {}), State.COMPLETE)


def test_a_second_store_does_not_loosen_the_hold_of_the_first(store: ChatStore, file: Path) -> None:
    """Closing any other handle to the file would let go of all of this process's locks, and the next process to close
    it would take itself for the last one and remove the log that is in use here."""
    with ChatStore.open(pytest.fail, file):
        pass
    with process("ChatStore.open(print, Path(sys.argv[1])).close()", file) as child:
        assert child.communicate(timeout=60)[0] == ""
    assert file.with_name("chats.db-wal").exists()
    store.create_chat("after")
    with process("print(ChatStore.open(print, Path(sys.argv[1])).chats()[0].title)", file) as child:
        assert child.communicate(timeout=60)[0] == "after\n"


def test_what_was_left_lying_is_taken_away(file: Path) -> None:
    """A process may be killed when its answer is finished and its pen is not put down yet."""
    with ChatStore.open(pytest.fail, file):
        pass
    left = file.with_name("chats.db-writing-17")
    left.touch()
    with ChatStore.open(pytest.fail, file):
        assert not left.exists()


def test_a_folder_that_cannot_be_listed_is_said_and_answers_are_stopped_all_the_same(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bug: it ended the program, though every chat could be read."""
    with ChatStore.open(pytest.fail, file) as store:
        store.append(store.begin_answer(store.add_question(store.create_chat("t").id, None, "q"), {}, {}), "half")

    def refuse(path: Path) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)
    said: list[str] = []
    with ChatStore.open(said.append, file) as store, store._database.reading() as db:
        assert [row["state"] for row in db.execute("SELECT state FROM messages ORDER BY id")] == ["complete", "stopped"]
    (told,) = said
    assert f"{file.parent}: Permission denied" in told


def test_threads_share_a_store(store: ChatStore) -> None:
    chat = store.create_chat("t").id
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            question = store.add_question(chat, None, name)
            answer = store.begin_answer(question, {}, {})
            for number in range(50):
                store.append(answer, f"{name}{number} ", [{"step": number}])
                store.conversation(chat)
                store.search(name)
            store.finish(answer, State.COMPLETE)
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert failures == []
    answers = [message for message in store.messages(chat) if message.parent is not None]
    assert sorted(answer.text for answer in answers) == [
        "".join(f"{name}{number} " for number in range(50)) for name in "abcd"
    ]
    assert all(len(store.trace(answer.id)) == 50 for answer in answers)


def at_once(code: str, directory: Path) -> None:
    """Let three processes loose on the same directory, each with a name of its own, and wait for them."""
    head = 'print("ready", flush=True)\nsys.stdin.readline()\n'
    with ExitStack() as stack:
        children = [stack.enter_context(process(head + code, directory, name)) for name in "abc"]
        assert [child.stdout and child.stdout.readline() for child in children] == ["ready\n"] * 3
        for child in children:
            assert child.stdin is not None
            child.stdin.write("\n")
            child.stdin.flush()
        assert [child.communicate(timeout=60)[0] for child in children] == [""] * 3
        assert [child.returncode for child in children] == [0] * 3


def test_processes_write_at_once(tmp_path: Path) -> None:
    code = """
with ChatStore.open(print, Path(sys.argv[1]) / "chats.db") as store:
    chat = store.create_chat(sys.argv[2])
    answer = store.begin_answer(store.add_question(chat.id, None, "q"), {}, {})
    for number in range(200):
        store.append(answer, f"{number} ")
    store.finish(answer, State.COMPLETE)
"""
    at_once(code, tmp_path)
    with ChatStore.open(pytest.fail, tmp_path / "chats.db") as store:
        assert sorted(chat.title for chat in store.chats()) == ["a", "b", "c"]
        expected = ["q", "".join(f"{number} " for number in range(200))]
        assert all(texts(store, chat.id) == expected for chat in store.chats())


def test_processes_begin_the_same_file_at_once(tmp_path: Path) -> None:
    """Of two that switch SQLite to its log at the same moment, one is refused at once."""
    code = """
for number in range(150):
    with ChatStore.open(print, Path(sys.argv[1]) / f"{number}.db") as store:
        store.create_chat(sys.argv[2])
"""
    at_once(code, tmp_path)
    for number in range(150):
        with ChatStore.open(pytest.fail, tmp_path / f"{number}.db") as store:
            assert sorted(chat.title for chat in store.chats()) == ["a", "b", "c"]


@pytest.mark.parametrize("state", [State.STOPPED, State.FAILED, State.COMPLETE])
def test_an_answer_that_has_ended_is_gone_on_with(store: ChatStore, question: int, file: Path, state: State) -> None:
    answer = store.begin_answer(question, {"seed": 1}, {})
    store.append(answer, "The ", [{"step": 0}])
    store.finish(answer, state, {"n": 1}, error="no" if state is State.FAILED else None)
    store.resume(answer)
    with pytest.raises(UsageError, match="no answer that has ended"):
        store.resume(answer)
    store.append(answer, "Earth", [{"step": 1}])
    with ChatStore.open(pytest.fail, file) as other:
        said = other.conversation(store.chats()[0].id)[1]
        assert (said.text, said.state, said.error) == ("The Earth", State.WRITING, None)
    store.finish(answer, State.COMPLETE, {"n": 2})
    said = store.conversation(store.chats()[0].id)[1]
    assert (said.text, said.state, said.stats) == ("The Earth", State.COMPLETE, {"n": 2})
    assert store.trace(answer) == [{"step": 0}, {"step": 1}]
    assert [hit.message_id for hit in store.search("The Earth")] == [answer]
    with pytest.raises(UsageError, match="no answer that has ended"):
        store.resume(question)
