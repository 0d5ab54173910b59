"""A pair in this process: loads it as the settings say, answers, and keeps what was learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Self

from specdesk.core.acceptance import Record
from specdesk.core.agreement import agreement
from specdesk.core.closeness import Closeness, closeness
from specdesk.core.costs import PairCosts
from specdesk.core.events import Event
from specdesk.core.law import Law
from specdesk.core.sampling import Sampling
from specdesk.engine.at_fault import named_at_fault
from specdesk.engine.calibrate import find_pair_costs
from specdesk.engine.drafting import Drafting, load_drafting, told_percent, without_broken_draft
from specdesk.engine.experience import Experience
from specdesk.engine.gguf import check_gguf
from specdesk.engine.info import EngineInfo, ModelInfo
from specdesk.engine.invariance import find_invariance
from specdesk.engine.llama import LlamaLM
from specdesk.engine.machine import machine, model_identity, native_facts
from specdesk.engine.memory_check import check_memory
from specdesk.engine.message import Message
from specdesk.engine.native.choice import choose
from specdesk.engine.native.protocol import NativeWeights
from specdesk.engine.options import UNMEASURED, AnswerOptions
from specdesk.engine.profiles import Profiles
from specdesk.engine.resolve import as_tuned
from specdesk.engine.session import Session
from specdesk.engine.stop import StopFlag
from specdesk.engine.tuning.tuned import UNDO
from specdesk.errors import ModelError, UsageError
from specdesk.memory import CacheTypes
from specdesk.paths import profiles_dir
from specdesk.settings import EngineSettings


class LoadedPair:
    """A loaded pair. Used from one thread; the stop flag may be set from any."""

    def __init__(
        self,
        settings: EngineSettings,
        notify: Callable[[str], None],
        stop: StopFlag,
        progress: Callable[[str], None] = lambda _now: None,
    ) -> None:
        """Load the models. `notify` gets a line for each setting that could not be honoured as given.

        `stop` ends whatever is under way while it is set: loading, an answer, also in the middle of a pass. `progress`
        hears what is done now.
        Raises: UsageError for what this build of llama.cpp cannot honour; ModelError for a file that cannot be loaded
        or two that do not fit each other; Interrupted if stopped.
        """
        exact = None
        profiles = Profiles(profiles_dir(), notify)
        check_gguf(settings.target)  # said before the probe takes its time
        settings, limit = without_broken_draft(settings)
        engine = settings.engine or choose(settings, notify, stop)
        settings = replace(settings, engine=engine)
        loading = as_tuned(settings, profiles, notify)
        options = loading.target_options
        to_load = [(settings.target, options)]
        if loading.draft is not None and settings.speculate and settings.asks_draft:
            to_load.append((loading.draft, loading.draft_options))
        check_memory(to_load, notify)
        if settings.exact:
            keeps_types = (settings.cache_type_k or settings.cache_type_v) is not None
            exact = find_invariance(settings.target, options, profiles, notify, stop, keeps_types=keeps_types)
            options = options.cached(exact.settings)
        measured = None
        self._experience = None
        with ExitStack() as models:
            loaded = told_percent(settings.target, progress)
            target = models.enter_context(LlamaLM(settings.target, options, stop, progress=loaded))
            # Where no pass over several tokens is exact, nothing is drafted, and a draft would only take memory.
            speculates = settings.speculate and (exact is None or exact.width > 1)
            drafting = Drafting(most_drafted=0, limit=limit) if limit else Drafting()
            if speculates:
                drafting = load_drafting(target, loading if settings.asks_draft else None, settings, stop, progress)
            draft = drafting.draft
            if draft is not None:
                models.enter_context(draft)
            if drafting.said:
                notify(drafting.said)
            if speculates and drafting.most_drafted != 0 and settings.measure:
                progress("measuring what passes cost here")
                measured = _costs(target, draft, profiles, notify)
                self._experience = Experience(settings.target, None if draft is None else draft.path, profiles)
            models.pop_all()
        widths = [] if exact is None else [exact.width]
        if drafting.most_drafted is not None:
            widths.append(drafting.most_drafted + 1)
        self._session = Session(
            target,
            draft,
            stop,
            min(widths, default=None),
            measured,
            self._experience.acceptance if self._experience is not None else None,
            settings.chat_template,
            drafting.banned,
        )
        for notice in _notices(settings, target.weights, draft.weights if draft else None):
            notify(notice)
        # Where exact mode found no wider pass, the draft is not loaded, whatever its format.
        tuned = (loading.tuned if draft is not None else replace(loading.tuned, draft=None)) or None
        if tuned is not None:
            notify(f"tuned: {tuned.words}; {UNDO}")
        if exact is not None and (changes := exact.settings.changes):
            notify(f"exact mode: {changes}, which its plain decoding does too")
        self.info = EngineInfo(
            _info(target),
            _info(draft) if draft else None,
            settings.n_ctx,
            options.n_threads,
            exact,
            measured,
            tuned,
            drafting.most_drafted,
            drafting.limit,
            cache=CacheTypes(target.options.cache_type_k, target.options.cache_type_v),
            placing=settings.placing,
            native=engine,
        )

    def chat(self, messages: Sequence[Message], options: AnswerOptions) -> Iterator[Event]:
        """Decode the next answer of a conversation, or the rest of one that its last message begins.

        Raises: UsageError for an empty prompt or one that the context cannot hold; ModelError if the template fails;
        GenerationError if llama.cpp fails.
        """
        if not messages[-1].content.strip():
            raise UsageError("the prompt is empty")
        return self._session.chat(messages, options)

    def complete(self, text: str, options: AnswerOptions) -> Iterator[Event]:
        """Decode what follows `text`, without a chat template. Raises as `chat` does."""
        if not text:
            raise UsageError("the prompt is empty")
        return self._session.complete(text, options)

    def prompt_ids(self, messages: Sequence[Message]) -> list[int]:
        """The tokens that ask for the next answer of a conversation. Raises ModelError if the template fails."""
        return self._session.chat_ids(messages)

    def closeness(
        self, messages: Sequence[Message], answer: Sequence[int], at: int, tokens: tuple[int, int], width: int
    ) -> Closeness:
        """How near `tokens` are as number `at` of an answer, given as ids, and how far passes of `width` move them.

        Raises: ModelError if the template fails; Interrupted if stopped.
        """
        return closeness(self._session.target, self._session.chat_ids(messages), answer, at, tokens, width)

    def agreement(self, messages: Sequence[Message], answer: Sequence[int], sampling: Sampling) -> list[float] | None:
        """How likely each token of an answer, given as ids, would be accepted from the draft model, sampled like that.

        None without a draft model, and for a text that its cache cannot hold.
        Raises: ModelError if the template fails; GenerationError for unusable logits; Interrupted if stopped.
        """
        session = self._session
        prompt = session.chat_ids(messages)
        if session.proposer is None or len(prompt) + len(answer) > session.proposer.n_ctx:
            return None
        law = Law(sampling, answer_start=len(prompt))
        with named_at_fault(session.target.path, None if session.draft is None else session.draft.path):
            return agreement(session.target, session.proposer, prompt, answer, law)

    @property
    def draft_record(self) -> Record | None:
        """How the draft model did, as far as it had a say in the last answer: with a seed earlier answers have none.

        None without a draft model.
        """
        return self._session.draft_record

    def forget(self) -> None:
        """Draft from here on as for the first answer ever of this pair; the target keeps its cache."""
        self._session.forget()

    def machine(self) -> dict[str, object]:
        """The processor, the devices, the build of llama.cpp and what else computes, as JSON data."""
        return {**machine(), **native_facts(self.info.native)}

    def close(self) -> None:
        """Free the models, and keep what was learned of them. May be called twice."""
        self._session.close()
        if self._experience is not None:
            self._experience.keep()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


def _costs(
    target: LlamaLM, draft: LlamaLM | None, profiles: Profiles, notify: Callable[[str], None]
) -> PairCosts | None:
    """What passes cost; None, said aloud, where there is no room for the second cache it is measured on."""
    try:
        return find_pair_costs(target, draft, profiles, notify)
    except ModelError as error:
        notify(f"what passes cost cannot be measured ({error.message}): {UNMEASURED} tokens are drafted per pass")
        return None


def _notices(settings: EngineSettings, target: NativeWeights, draft: NativeWeights | None) -> Iterator[str]:
    """What the user should know of these models."""
    for weights in (target, draft):
        if weights is not None and weights.lock_problem:
            yield f"--load-mode lock: {weights.path.name} may be swapped out: {weights.lock_problem} (raise ulimit -l)"
    n_ctx = settings.n_ctx
    if 0 < target.n_ctx_train < n_ctx:
        yield f"--ctx {n_ctx} is more than {target.name} was trained for ({target.n_ctx_train}): answers may degrade"
    if draft is not None and 0 < draft.n_ctx_train < min(n_ctx, target.n_ctx_train or n_ctx):
        yield (
            f"{draft.name} was trained for {draft.n_ctx_train} tokens: where the text is longer it drafts from "
            f"the last {max(1, draft.n_ctx_train // 2)} to {draft.n_ctx_train} of it"
        )
    if target.chat_template is None and settings.chat_template is None:
        yield f"{target.name} has no chat template: prompts are sent as they are"


def _info(lm: LlamaLM) -> ModelInfo:
    identity = model_identity(lm.path)
    return ModelInfo(lm.weights.name, lm.path.name, lm.options.n_gpu_layers, identity["bytes"], identity["head_sha256"])
