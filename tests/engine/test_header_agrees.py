"""The hub reads headers, the engine loads models: both must say the same of a pair's vocabularies."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gguf import TokenType

from specdesk.engine.llama import LlamaLM
from specdesk.engine.pairing import check_pair
from specdesk.errors import ModelError
from specdesk.hub.local_models import Library, difference
from tests.engine.conftest import OpenLM, WriteModel
from tests.tiny.gguf_models import BYTES, DRAFT, TARGET, TinyVocabulary


def refusal(target: LlamaLM, draft: LlamaLM) -> str | None:
    try:
        check_pair(target, draft)
    except ModelError as error:
        return error.message
    return None


@pytest.mark.parametrize(
    ("target", "draft"),
    [
        (BYTES, BYTES),
        (BYTES.padded(8), BYTES),
        (BYTES, BYTES.padded(8)),
        (BYTES, BYTES.swapped(100, 101)),
        (BYTES, BYTES.with_tokens(["té"], TokenType.NORMAL)),
        (BYTES.padded(2).with_tokens(["tea"], TokenType.NORMAL), BYTES.padded(3)),
    ],
    ids=["equal", "target padded", "draft padded", "swapped", "one more", "padding inside"],
)
def test_both_accept_or_name_the_same_token(
    write_model: WriteModel, open_lm: OpenLM, target: TinyVocabulary, draft: TinyVocabulary
) -> None:
    paths = (
        write_model(replace(TARGET, vocabulary=target)),
        write_model(replace(DRAFT, vocabulary=draft)),
    )
    one, other = Library(paths[0].parent / "none", paths).models()
    assert one.header is not None
    assert other.header is not None
    refused = refusal(open_lm(paths[0]), open_lm(paths[1]))
    assert (refused is None) == (one.header.vocabulary == other.header.vocabulary)
    if refused is not None:
        assert refused.endswith(difference(one, other))
