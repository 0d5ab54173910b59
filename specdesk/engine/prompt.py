"""From messages and texts to the tokens that are fed, as far as the context holds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile

from specdesk.core.events import HistoryCut
from specdesk.engine.llama import LlamaLM
from specdesk.engine.message import Message
from specdesk.engine.options import AnswerOptions, Overflow
from specdesk.engine.template import render
from specdesk.engine.window import characters_left_out, turns_left_out
from specdesk.errors import ModelError, UsageError

_SURELY_FITS = 8
"""Bytes per token up to which a prompt is tokenized without asking how long tokens can be."""
_USUAL = 4
"""Bytes per token where a rough number will do."""
_RESERVED = 8
"""Where something may be left out, the prompt leaves one part in this many of the context for the answer."""
_BLOCK = 4
"""The window over a conversation moves on by one part in this many of the context."""

Write = Callable[[Sequence[Message]], list[int]]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is fed before anything is decoded."""

    ids: list[int]
    n_written: int = 0
    """Of them, tokens at the end that are the answer's own beginning."""
    cut: HistoryCut | None = None
    """What was left out to make room; None if nothing was."""


class PromptWriter:
    """Writes the prompts of one model."""

    def __init__(self, target: LlamaLM, template: str | None = None) -> None:
        """`template` takes the place of the model's own."""
        self._target = target
        self._template = template
        self._size = lru_cache(4096)(self._n_tokens)

    def chat(self, messages: Sequence[Message], options: AnswerOptions) -> Prompt:
        """What asks for the next answer, with as much left out to make room for it as options allow.

        It may still be too long. Where the last message is the model's, it is gone on with. Raises as `chat_ids` does.
        """
        return self._cut(messages, self.chat_ids, options)

    def complete(self, text: str, options: AnswerOptions) -> Prompt:
        """The same for a text that is to be gone on with. Raises as `raw_ids` does."""
        return self._cut([Message("user", text)], lambda messages: self.raw_ids(messages[-1].content), options)

    def chat_ids(self, messages: Sequence[Message]) -> list[int]:
        """Token ids that ask for the next answer of a conversation, with exactly the BOS the model wants.

        Where the last message is the model's, they end with it. A model without a chat template gets the messages as
        they are, blank lines between them. Raises ModelError if the template fails or drops the question.
        """
        begun = messages[-1].content if messages[-1].role == "assistant" else ""
        asked = messages[:-1] if messages[-1].role == "assistant" else messages
        template = self._template or self._target.weights.chat_template
        if template is None:
            return self.raw_ids("\n\n".join(message.content for message in asked) + begun)
        vocabulary = self._target.vocabulary
        bos = vocabulary.text(vocabulary.bos).decode("utf-8", errors="replace")
        eos = vocabulary.text(vocabulary.eos).decode("utf-8", errors="replace")
        text = render(template, asked, bos=bos, eos=eos)
        *before, last = asked
        other = replace(last, content=f"{last.content}?")
        if text == render(template, [*before, other], bos=bos, eos=eos):
            raise ModelError(
                "the model's chat template leaves the question out", "--raw sends the prompt without a template"
            )
        return self.raw_ids(text + begun)

    def raw_ids(self, text: str) -> list[int]:
        """Token ids of `text`, special tokens read as such, with one BOS in front if the model wants one.

        Raises UsageError for a text that cannot fit into the context whatever its tokens are: tokenizing megabytes
        takes minutes, and nothing can stop it.
        """
        vocabulary = self._target.vocabulary
        n_bytes = len(text.encode("utf-8"))
        if n_bytes > _SURELY_FITS * self._target.n_ctx and n_bytes > vocabulary.longest * self._target.n_ctx:
            raise UsageError(
                f"the prompt has {n_bytes} bytes, more than {self._target.n_ctx} tokens can hold", "shorten it"
            )
        ids = vocabulary.tokenize(text)
        if vocabulary.adds_bos and vocabulary.bos >= 0 and ids[:1] != [vocabulary.bos]:
            ids.insert(0, vocabulary.bos)
        return ids

    def _cut(self, messages: Sequence[Message], write: Write, options: AnswerOptions) -> Prompt:
        if options.overflow is Overflow.REFUSE:
            return self._written(messages, write)
        n_ctx = self._target.n_ctx
        reserved = n_ctx // _RESERVED
        room = n_ctx - (reserved if options.max_tokens is None else min(options.max_tokens, reserved))

        def fits(sent: Sequence[Message]) -> bool:
            try:
                return len(write(sent)) <= room
            except UsageError:  # so long that it was not even tokenized
                return False

        system = list(takewhile(lambda message: message.role == "system", messages))
        turns = messages[len(system) :]
        n_out = turns_left_out(messages, fits, lambda message: self._size(message.content), n_ctx // _BLOCK)
        if n_out is None:
            n_out = max(i for i, turn in enumerate(turns) if turn.role == "user")
        kept = [*system, *turns[n_out:]]
        start = 0
        if options.overflow is Overflow.TEXT and not fits(kept):
            last = messages[-1]
            start = characters_left_out(last.content, lambda text: fits([*system, replace(last, content=text)])) or 0
            kept = [*system, replace(last, content=last.content[start:])]
        prompt = self._written(kept, write)
        if n_out == start == 0:
            return prompt
        n_tokens = sum(self._size(turn.content) for turn in turns[:n_out]) + self._size(messages[-1].content[:start])
        return replace(prompt, cut=HistoryCut(n_out, start, n_tokens, len(prompt.ids)))

    @staticmethod
    def _written(messages: Sequence[Message], write: Write) -> Prompt:
        ids = write(messages)
        if messages[-1].role != "assistant":
            return Prompt(ids)
        return Prompt(ids, max(0, len(ids) - len(write(messages[:-1]))))

    def _n_tokens(self, text: str) -> int:
        n_bytes = len(text.encode("utf-8", errors="replace"))
        if n_bytes > _SURELY_FITS * self._target.n_ctx:
            return n_bytes // _USUAL
        return len(self._target.vocabulary.tokenize(text))
