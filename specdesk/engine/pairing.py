"""May these two loaded models speculate together?"""

from __future__ import annotations

from specdesk.core.pairing import Model, Verdict, judge
from specdesk.engine.llama import LlamaLM
from specdesk.errors import ModelError


def check_pair(target: LlamaLM, draft: LlamaLM) -> Verdict:
    """The verdict on a pair that may; its banned tokens are to be kept out of drafts.

    Raises ModelError, naming what stands against it, for one that may not.
    """
    verdict = judge(_described(target), _described(draft))
    if not verdict.usable:
        raise ModelError(
            f"{draft.path.name} cannot draft for {target.path.name}: {verdict.why}",
            "take a draft of the target's own family, or decode plainly with -k 0",
        )
    return verdict


def _described(lm: LlamaLM) -> Model:
    return Model(lm.vocabulary, chat_template=lm.weights.chat_template, most_cut=lm.most_cut)
