"""Where specdesk keeps things. Nothing is read or created at import; writers make their directories."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import platformdirs

from specdesk.errors import StorageError

ROOM_HINT: Final = "make room, or set SPECDESK_HOME to a directory on another disk"
"""What to do where a disk is full."""


def home() -> Path:
    """The data directory: SPECDESK_HOME if set, else the platform's user data directory.

    Raises StorageError where the system knows none.
    """
    return _home_or(platformdirs.user_data_path)


def builds_dir() -> Path:
    """Where programs compiled here are kept, which can be made again: in SPECDESK_HOME or the platform's user cache.

    Raises StorageError where the system knows none.
    """
    return _home_or(platformdirs.user_cache_path) / "builds"


def headers_file() -> Path:
    """Where what model files say of themselves is kept, which can be read again: as `builds_dir` in the user's cache.

    Raises StorageError where the system knows none.
    """
    return _home_or(platformdirs.user_cache_path) / "headers.json"


def profiles_dir() -> Path:
    """Where what was measured on this machine is kept."""
    return home() / "profiles"


def models_dir() -> Path:
    """Where downloaded models land, as OWNER/REPOSITORY/FILE."""
    return home() / "models"


def tuned_dir() -> Path:
    """Where other formats of draft models, made on this machine, are kept."""
    return home() / "tuned"


def chats_file() -> Path:
    """Where chats are kept."""
    return home() / "chats.db"


def preferences_file() -> Path:
    """Where what was set in the chat is kept."""
    return home() / "preferences.json"


def added_file() -> Path:
    """Where the paths of models that lie elsewhere are kept."""
    return home() / "added.json"


def chosen_file() -> Path:
    """Where the choice of models is kept for the next start."""
    return home() / "chosen.json"


def existing(path: Path) -> Path:
    """What is there of a path to be: itself, or the nearest of the folders that it is to lie in."""
    return next(place for place in (path, *path.parents) if place.exists())


def _home_or(of_platform: Callable[..., Path]) -> Path:
    override = os.environ.get("SPECDESK_HOME")
    try:
        return Path(override).expanduser() if override else of_platform("specdesk", appauthor=False)
    except RuntimeError as error:
        raise StorageError(f"there is no home directory to keep things in: {error}", "set SPECDESK_HOME") from error
