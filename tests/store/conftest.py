from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from specdesk.store.chat_store import ChatStore
from tests.store.samples import Clock, check_index


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the chats of a test are; not made yet, nor its directory."""
    return tmp_path / "data" / "chats.db"


@pytest.fixture
def store(file: Path, clock: Clock) -> Iterator[ChatStore]:
    with ChatStore.open(pytest.fail, file, clock) as opened:
        yield opened
        check_index(opened)
