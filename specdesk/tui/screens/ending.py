"""How a screen ends with its result, whatever lies on top of it."""

from __future__ import annotations

from typing import TypeVar

from textual.screen import Screen

Result = TypeVar("Result")


def end(screen: Screen[Result], result: Result) -> None:
    """Close this screen, wherever it is among those that are open, and hand its result on; what lies on top stays.

    Does nothing for one that has ended: a key that was pressed twice in one stroke comes twice.
    """
    app = screen.app
    # Textual's own way out of a screen closes the one on top, which may be the help that was opened meanwhile.
    stack = app._screen_stack
    if screen not in stack:
        return
    if screen is stack[-1]:
        screen.dismiss(result)
        return
    screen._result_callbacks[-1](result)
    screen._pop_result_callback()
    stack.remove(screen)
    app.call_next(app._replace_screen, screen)  # which takes it away
