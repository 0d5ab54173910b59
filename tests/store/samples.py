"""A clock that is set by hand, chats to look at, and other processes that use the file."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from specdesk.engine.client import ModelInfo
from specdesk.store.chat_store import ChatStore
from specdesk.store.values import State

MODELS: dict[str, Any] = {
    "target": asdict(ModelInfo("Big 7B", "big.gguf", -1, 7_000_000, "ab" * 32)),
    "draft": asdict(ModelInfo("Small 1B", "small.gguf", 0, 1_000_000, "cd" * 32)),
}
SETTINGS: dict[str, Any] = {"temperature": 0.1, "seed": 2**63 - 1, "stop": ["\ud800", "§"], "grammar": None}

ODD_TEXTS = (
    "",
    "plain",
    "\0",
    "before\0behind",
    "\ud800 alone, \udfff too",
    "\x1b[31m\x07\x85\u2028\ufeff\r\n\r\ttabs",
    "你好，世界 🦜 é e\u0301",
    "\\u0041 \" ' % _ ` \\",
    "[red]no markup[/red] [/",
    "\ufffd\uffff\U0010ffff",
)
"""Texts that something or other between here and the disk might change."""


class Clock:
    """It goes on by a microsecond each time it is looked at, and when it is told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 31, 12, 0, 0, 999_000, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(microseconds=1)
        return self.now


def ask(store: ChatStore, chat_id: int, parent: int | None, question: str, answer: str) -> tuple[int, int]:
    """A question and its complete answer; their numbers."""
    question_id = store.add_question(chat_id, parent, question)
    return question_id, answered(store, question_id, answer)


def answered(store: ChatStore, question_id: int, answer: str) -> int:
    """A complete answer."""
    answer_id = store.begin_answer(question_id, SETTINGS, MODELS)
    store.append(answer_id, answer)
    store.finish(answer_id, State.COMPLETE, {"tokens_per_s": 1 / 3})
    return answer_id


def texts(store: ChatStore, chat_id: int) -> list[str]:
    """What is shown of a chat."""
    return [message.text for message in store.conversation(chat_id)]


def check_index(store: ChatStore) -> None:
    """SQLite finds the index to be that of the messages. Fails the test otherwise."""
    with store._database.writing() as db:
        db.execute("INSERT INTO full_text (full_text, rank) VALUES ('integrity-check', 1)")


def process(code: str, *args: object) -> subprocess.Popen[str]:
    """Another Python at work on the same file, with `sys`, `Path`, ChatStore and State at hand; a context manager."""
    head = (
        "import sys\nfrom pathlib import Path\n"
        "from specdesk.store.chat_store import ChatStore\nfrom specdesk.store.values import State\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", head + code, *map(str, args)],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
