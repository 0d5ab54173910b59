"""Chats that go back and forth: whatever the caches still hold, answers are those of a session that never saw more."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from specdesk.core.events import PromptRead
from specdesk.core.sampling import Sampling
from specdesk.engine.message import Message
from specdesk.engine.options import AnswerOptions, Overflow
from tests.answers import ids, text
from tests.engine.conftest import OpenEngine, OpenLM, WriteModel
from tests.engine.test_loaded import assert_equal_but_for_ties
from tests.tiny.gguf_models import CHAT, CHATML, DRAFT, TARGET

OPTIONS = AnswerOptions(Sampling(0.0), seed=1, lookahead=4, max_tokens=24, overflow=Overflow.TURNS)


@pytest.mark.parametrize("seed", range(4))
def test_edits_branches_and_other_chats(
    write_model: WriteModel, open_engine: OpenEngine, open_lm: OpenLM, seed: int
) -> None:
    """But for numerical ties: prompts that are read in other pieces round otherwise."""
    rng = random.Random(seed)
    target = write_model(replace(TARGET, vocabulary=CHAT, chat_template=CHATML))
    draft = write_model(replace(DRAFT, vocabulary=CHAT))
    lm = open_lm(target)
    engine = open_engine(target, draft)
    chats: list[list[Message]] = [[], [Message("system", "Be brief.")]]
    n_reused = 0
    for turn in range(12):
        chat = rng.choice(chats)
        move = rng.choice(("ask", "ask", "edit", "delete", "again", "fork"))
        answered = [i for i, message in enumerate(chat) if message.role == "assistant"]
        if move == "edit" and len(answered) > 1:
            del chat[rng.choice(answered[:-1]) + 1 :]
        elif move == "delete" and len(answered) > 1:
            del chat[rng.choice(answered) - 1 :]
        elif move == "again" and answered:
            del chat[answered[-1] :]
        elif move == "fork" and answered:
            chats.append(chat[: rng.choice(answered) + 1])
            chat = chats[-1]
        if not chat or chat[-1].role != "user":
            chat.append(Message("user", f"{turn}: {'word ' * rng.randrange(1, 12)}"))
        events = list(engine.chat(chat, OPTIONS))
        fresh = open_engine(target, draft)
        assert_equal_but_for_ties(lm, engine.prompt_ids(chat), ids(events), ids(fresh.chat(chat, OPTIONS)))
        fresh.close()
        n_reused += next(event.n_reused for event in events if isinstance(event, PromptRead))
        session = engine._session
        assert session.draft is not None
        known = list(session.target.ids)
        assert list(session.draft.ids) == known[: len(session.draft.ids)]
        chat.append(Message("assistant", text(events)))
    assert n_reused > 0
