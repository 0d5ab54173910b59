"""The chats of one user, kept in one file: all that the rest of the program asks of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Self

from specdesk.errors import StorageError, UsageError
from specdesk.paths import chats_file
from specdesk.store import answers, rows
from specdesk.store.bringing_in import bring_in
from specdesk.store.database import Database, has_trigram
from specdesk.store.document import document_of
from specdesk.store.encoding import encoded, stamp, undamaged
from specdesk.store.migrations import migrate
from specdesk.store.pens import Pens
from specdesk.store.reading import read_chat
from specdesk.store.search import search
from specdesk.store.tree import Tree
from specdesk.store.values import Chat, ChatMessage, Hit, Role, State

KEPT_DAYS: Final = 30
"""How long a deleted chat can be restored, at least."""


def utc_now() -> datetime:
    """The clock of a store, unless it is given another."""
    return datetime.now(UTC)


class ChatStore:
    """Chats and their messages. A context manager; threads may share one, and processes its file.

    Each method is one transaction: when it returns, what it changed is in the file, whatever becomes of this process.
    All raise UsageError for chats and messages that are not there, and StorageError where disk or file refuse.
    """

    def __init__(
        self, database: Database, notify: Callable[[str], None], clock: Callable[[], datetime], *, indexed: bool
    ) -> None:
        self._database = database
        self._notify = notify
        self._clock = clock
        self._indexed = indexed
        self._has_said_so = False
        self._pens = Pens(database.path.resolve())

    @classmethod
    def open(
        cls, notify: Callable[[str], None], path: Path | None = None, clock: Callable[[], datetime] = utc_now
    ) -> Self:
        """The chats in `path`, by default those of this user. The file is begun if it is not there.

        Answers whose program went away are stopped. `notify` is told what the user should know.
        """
        database = Database(chats_file() if path is None else path)
        try:
            indexed = has_trigram()
            migrate(database, trigram=indexed)
            store = cls(database, notify, clock, indexed=indexed)
        except BaseException:
            database.close()
            raise
        try:
            store._stop_abandoned()
        except StorageError as error:  # what is there can still be read
            notify(str(error))
        return store

    def close(self) -> None:
        """Answers that this store still writes are abandoned: they are stopped, as far as they came."""
        for answer_id in self._pens.held():
            self._pens.put_down(answer_id)
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def create_chat(self, title: str, system: str | None = None) -> Chat:
        """A new chat without messages."""
        with self._database.writing() as db:
            now = self._now()
            return rows.get_chat(db, answers.insert_chat(db, title, system, now, now))

    def chats(self, limit: int | None = None, offset: int = 0, *, deleted: bool = False) -> list[Chat]:
        """Chats, or instead those that are deleted; the one that was used last first."""
        with self._database.reading() as db:
            return rows.list_chats(db, deleted=deleted, limit=-1 if limit is None else limit, offset=offset)

    def chat(self, chat_id: int) -> Chat:
        """The chat of that number, deleted or not."""
        with self._database.reading() as db:
            return rows.get_chat(db, chat_id)

    def rename(self, chat_id: int, title: str) -> None:
        """Give a chat another title."""
        with self._database.writing() as db:
            rows.get_chat(db, chat_id)
            db.execute("UPDATE chats SET title = CAST(? AS TEXT) WHERE id = ?", (encoded(title), chat_id))

    def delete(self, chat_id: int) -> None:
        """Take a chat from sight. It is kept until it is purged, and comes back when it is gone on with."""
        self._set_deleted(chat_id, self._now())

    def restore(self, chat_id: int) -> None:
        """Bring a deleted chat back."""
        self._set_deleted(chat_id, None)

    def purge(self, days: float = KEPT_DAYS) -> int:
        """Remove for good what was deleted at least so many days ago; returns how many chats that were.

        One with an answer that is being written stays.
        """
        before = stamp(self._clock() - timedelta(days=days))
        with self._database.writing() as db:
            purged = db.execute(
                """
                DELETE FROM chats WHERE deleted <= ?
                AND NOT EXISTS (SELECT 1 FROM messages WHERE chat_id = chats.id AND state = 'writing')
                """,
                (before,),
            ).rowcount
            if purged and self._indexed:
                # Until the index is merged it only notes that their text is gone.
                db.execute("INSERT INTO full_text (full_text) VALUES ('optimize')")
        return purged

    def messages(self, chat_id: int) -> list[ChatMessage]:
        """All messages of a chat, whatever branch they are in, in the order in which they joined it."""
        abandoned = self._abandoned()
        with self._database.reading() as db:
            rows.get_chat(db, chat_id)
            return rows.list_messages(db, chat_id, abandoned)

    def conversation(self, chat_id: int) -> list[ChatMessage]:
        """The messages of the visible branch, from the first to the one it ends with."""
        abandoned = self._abandoned()
        with self._database.reading() as db:
            leaf = rows.get_chat(db, chat_id).leaf
            messages = rows.list_messages(db, chat_id, abandoned)
        with undamaged(f"chat {chat_id}"):
            path = set(Tree((message.id, message.parent) for message in messages).path_to(leaf))
        return [message for message in messages if message.id in path]

    def questions(self, limit: int) -> list[str]:
        """What was asked last in all chats that are not deleted, the oldest first."""
        with self._database.reading() as db:
            return rows.list_questions(db, limit)

    def add_question(self, chat_id: int, parent: int | None, text: str) -> int:
        """A message of the user behind an answer, or at the beginning (None); it is shown from now on.

        Beside other questions in the same place it is a branch: an edited question. Returns its number.
        """
        with self._database.writing() as db:
            return answers.add_question(db, chat_id, parent, text, self._now())

    def begin_answer(self, question_id: int, settings: dict[str, Any], models: dict[str, Any]) -> int:
        """An answer without text, that this store is going to write; it is shown from now on.

        Beside other answers to the question it is a branch: a regenerated answer. Returns its number.
        """
        with ExitStack() as undo:
            with self._database.writing() as db:
                answer_id = answers.begin(db, question_id, settings, models, self._now())
                undo.callback(self._pens.put_down, answer_id)
                self._pens.take(answer_id)
            undo.pop_all()
        return answer_id

    def resume(self, answer_id: int) -> None:
        """Go on with an answer that was ended; this store writes it from now on.

        Raises UsageError for one that is being written already.
        """
        with ExitStack() as undo:
            with self._database.writing() as db:
                answers.reopen(db, answer_id, abandoned=self._pens.is_abandoned(answer_id))
                undo.callback(self._pens.put_down, answer_id)
                self._pens.take(answer_id)
            undo.pop_all()

    def append(self, answer_id: int, text: str, trace: Sequence[dict[str, Any]] = ()) -> None:
        """Add to an answer that this store writes: text that is final, and a JSON object for each decode step."""
        with self._database.writing() as db:
            self._check_written_here(answer_id)
            answers.place_of(db, answer_id)
            answers.append(db, answer_id, text, trace)

    def finish(
        self, answer_id: int, state: State, stats: dict[str, Any] | None = None, error: str | None = None
    ) -> None:
        """Nothing more will be appended to an answer that this store writes."""
        with self._database.writing() as db:
            self._check_written_here(answer_id)
            chat_id, _role = answers.place_of(db, answer_id)
            answers.close(db, answer_id, state, stats, error)
            db.execute("UPDATE chats SET updated = ? WHERE id = ?", (self._now(), chat_id))
        self._pens.put_down(answer_id)

    def switch_branch(self, message_id: int) -> None:
        """Show the branch through this message; behind it, the newest message each time that is not left out.

        What was left out and is shown by that is left out no longer.
        """
        with self._database.writing() as db:
            chat_id, _role = answers.place_of(db, message_id)
            answers.switch_branch(db, chat_id, message_id)

    def show(self, message_id: int) -> None:
        """Switch to a branch with this message as `switch_branch` does, unless the visible one has it."""
        with self._database.writing() as db:
            chat_id, _role = answers.place_of(db, message_id)
            if message_id not in rows.get_path(db, chat_id):
                answers.switch_branch(db, chat_id, message_id)

    def leave_out(self, message_id: int) -> int:
        """End the conversation before a question, or before the one that an answer is to.

        What is left out is kept: `show` with what is returned, the message that the conversation ended with, shows it
        again, and until then no branch leads to it.
        Raises UsageError for a message that is not in the visible branch.
        """
        with self._database.writing() as db:
            chat_id, role = answers.place_of(db, message_id)
            path = rows.get_path(db, chat_id)
            if message_id not in path:
                raise UsageError(f"message {message_id} is not in the conversation")
            n_kept = path.index(message_id) - (role is Role.ASSISTANT)
            db.execute("UPDATE chats SET leaf = ? WHERE id = ?", (path[n_kept - 1] if n_kept else None, chat_id))
            db.execute("UPDATE messages SET left_out = ? WHERE id = ?", (self._now(), path[n_kept]))
        return path[-1]

    def search(self, query: str, limit: int = 50) -> list[Hit]:
        """Where titles and messages of all branches hold this text, whatever its case; nothing in it is syntax.

        Titles come first, then messages, each the newest first. What is being written is not found yet.
        """
        if not self._indexed and not self._has_said_so:
            self._has_said_so = True
            self._notify(
                f"SQLite {sqlite3.sqlite_version} here has no index of trigrams (3.34 may have): every message is read"
            )
        with self._database.reading() as db:
            return search(db, query, limit, indexed=self._indexed)

    def trace(self, message_id: int) -> list[dict[str, Any]]:
        """What was kept of each decode step of an answer, the first one first."""
        with self._database.reading() as db:
            answers.place_of(db, message_id)
            return answers.trace_of(db, message_id)

    def export(self, chat_id: int) -> dict[str, Any]:
        """The chat with everything, as JSON data; docs/chats.md has every key."""
        abandoned = self._abandoned()
        with self._database.reading() as db, undamaged(f"chat {chat_id}"):
            messages = rows.list_messages(db, chat_id, abandoned)
            traces = {message.id: answers.trace_of(db, message.id) for message in messages}
            return document_of(rows.get_chat(db, chat_id), messages, traces)

    def import_chat(self, data: bytes) -> Chat:
        """Keep an exported chat, as JSON text, as a new one. Raises UsageError that names what is wrong, and where."""
        chat = read_chat(data)
        with self._database.writing() as db:
            return rows.get_chat(db, bring_in(db, chat))

    def _now(self) -> int:
        return stamp(self._clock())

    def _set_deleted(self, chat_id: int, when: int | None) -> None:
        with self._database.writing() as db:
            rows.get_chat(db, chat_id)
            db.execute("UPDATE chats SET deleted = ? WHERE id = ?", (when, chat_id))

    def _check_written_here(self, answer_id: int) -> None:
        if not self._pens.holds(answer_id):
            raise UsageError(f"message {answer_id} is no answer that is being written here")

    def _abandoned(self) -> set[int]:
        """Answers that whoever reads them afterwards finds finished, or else abandoned: pens are put down last."""
        with self._database.reading() as db:
            unfinished = answers.unfinished(db)
        return set(filter(self._pens.is_abandoned, unfinished))

    def _stop_abandoned(self) -> None:
        """Stop the answers whose program went away, and take away what else it left."""
        with self._database.reading() as db:
            unfinished = answers.unfinished(db)
        lying: set[int] = set()
        try:
            lying = self._pens.lying()
        except StorageError as error:  # the answers themselves can be stopped nevertheless
            self._notify(str(error))
        if not unfinished and not lying:
            return
        # A pen that is being taken looks abandoned for a moment.
        with self._database.writing() as db:
            unfinished = answers.unfinished(db)
            for number in filter(self._pens.is_abandoned, lying | unfinished):
                if number in unfinished:
                    answers.close(db, number, State.STOPPED, None, None)
                self._pens.remove(number)
