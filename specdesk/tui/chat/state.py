"""What the chat waits for, in words for the user."""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """What the chat waits for. The value tells the user beside the prompt."""

    LOADING = "loading the models …"
    READY = "Enter sends · Ctrl+J new line"
    ANSWERING = "answering · Esc stops"
    STOPPING = "stopping …"
    EMPTY = "no models yet · Ctrl+O chooses them"
    """Nothing was to be loaded so far."""
    BROKEN = "no models loaded · Ctrl+L again · Ctrl+O others"


REASONS = {
    State.LOADING: "the models are still loading",
    State.ANSWERING: "still answering · Esc stops",
    State.STOPPING: "still stopping",
    State.EMPTY: "there are no models yet · Ctrl+O chooses them",
    State.BROKEN: "no models are loaded · Ctrl+O chooses others",
}
"""Why a question is not sent now, or something else not done; a state without an entry sends."""

LATER = "then it is sent"
"""What Enter brings about while the models are loading."""
