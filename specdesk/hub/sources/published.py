"""What somebody else publishes under a reference: the files, how large they are and which version of them it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from specdesk.hub.artifacts import ModelFile


@dataclass(frozen=True, slots=True)
class Commit:
    """A repository of the hub as it was once, and stays under this name."""

    repo: str
    revision: str


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """One file."""

    file: ModelFile
    """Its `version` is not None."""
    path: Path
    """Where it belongs on this disk."""
    source: str
    """As it can be asked for alone."""


@dataclass(frozen=True, slots=True)
class Published:
    """A model; its first file is the one to load."""

    name: str
    """As the user asked for it."""
    revision: str | None
    """As it was asked for."""
    commit: Commit | None
    """The hub's own name of that revision; None elsewhere."""
    licence: str | None
    """None where none is stated."""
    files: tuple[PublishedFile, ...]

    @property
    def size_bytes(self) -> int:
        """All files together."""
        return sum(one.file.size_bytes for one in self.files)

    @property
    def n_here(self) -> int:
        """How many of its files lie in their places, whatever they hold."""
        return sum(one.path.is_file() for one in self.files)
