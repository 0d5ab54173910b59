"""Columns of progress bars: only the bar and a long name give way on a narrow terminal."""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.filesize import decimal
from rich.progress import ProgressColumn, Task, TaskProgressColumn
from rich.table import Column
from rich.text import Text

from specdesk.tokenview import visible

_OTHERS: Final = 50
"""Columns of what stands beside name and bar: per cent, bytes, rate and time left."""
_LEAST: Final = 8
_GAP: Final = "\N{HORIZONTAL ELLIPSIS}"


class NameColumn(ProgressColumn):
    """What a bar is of; of a long name both ends, since models of one family differ in the last letters."""

    def __init__(self, console: Console) -> None:
        super().__init__(table_column=Column(no_wrap=True))
        self._console = console

    def render(self, task: Task) -> Text:
        """It, cut to the terminal as it is now."""
        name = visible(task.description)
        most = max(_LEAST, (self._console.width - _OTHERS) // 2)
        if len(name) > most:
            end = most * 2 // 3
            name = name[: most - end - 1] + _GAP + name[-end:]
        return Text(name)


class PercentColumn(TaskProgressColumn):
    """How much of it has come: without colours a bar alone does not tell all of it from nothing."""

    def __init__(self) -> None:
        super().__init__(table_column=Column(no_wrap=True))


class BytesColumn(ProgressColumn):
    """What has come, in a unit of its own: in that of the whole it would stand at 0.0 for long."""

    def __init__(self) -> None:
        super().__init__(table_column=Column(no_wrap=True))

    def render(self, task: Task) -> Text:
        """Both numbers; one where the whole is not known."""
        total = "" if task.total is None else f"/{decimal(int(task.total))}"
        return Text(f"{decimal(int(task.completed))}{total}")
