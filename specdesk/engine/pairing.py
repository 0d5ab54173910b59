"""May these two models speculate together?"""

from __future__ import annotations

from specdesk.engine.llama import LlamaLM
from specdesk.errors import ModelError


def check_pair(target: LlamaLM, draft: LlamaLM) -> None:
    """Compare the two vocabularies token by token, padding left out.

    Raises ModelError naming the first difference: a draft whose token 17 is another text than the target's proposes
    nonsense at best, and a vocabulary's size says nothing about its texts.
    """
    ours, theirs = target.vocabulary, draft.vocabulary
    hint = "take a draft of the target's own family, or decode plainly without --draft"
    if ours.kind != theirs.kind:
        raise ModelError(
            f"{draft.path.name} cannot draft for {target.path.name}: tokenizers of different kinds "
            f"({theirs.kind} and {ours.kind} in llama.cpp's numbering)",
            hint,
        )
    for token in range(min(ours.n_used, theirs.n_used)):
        if ours.text(token) != theirs.text(token):
            raise ModelError(
                f"{draft.path.name} cannot draft for {target.path.name}: token {token} is "
                f"{_shown(theirs.text(token))} in the draft and {_shown(ours.text(token))} in the target",
                hint,
            )
    if ours.n_used != theirs.n_used:
        longer = ours if ours.n_used > theirs.n_used else theirs
        token = min(ours.n_used, theirs.n_used)
        raise ModelError(
            f"{draft.path.name} cannot draft for {target.path.name}: token {token}, {_shown(longer.text(token))}, "
            "is in only one of the two vocabularies",
            hint,
        )


def _shown(text: bytes) -> str:
    return repr(text.decode("utf-8", errors="replace"))
