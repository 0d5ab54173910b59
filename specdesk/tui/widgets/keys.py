"""The keys at the foot of a screen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

_ROOMY: Final = 80
"""Columns from which on the keys stand further apart."""
_BACK: Final = "escape"


class Keys(Footer):
    """Names whole keys, the first ones first, as many as there is room for, and Esc in any case: it leads back.

    Those that do nothing now are greyed; where there is not room for all, they are left out.
    Not handled: bindings in groups.
    """

    def __init__(self) -> None:
        super().__init__()
        self._shown: object = None

    async def recompose(self) -> None:
        """Show them anew if others are to be seen: a widget per key costs more than a repaint of all else."""
        if self.is_attached and (self._shown is None or self._shown != self._to_show()):
            await super().recompose()

    def compose(self) -> ComposeResult:
        """The keys that fit, and the one that stands on the right."""
        self._shown = self._to_show() if self._bindings_ready else None
        found = [key for key in super().compose() if isinstance(key, FooterKey)]
        docked = [key for key in found if key.has_class("-command-palette")]
        keys = [key for key in found if key not in docked]
        room = self.app.size.width - sum(self._cells(key) for key in docked) - len(docked)
        if sum(self._cells(key) for key in keys) > room:
            keys = [key for key in keys if not key.has_class("-disabled")]
        yield from self._fitting(keys, room)
        yield from docked

    def bindings_changed(self, screen: Screen[object]) -> None:
        """Others mean something now: also in a terminal that does not have the focus, where Textual's waits for it."""
        self._bindings_ready = True
        if self.is_attached and screen is self.screen:
            self.call_after_refresh(self.recompose)

    def on_resize(self, _event: events.Resize) -> None:
        """Others may fit."""
        self.compact = self.app.size.width < _ROOMY
        self.refresh(recompose=True)

    def _to_show(self) -> object:
        bindings = self.screen.active_bindings.values()
        keys = [(active.binding, active.node, active.enabled) for active in bindings if active.binding.show]
        return self.app.size.width, self.compact, keys

    def _fitting(self, keys: list[FooterKey], room: int) -> Iterator[FooterKey]:
        room -= sum(self._cells(key) for key in keys if key.key == _BACK)
        for key in keys:
            if key.key == _BACK:
                yield key
                continue
            room -= self._cells(key)
            # A compact one ends in a space.
            if room >= -1 * self.compact:
                yield key
            else:
                room = -1 * self.app.size.width  # those behind it are not named either

    def _cells(self, key: FooterKey) -> int:
        return cell_len(key.key_display) + cell_len(key.description) + (2 if self.compact else 3)
