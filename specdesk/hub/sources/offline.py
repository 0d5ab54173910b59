"""Whether the user wants no network."""

from __future__ import annotations


def is_offline() -> bool:
    """Whether HF_HUB_OFFLINE was set when this program began; huggingface_hub asks the environment only once."""
    # Loaded here, so that whoever needs no download waits for no network library.
    from huggingface_hub import is_offline_mode

    return is_offline_mode()
