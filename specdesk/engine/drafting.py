"""What may be drafted for a target: the draft model, judged and loaded, or why there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from specdesk.core.pairing import cannot_be_cut_back, capped
from specdesk.engine.gguf import check_gguf
from specdesk.engine.llama import LlamaLM
from specdesk.engine.pairing import check_pair
from specdesk.engine.resolve import Loading
from specdesk.engine.stop import StopFlag
from specdesk.engine.tuning.tuned import UNDO
from specdesk.errors import ModelError
from specdesk.settings import EngineSettings


@dataclass(frozen=True, slots=True)
class Drafting:
    """What may be drafted."""

    draft: LlamaLM | None = None
    banned: tuple[int, ...] = ()
    most_drafted: int | None = None
    limit: str = ""
    """Why no more than `most_drafted`."""
    said: str = ""
    """What the user should know of the pair."""


def load_drafting(
    target: LlamaLM, loading: Loading | None, settings: EngineSettings, stop: StopFlag, progress: Callable[[str], None]
) -> Drafting:
    """What may be drafted for the target, with the draft model loaded; without `loading` none is asked.

    Raises ModelError for one that cannot be loaded or may not draft, where plain decoding will not do instead.
    """
    if loading is None or loading.draft is None:
        return _limited(None, target.most_cut)
    try:
        draft = _draft(loading.draft, loading, stop, progress)
        try:
            verdict = check_pair(target, draft)
        except BaseException:
            draft.close()
            raise
    except ModelError as error:
        if not settings.allow_plain:
            raise
        return Drafting(most_drafted=0, limit=error.message)
    said = f"{draft.weights.name}: {verdict.why}" if verdict.banned else ""
    return replace(_limited(draft, verdict.most_drafted), banned=verdict.banned, said=said)


def _limited(draft: LlamaLM | None, most_drafted: int | None) -> Drafting:
    if most_drafted is None:
        return Drafting(draft)
    limit = cannot_be_cut_back("target") if most_drafted == 0 else capped(most_drafted)
    return Drafting(draft, most_drafted=most_drafted, limit=limit)


def without_broken_draft(settings: EngineSettings) -> tuple[EngineSettings, str]:
    """The settings; without drafting, and why, where the draft's file is none and plain decoding will do.

    Raises ModelError for such a file where it will not.
    """
    if settings.draft is None or not settings.speculate:
        return settings, ""
    try:
        check_gguf(settings.draft)
    except ModelError as error:
        if not settings.allow_plain:
            raise
        return replace(settings, speculate=False), error.message
    return settings, ""


def _draft(path: Path, loading: Loading, stop: StopFlag, progress: Callable[[str], None]) -> LlamaLM:
    try:
        return LlamaLM(path, loading.draft_options, stop, progress=told_percent(path, progress))
    except ModelError as error:
        if loading.tuned.draft is None:
            raise
        hint = f"specdesk tune made this file; {UNDO}"
        raise ModelError(error.message, f"{error.hint}; {hint}" if error.hint else hint) from error


def told_percent(path: Path, progress: Callable[[str], None]) -> Callable[[float], None]:
    """Tells `progress` of each further percent."""
    said = -1

    def loaded(part: float) -> None:
        nonlocal said
        if (percent := int(100 * part)) > said:
            said = percent
            progress(f"loading {path.name}: {percent}%")

    return loaded
