"""Where other apps on this machine keep their models."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from specdesk.hub.endpoint import environment_problem


class App(StrEnum):
    """Apps whose places are known."""

    LM_STUDIO = "lm-studio"
    OLLAMA = "ollama"
    HUB_CACHE = "hub-cache"

    @property
    def named(self) -> str:
        """What it calls itself."""
        return _NAMES[self]


_NAMES: Final = {App.LM_STUDIO: "LM Studio", App.OLLAMA: "Ollama", App.HUB_CACHE: "the Hugging Face cache"}
_OLLAMA_SERVICE: Final = Path("/usr/share/ollama/.ollama/models")
"""Where Ollama's own installer for Linux has the service keep them."""


def places(app: App) -> Sequence[Path]:
    """Where that app keeps models, or would, by its own rules; each once, whether it is there or not."""
    return tuple(dict.fromkeys(_PLACES[app]()))


def places_there(app: App) -> Sequence[Path]:
    """Those that are there."""
    return tuple(place for place in places(app) if place.is_dir())


def app_at(path: Path) -> App | None:
    """The app that keeps models there; None where none is known to."""
    return next((app for app in App if any(place == path or place in path.parents for place in places(app))), None)


def _lm_studio() -> Iterator[Path]:
    home = Path.home()
    pointed = home / ".lmstudio-home-pointer"
    homes = [home / ".lmstudio", home / ".cache" / "lm-studio"]
    with suppress(OSError, UnicodeDecodeError):
        homes.insert(0, home / pointed.read_text(encoding="utf-8").strip())
    for lm_studio in homes:
        chosen = _chosen_folder(lm_studio / "settings.json")
        if chosen is not None:
            yield chosen
        yield lm_studio / "models"


class _Settings(msgspec.Struct):
    downloadsFolder: str = ""  # noqa: N815 — as LM Studio writes it


def _chosen_folder(settings: Path) -> Path | None:
    with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        chosen = msgspec.json.decode(settings.read_bytes(), type=_Settings).downloadsFolder
        return Path(chosen) if chosen else None
    return None


def _ollama() -> Iterator[Path]:
    chosen = os.environ.get("OLLAMA_MODELS")
    if chosen:
        yield Path(chosen).expanduser()
    yield Path.home() / ".ollama" / "models"
    yield _OLLAMA_SERVICE


def _hub_cache() -> Iterator[Path]:
    if environment_problem():
        return  # it cannot be loaded, or nobody would download with it
    # It knows the variables that move it; asked only here, since loading it takes a moment.
    from huggingface_hub import constants

    yield Path(constants.HF_HUB_CACHE)


_PLACES: Final[dict[App, Callable[[], Iterator[Path]]]] = {
    App.LM_STUDIO: _lm_studio,
    App.OLLAMA: _ollama,
    App.HUB_CACHE: _hub_cache,
}
