"""The hub reads headers, the engine loads models: both must say the same of a pair's vocabularies."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gguf import TokenType

from specdesk.engine.llama import LlamaLM
from specdesk.engine.pairing import check_pair
from specdesk.errors import ModelError
from specdesk.hub.here.local_models import Library, verdict
from tests.engine.conftest import OpenLM, WriteModel
from tests.tiny.gguf_models import BYTES, CHAT, DRAFT, RWKV, TARGET, TinyVocabulary


def found(target: LlamaLM, draft: LlamaLM) -> str:
    """What the engine says, without the models' names."""
    try:
        return check_pair(target, draft).sentence
    except ModelError as error:
        return f"refused: {error.message.split(': ', 1)[1]}"


@pytest.mark.parametrize(
    ("target", "draft"),
    [
        (BYTES, BYTES),
        (BYTES.padded(8), BYTES),
        (BYTES, BYTES.padded(8)),
        (BYTES, BYTES.swapped(100, 101)),
        (BYTES, BYTES.with_tokens(["té"], TokenType.NORMAL)),
        (BYTES.padded(2).with_tokens(["tea"], TokenType.NORMAL), BYTES.padded(3)),
        (CHAT, BYTES.with_tokens(["<a>", "<b>"], TokenType.CONTROL)),
        (CHAT, BYTES.padded(2)),
        (CHAT, BYTES),
        (BYTES.with_tokens(["<a>"], TokenType.USER_DEFINED), CHAT),
        (BYTES, RWKV),
    ],
    ids=[
        "equal",
        "target padded",
        "draft padded",
        "swapped",
        "one more",
        "padding inside",
        "other control tokens",
        "control tokens in padding",
        "no row",
        "one more special",
        "another kind",
    ],
)
def test_both_say_the_same(
    write_model: WriteModel, open_lm: OpenLM, target: TinyVocabulary, draft: TinyVocabulary
) -> None:
    paths = (
        write_model(replace(TARGET, vocabulary=target)),
        write_model(replace(DRAFT, vocabulary=draft)),
    )
    one, other = Library(paths[0].parent / "none", paths).models()
    assert one.header is not None
    assert other.header is not None
    judged = verdict(one, other)
    assert found(open_lm(paths[0]), open_lm(paths[1])) == judged.sentence
    if one.header.vocabulary == other.header.vocabulary:
        assert judged.usable
        assert judged.banned == ()
