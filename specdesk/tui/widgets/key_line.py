"""A line of keys and what they do, for screens that have the keyboard to themselves."""

from __future__ import annotations

from rich.cells import cell_len
from textual.widgets import Static

_BETWEEN = " · "


class KeyLine(Static):
    """Breaks between keys and never inside of what one does."""

    def __init__(self) -> None:
        super().__init__(id="keys", markup=False)
        self._keys = ""

    def show(self, keys: str) -> None:
        """Show these; a middle dot stands between them."""
        self._keys = keys
        self.update(broken(keys, self.app.size.width - 2))

    def on_resize(self) -> None:
        """Break elsewhere."""
        self.show(self._keys)


def broken(keys: str, width: int) -> str:
    """The keys on as few lines as they need."""
    lines = [""]
    for key in keys.split(_BETWEEN):
        longer = f"{lines[-1]}{_BETWEEN}{key}" if lines[-1] else key
        if lines[-1] and cell_len(longer) > width:
            lines.append(key)
        else:
            lines[-1] = longer
    return "\n".join(lines)
