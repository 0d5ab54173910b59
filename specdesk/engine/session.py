"""A pair of loaded models and the answers they give. Consecutive answers reuse what the caches still hold."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain

from specdesk.core.acceptance import Acceptance, Record
from specdesk.core.adaptive import AdaptiveLookahead
from specdesk.core.constraint import Constraint, DeadEnd
from specdesk.core.costs import Costs, PairCosts
from specdesk.core.decode import Task, decode
from specdesk.core.drafters.forced import ForcedDrafter
from specdesk.core.drafters.model import ModelDrafter
from specdesk.core.drafters.protocol import Drafter
from specdesk.core.drafters.suffix import SuffixDrafter
from specdesk.core.events import Event, PromptTokens
from specdesk.core.lm import LanguageModel
from specdesk.core.lookahead import FixedLookahead, Lookahead
from specdesk.core.names import DrafterName
from specdesk.core.restricted import without
from specdesk.core.rules import rule_of
from specdesk.engine.at_fault import named_at_fault
from specdesk.engine.grammar.native import Grammar
from specdesk.engine.llama import LlamaLM
from specdesk.engine.message import Message
from specdesk.engine.options import AnswerOptions
from specdesk.engine.prompt import Prompt, PromptWriter
from specdesk.engine.stop import StopFlag
from specdesk.errors import GenerationError, UsageError


class Session:
    """Owns target and draft. One answer at a time."""

    def __init__(
        self,
        target: LlamaLM,
        draft: LlamaLM | None,
        stop: StopFlag,
        widest: int | None = None,
        measured: PairCosts | None = None,
        acceptance: Acceptance | None = None,
        template: str | None = None,
        banned: Sequence[int] = (),
    ) -> None:
        """`widest` is the most tokens a target pass may have; None: no limit.

        `measured` is what passes cost; without it `UNMEASURED` tokens are drafted where as many as pay are wanted.
        `acceptance` is what earlier answers taught, and goes on learning. Whether the two may speculate together was
        found out before (`check_pair`), and which tokens are `banned` from the draft model's proposals.
        """
        self.target = target
        self.draft = draft
        self._proposer = None if draft is None else without(draft, banned, target.n_vocab)
        self._prompts = PromptWriter(target, template)
        self._stop = stop
        self._widest = widest
        self._measured = measured
        self._costs: Costs | None = None
        self._acceptance = acceptance or Acceptance()
        self._deciding = self._acceptance
        """What the last answer was drafted by: with a seed, nothing that earlier ones taught."""
        self._begin_drafting(self._acceptance)
        self._grammar: tuple[str, Grammar] | None = None
        self._closed = False
        self._models = ExitStack()
        self._models.enter_context(target)
        if draft is not None:
            self._models.enter_context(draft)

    def chat_ids(self, messages: Sequence[Message]) -> list[int]:
        """As `PromptWriter.chat_ids`."""
        return self._open_prompts.chat_ids(messages)

    def raw_ids(self, text: str) -> list[int]:
        """As `PromptWriter.raw_ids`."""
        return self._open_prompts.raw_ids(text)

    def chat(self, messages: Sequence[Message], options: AnswerOptions) -> Iterator[Event]:
        """Decode the next answer of a conversation, or the rest of one that its last message begins.

        Raises as `answer` and `PromptWriter.chat` do.
        """
        return self._prompted(self._open_prompts.chat(messages, options), options)

    def complete(self, text: str, options: AnswerOptions) -> Iterator[Event]:
        """Decode what follows a text. Raises as `answer` and `PromptWriter.complete` do."""
        return self._prompted(self._open_prompts.complete(text, options), options)

    def _prompted(self, prompt: Prompt, options: AnswerOptions) -> Iterator[Event]:
        events = self.answer(prompt.ids, replace(options, n_written=prompt.n_written or options.n_written))
        first: list[Event] = [] if prompt.cut is None else [prompt.cut]
        if options.tells_prompt:
            vocabulary = self.target.vocabulary
            texts = (vocabulary.piece(token) or vocabulary.text(token) for token in prompt.ids)
            first.append(
                PromptTokens(tuple(prompt.ids), tuple(text.decode(errors="backslashreplace") for text in texts))
            )
        return chain(first, events)

    def answer(self, prompt: Sequence[int], options: AnswerOptions) -> Iterator[Event]:
        """Decode one answer to `prompt`. While the stop flag is set, it ends with reason `cancelled`.

        Raises UsageError if the prompt is empty or leaves no room in the context, and for an unusable grammar.
        """
        if not prompt:
            raise UsageError("the prompt is empty")
        if not 0 <= options.n_written <= len(prompt) or options.answer < 0:
            raise ValueError(f"{options.n_written} tokens written of {len(prompt)}, answer {options.answer}")
        if len(prompt) > self.target.n_ctx:
            n_trained = self.target.weights.n_ctx_train
            trained = f" (the model was trained for {n_trained})" if n_trained else ""
            raise UsageError(
                f"the prompt has {len(prompt)} tokens, the context holds {self.target.n_ctx}",
                f"shorten it or raise --ctx{trained}; specdesk run --truncate leaves its beginning out",
            )
        return _explained(self._decode(prompt, options), self.target, self.draft)

    def _decode(self, prompt: Sequence[int], options: AnswerOptions) -> Iterator[Event]:
        constraint = None if options.grammar is None else self._grammar_of(options.grammar)
        task = Task(
            prompt,
            options.sampling,
            options.max_tokens,
            options.stop_strings,
            n_written=options.n_written,
            constraint=constraint,
            n_alternatives=options.n_alternatives,
            placed=options.placed,
        )
        return decode(
            task,
            target=self.target,
            vocabulary=self.target.vocabulary,
            drafters=self._drafters(options, constraint),
            lookahead=self._lookahead(options),
            rule=rule_of(options.verify, options.seed, options.answer),
            clock=time.perf_counter,
            costs=self._costs,
            cancelled=self._stop.is_set,
        )

    def _drafters(self, options: AnswerOptions, constraint: Constraint | None) -> list[Drafter]:
        """The preferred one first, and none that would never be asked: looking for what to propose takes time."""
        if self._most_drafted(options) == 0:
            return []
        model: Drafter | None = None if options.drafter is DrafterName.SUFFIX else self._model
        takes_first = options.lookahead is not None and model is not None
        suffix = None if options.drafter is DrafterName.MODEL or takes_first else self._suffix
        if constraint is not None:
            model = ForcedDrafter(constraint, model)
        return [drafter for drafter in (model, suffix) if drafter is not None]

    def _most_drafted(self, options: AnswerOptions) -> int:
        has_draft, measured = self.draft is not None, self._costs is not None
        return options.most_drafted(has_draft=has_draft, measured=measured, widest=self._widest)

    def _lookahead(self, options: AnswerOptions) -> Lookahead:
        most = self._most_drafted(options)
        if options.lookahead is not None or most == 0 or self._measured is None or self._costs is None:
            return FixedLookahead(most)
        costs = Costs(self._measured) if options.repeatable else self._costs
        self._deciding = Acceptance() if options.repeatable else self._acceptance
        return AdaptiveLookahead(most, costs, self._deciding)

    def _grammar_of(self, gbnf: str) -> Grammar:
        """The grammar, kept until another one is asked for."""
        if self._grammar is None or self._grammar[0] != gbnf:
            grammar = Grammar(self.target.vocabulary, gbnf)
            self._close_grammar()
            self._grammar = (gbnf, grammar)
        return self._grammar[1]

    def _close_grammar(self) -> None:
        if self._grammar is not None:
            self._grammar[1].close()
            self._grammar = None

    @property
    def proposer(self) -> LanguageModel | None:
        """The draft model as it proposes: without the tokens that are banned."""
        return self._proposer

    @property
    def draft_record(self) -> Record | None:
        """How the draft model did, as far as it had a say in the last answer; None without a draft model."""
        return None if self._model is None else self._deciding.record(self._model.source)

    def forget(self) -> None:
        """Draft from here on as for the first answer ever: what was learned is forgotten, the draft's cache empty.

        The target's cache stays, so that a prompt that is asked again is not read again.
        """
        if self.draft is not None:
            self.draft.truncate(0)
        self._begin_drafting(Acceptance())

    def _begin_drafting(self, acceptance: Acceptance) -> None:
        self._acceptance = self._deciding = acceptance
        self._costs = None if self._measured is None else Costs(self._measured)
        self._suffix = SuffixDrafter()
        self._model = None if self._proposer is None else ModelDrafter(self._proposer)

    @property
    def _open_prompts(self) -> PromptWriter:
        if self._closed:
            raise ValueError("the models are closed")
        return self._prompts

    def close(self) -> None:
        """Free both models."""
        self._closed = True
        self._close_grammar()
        self._models.close()


def _explained(events: Iterator[Event], target: LlamaLM, draft: LlamaLM | None) -> Iterator[Event]:
    """The events; what is no bug of ours is said to the reader."""
    try:
        with named_at_fault(target.path, None if draft is None else draft.path):
            yield from events
    except DeadEnd as error:
        raise GenerationError(
            "the grammar allows none of the model's tokens here", "check it, and --logit-bias"
        ) from error
