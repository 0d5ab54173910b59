"""One answer of the model: as tokens with who wrote them while it grows, as Markdown for reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from textual.app import ComposeResult
from textual.widgets import Static

from specdesk.core.events import AnswerToken, Event, Finished, HistoryCut, PromptRead, Step
from specdesk.errors import SpecdeskError
from specdesk.store.values import ChatMessage, State
from specdesk.tokenview import Kind, Span, delta_spans, spans, visible
from specdesk.tui.figures import UNKNOWN, Figures
from specdesk.tui.markdown.code_blocks import code_blocks
from specdesk.tui.view import View
from specdesk.tui.widgets.answer_text import AnswerText
from specdesk.tui.widgets.token_view import TokenView
from specdesk.tui.widgets.turn import Act, Turn
from specdesk.tui.widgets.turns import Failure, Notice
from specdesk.wording import ENDINGS, history_cut

_MOST: Final = 1e30
"""Above any figure of ours."""


class AnswerTurn(Turn):
    """An answer, new or kept. It grows with the events, and ends in a line of figures."""

    def __init__(
        self,
        author: str,
        *,
        show_rejected: bool,
        view: View,
        seed: int | None = None,
        n_ctx: int = 0,
    ) -> None:
        """`seed` and `n_ctx` are those of an answer that is to come."""
        super().__init__(author)
        self._seed = seed
        self._n_ctx = n_ctx
        self.figures = Figures()
        self.tokens = TokenView(show_rejected=show_rejected)
        self._markdown = AnswerText()
        self._status = Static("reading the prompt …", markup=False, classes="status")
        self._text: list[str] = []
        self._unread = ""
        """What of the text is not in the Markdown yet: it is made when it is looked at."""
        self._code_within = 0, False
        """Whether the text had a block of code when it was so many characters long."""
        self._written: list[AnswerToken] = []
        self._ended = False
        self._view = view
        self._trace: Callable[[], Iterable[Step]] | None = None

    def compose(self) -> ComposeResult:
        """Name, text, and how it stands."""
        yield self._heading
        yield self.tokens
        yield self._markdown
        yield self._status

    def on_mount(self) -> None:
        """Show it as it is to be shown."""
        super().on_mount()
        self._show_view()

    @property
    def text(self) -> str:
        """As far as it is final."""
        return "".join(self._text)

    @property
    def shows_tokens(self) -> bool:
        """Whether it is shown as tokens now."""
        return self._view.shows_tokens(ended=self._ended)

    def can(self, act: Act) -> bool:
        """An answer that is being written cannot be answered again; only one that was cut short can be gone on with."""
        if act is Act.AGAIN:
            return self._ended
        if act is Act.DELETE:
            return self._ended and super().can(act)
        if act is Act.COPY_CODE:
            return self._has_code()
        if act is Act.GO_ON:
            cut = self.message is not None and self.message.state is not State.COMPLETE
            return self._ended and bool(self.text) and (cut or self._at_limit)
        return super().can(act)

    @property
    def has_tokens(self) -> bool:
        """One that is kept may have a trace, which is not read for this."""
        return self._trace is not None or bool(self.tokens.spans)

    def action_choose(self, step: int) -> None:
        """Choose another token; they have to be seen for that."""
        if not self.shows_tokens:
            self.show_as(View.TOKENS)
        self.tokens.choose_next(step)

    def on_blur(self) -> None:
        """Point at no token any more."""
        # Textual lets no message pass by whose handler caused it, which would be this turn.
        self.tokens.call_later(self.tokens.choose_none)

    # --- a new answer

    def resume(self, earlier: Iterable[Step]) -> None:
        """More of it is to come; its figures are of the `earlier` steps too."""
        self._retrace()
        self._written.clear()
        self._ended = False
        self.figures = Figures()
        for step in earlier:
            self.figures.add(step)
        self._status.update("reading the prompt …")
        whole, self._markdown = self._markdown, AnswerText()
        self.mount(self._markdown, after=whole)
        whole.remove()
        self._unread = self.text
        self._show_view()

    def add(self, events: Iterable[Event]) -> None:
        """Show what the events add."""
        grown: list[Span] = []
        finished: Finished | None = None
        for event in events:
            self.figures.add(event)
            match event:
                case HistoryCut():
                    self.mount(Notice(history_cut(event, self._n_ctx)), before=self.tokens)
                case PromptRead():
                    self._status.update(_reading(event))
                case Step():
                    self._written.extend(event.tokens)
                    grown.extend(spans(event, show_rejected=True, written=self._written))
                    self._grow("".join(delta.text for delta in event.deltas))
                    if event.index == 0:
                        self._status.update("")
                case Finished():
                    grown.extend(delta_spans(event.deltas, self._written))
                    self._grow("".join(delta.text for delta in event.deltas))
                    finished = event
        if grown:
            self.tokens.extend(grown)
        if finished is not None:
            self._end(self._ending(finished))
        if not self.shows_tokens:
            self._read()

    def fail(self, error: SpecdeskError) -> None:
        """End it with an error."""
        self._end("")
        self.mount(Failure(error))

    def disown(self) -> None:
        """Say that nothing of this turn is in the conversation."""
        self.mount(Static("this question is not part of the conversation", markup=False, classes="status"))

    # --- one from the store

    def restore(self, message: ChatMessage, trace: Callable[[], Iterable[Step]]) -> None:
        """Show a kept answer; `trace` is asked for its steps when they are to be looked at."""
        self._grow(message.text)
        self._trace = trace
        self._end(_kept_ending(message))
        self.know(message)
        if message.error:
            self._status.update(visible(f"error: {message.error}"))
        if self.is_mounted:
            self._show_view()

    # --- how it is shown

    def show_as(self, view: View) -> None:
        """As tokens, or as Markdown."""
        self._view = view
        self._show_view()

    def _show_view(self) -> None:
        if self.shows_tokens:
            self._retrace()
        else:
            self._read()
        self.tokens.display = self.shows_tokens
        self._markdown.display = not self.shows_tokens

    def _grow(self, text: str) -> None:
        if text:
            self._text.append(text)
            self._unread += text

    def _read(self) -> None:
        text, self._unread = self._unread, ""
        if text:
            self._markdown.append(text)
        if self._ended:
            self._markdown.finish()

    def _end(self, status: str) -> None:
        self._ended = True
        self.tokens.finish()
        self._status.update(visible(status))
        if self.is_mounted:
            self._show_view()
        self.refresh_bindings()

    def _retrace(self) -> None:
        """Paint the tokens of a kept answer, once."""
        trace, self._trace = self._trace, None
        if trace is None:
            return
        shown: list[Span] = []
        n_final = 0
        for step in trace():
            if step.index == 0:
                self._written.clear()
            self._written.extend(step.tokens)
            shown.extend(spans(step, show_rejected=True, written=self._written))
            n_final += sum(len(delta.text) for delta in step.deltas)
        rest = self.text[n_final:]
        self.tokens.extend([*shown, *([Span(visible(rest), Kind.PLAIN)] if rest else [])])
        self.tokens.finish()

    def _has_code(self) -> bool:
        """Whether a block of code is in it; looked for once in each text."""
        n_chars, found = self._code_within
        if n_chars != len(text := self.text):
            found = bool(code_blocks(text))
            self._code_within = len(text), found
        return found

    @property
    def _at_limit(self) -> bool:
        stats = None if self.message is None else self.message.stats
        return stats is not None and stats.get("stop_reason") in ("length", "context")

    def _ending(self, event: Finished) -> str:
        figures = self.figures
        parts = [
            ENDINGS[event.reason],
            f"{figures.tally.generated_tokens} tokens",
            "" if figures.speedup == UNKNOWN else figures.speedup,
            "" if figures.per_pass == UNKNOWN else f"{figures.per_pass} per pass",
            f"seed {self._seed}",
        ]
        return " · ".join(part for part in parts if part)


def _kept_ending(message: ChatMessage) -> str:
    """The same of an answer that was kept."""
    stats, settings = message.stats or {}, message.settings or {}
    speedup, per_pass = _number(stats, "speedup"), _number(stats, "tokens_per_pass")
    n_tokens, seed = _number(stats, "generated_tokens"), _number(settings, "seed")
    parts = [
        "" if message.state is State.COMPLETE else message.state.value,
        "" if n_tokens is None else f"{n_tokens} tokens",
        f"{speedup:.2f}x" if speedup else "",
        f"{per_pass:.2f} per pass" if per_pass else "",
        "" if seed is None else f"seed {seed}",
    ]
    return " · ".join(part for part in parts if part)


def _number(record: Mapping[str, Any], key: str) -> float | None:
    """None where there is none: a record that was imported may hold anything."""
    found = record.get(key)
    return found if isinstance(found, int | float) and abs(found) < _MOST else None


def _reading(event: PromptRead) -> str:
    # The last token of the prompt is fed with the first step.
    if event.n_read >= event.n_total - 1:
        return f"read {event.n_total} tokens, {event.n_reused} of them known already; writing the first …"
    return f"reading the prompt: {event.n_read} of {event.n_total} tokens …"
