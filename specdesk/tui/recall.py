"""Walking through earlier prompts."""

from __future__ import annotations

from collections.abc import Iterable


class Recall:
    """Earlier prompts, the oldest first, and behind them the draft that is being written.

    What is changed in a recalled prompt is kept while the walk lasts and changes no earlier prompt.
    """

    def __init__(self, prompts: Iterable[str] = ()) -> None:
        self._prompts = list(prompts)
        self._changed: dict[int, str] = {}
        self._at = len(self._prompts)

    def add(self, prompt: str) -> None:
        """Put `prompt` behind the others, once if it repeats the last one; ends the walk."""
        if self._prompts[-1:] != [prompt]:
            self._prompts.append(prompt)
        self._changed.clear()
        self._at = len(self._prompts)

    def older(self, current: str) -> str | None:
        """One step back from `current`, the text on screen; None at the oldest prompt."""
        return self._step(current, range(self._at - 1, -1, -1))

    def newer(self, current: str) -> str | None:
        """One step towards the draft from `current`, the text on screen; None at the draft."""
        return self._step(current, range(self._at + 1, len(self._prompts) + 1))

    def _step(self, current: str, way: range) -> str | None:
        """The first text on the way that differs from `current`: a step must be seen."""
        self._changed[self._at] = current
        for at in way:
            text = self._text(at)
            if text != current:
                self._at = at
                return text
        return None

    def _text(self, at: int) -> str:
        if at in self._changed:
            return self._changed[at]
        return self._prompts[at] if at < len(self._prompts) else ""
