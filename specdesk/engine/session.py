"""A pair of loaded models and the answers they give. Consecutive answers reuse what the caches still hold."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

from specdesk.core.acceptance import Acceptance, Record
from specdesk.core.adaptive import AdaptiveLookahead
from specdesk.core.constraint import Constraint, DeadEnd
from specdesk.core.costs import Costs, PairCosts
from specdesk.core.decode import Task, decode
from specdesk.core.drafters.forced import ForcedDrafter
from specdesk.core.drafters.model import ModelDrafter
from specdesk.core.drafters.protocol import Drafter
from specdesk.core.drafters.suffix import SuffixDrafter
from specdesk.core.events import Event
from specdesk.core.lookahead import FixedLookahead, Lookahead
from specdesk.core.names import DrafterName
from specdesk.core.rules import rule_of
from specdesk.engine.grammar.native import Grammar
from specdesk.engine.llama import LlamaLM
from specdesk.engine.message import Message
from specdesk.engine.options import AnswerOptions
from specdesk.engine.stop import StopFlag
from specdesk.engine.template import render
from specdesk.errors import GenerationError, ModelError, UsageError

_SURELY_FITS = 8
"""Bytes per token up to which a prompt is tokenized without asking how long tokens can be."""


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
    ) -> None:
        """`widest` is the most tokens a target pass may have; None: no limit.

        `measured` is what passes cost; without it `UNMEASURED` tokens are drafted where as many as pay are wanted.
        `acceptance` is what earlier answers taught, and goes on learning. Whether the two may speculate together was
        found out before (`check_pair`).
        """
        self.target = target
        self.draft = draft
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
        """Token ids that ask for the next answer of a conversation, with exactly the BOS the model wants.

        A model without a chat template gets the messages as they are, blank lines between them.
        Raises ModelError if the template fails or drops the question.
        """
        template = self.target.weights.chat_template
        if template is None:
            return self.raw_ids("\n\n".join(message.content for message in messages))
        vocabulary = self.target.vocabulary
        bos = vocabulary.text(vocabulary.bos).decode("utf-8", errors="replace")
        eos = vocabulary.text(vocabulary.eos).decode("utf-8", errors="replace")
        text = render(template, messages, bos=bos, eos=eos)
        *before, last = messages
        other = replace(last, content=f"{last.content}?")
        if text == render(template, [*before, other], bos=bos, eos=eos):
            raise ModelError(
                "the model's chat template leaves the question out", "--raw sends the prompt without a template"
            )
        return self.raw_ids(text)

    def raw_ids(self, text: str) -> list[int]:
        """Token ids of `text`, special tokens read as such, with one BOS in front if the model wants one.

        Raises UsageError for a text that cannot fit into the context whatever its tokens are: tokenizing megabytes
        takes minutes, and nothing can stop it.
        """
        if self._closed:
            raise ValueError("the models are closed")
        vocabulary = self.target.vocabulary
        n_bytes = len(text.encode("utf-8"))
        if n_bytes > _SURELY_FITS * self.target.n_ctx and n_bytes > vocabulary.longest * self.target.n_ctx:
            raise UsageError(
                f"the prompt has {n_bytes} bytes, more than {self.target.n_ctx} tokens can hold", "shorten it"
            )
        ids = vocabulary.tokenize(text)
        if vocabulary.adds_bos and vocabulary.bos >= 0 and ids[:1] != [vocabulary.bos]:
            ids.insert(0, vocabulary.bos)
        return ids

    def answer(self, prompt: Sequence[int], options: AnswerOptions) -> Iterator[Event]:
        """Decode one answer to `prompt`. While the stop flag is set, it ends with reason `cancelled`.

        Raises UsageError if the prompt is empty or leaves no room in the context, and for an unusable grammar.
        """
        if not prompt:
            raise UsageError("the prompt is empty")
        if not 0 <= options.n_written <= len(prompt) or options.answer < 0:
            raise ValueError(f"{options.n_written} tokens written of {len(prompt)}, answer {options.answer}")
        if len(prompt) > self.target.n_ctx:
            raise UsageError(
                f"the prompt has {len(prompt)} tokens, the context holds {self.target.n_ctx}",
                f"shorten it, or raise --ctx (the model was trained for {self.target.weights.n_ctx_train})",
            )
        return _explained(self._decode(prompt, options), self.target.path.name)

    def _decode(self, prompt: Sequence[int], options: AnswerOptions) -> Iterator[Event]:
        constraint = None if options.grammar is None else self._grammar_of(options.grammar)
        task = Task(
            prompt,
            options.sampling,
            options.max_tokens,
            options.stop_strings,
            n_written=options.n_written,
            constraint=constraint,
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
        self._model = None if self.draft is None else ModelDrafter(self.draft)

    def close(self) -> None:
        """Free both models."""
        self._closed = True
        self._close_grammar()
        self._models.close()


def _explained(events: Iterator[Event], model: str) -> Iterator[Event]:
    """The events; logits that are no numbers are the model's fault, not a bug of ours."""
    try:
        yield from events
    except FloatingPointError as error:
        raise GenerationError(f"{model}: {error}", "the file may be damaged, or too coarsely quantized") from error
    except DeadEnd as error:
        raise GenerationError(
            "the grammar allows none of the model's tokens here", "check it, and --logit-bias"
        ) from error
