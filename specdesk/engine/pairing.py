"""May these two models speculate together?"""

from __future__ import annotations

from specdesk.core.vocabularies import first_difference
from specdesk.engine.llama import LlamaLM
from specdesk.errors import ModelError


def check_pair(target: LlamaLM, draft: LlamaLM) -> None:
    """Compare the two vocabularies token by token, padding left out.

    Raises ModelError naming the first difference: a draft whose token 17 is another text than the target's proposes
    nonsense at best, and a vocabulary's size says nothing about its texts.
    """
    ours, theirs = target.vocabulary, draft.vocabulary
    if ours.kind != theirs.kind:
        difference: str | None = (
            f"tokenizers of different kinds ({theirs.kind} and {ours.kind} in llama.cpp's numbering)"
        )
    else:
        difference = first_difference(ours, theirs)
    if difference is not None:
        raise ModelError(
            f"{draft.path.name} cannot draft for {target.path.name}: {difference}",
            "take a draft of the target's own family, or decode plainly without --draft",
        )
