"""How a model says that it was stopped."""

from __future__ import annotations


class Interrupted(Exception):  # noqa: N818 — what happened, not an error
    """What was under way was stopped from outside: of a pass, the cache holds what `ids` says.

    A message, if there is one, tells the user what came of it.
    """
