"""Where specdesk keeps things. Nothing is read or created at import; writers make their directories."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def home() -> Path:
    """The data directory: SPECDESK_HOME if set, else the platform's user data directory."""
    override = os.environ.get("SPECDESK_HOME")
    if override:
        return Path(override).expanduser()
    return platformdirs.user_data_path("specdesk", appauthor=False)


def models_dir() -> Path:
    """Where downloaded models land, as OWNER/REPOSITORY/FILE."""
    return home() / "models"
