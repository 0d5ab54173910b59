"""Whether the user wants no network."""

from __future__ import annotations

import os

from specdesk.hub.endpoint import environment_problem


def is_offline() -> bool:
    """Whether HF_HUB_OFFLINE was set when this program began; huggingface_hub asks the environment only once."""
    if environment_problem():  # with which the library may not be loaded: it takes these words for yes
        return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
    # Loaded here, so that whoever needs no download waits for no network library.
    from huggingface_hub import is_offline_mode

    return is_offline_mode()
