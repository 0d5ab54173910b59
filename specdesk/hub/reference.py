"""What a user may ask to be downloaded beside a recommended pair: a file of the hub, or an address."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from specdesk import paths
from specdesk.errors import UsageError
from specdesk.hub.safe_names import unsafe
from specdesk.split_names import all_names

HUB: Final = "hf:"

_HINT: Final = "hf:OWNER/REPO/FILE.gguf[@REVISION], hf:OWNER/REPO for a list of its files, or an http(s) address"
_ON_HUB: Final = re.compile(
    r"(?P<repo>[^/@]+/[^/@]+)(?:/(?P<path>.+?\.gguf))?(?:@(?P<revision>[^@]+))?", re.IGNORECASE | re.DOTALL
)
_HUB_REPO: Final = re.compile(r"/(?P<repo>[^/]+/[^/]+?)(?:/tree/(?P<revision>[^/]+))?/?", re.DOTALL)
_ELSEWHERE: Final = re.compile(
    r"(?:(?:hf\.co|huggingface\.co)/)?(?P<repo>[\w.-]+/[\w.-]+)(?P<path>/.+\.gguf)?(?::[\w.-]+)?/?", re.IGNORECASE
)
"""How other programs let a model of the hub be named, some with a format at the end."""
_HUB_PAGE: Final = re.compile(
    r"/(?P<repo>[^/]+/[^/]+)/(?:resolve|blob)/(?P<revision>[^/]+)/(?P<path>.+)", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class HubReference:
    """A GGUF file in a repository of the hub; or all of them."""

    repo: str
    path: str
    """With folders; of a split model any of its files. Empty for all files."""
    revision: str | None
    """As it was asked for: a branch, a tag, a commit. None for the main branch."""

    def __str__(self) -> str:
        file = f"/{self.path}" if self.path else ""
        return f"{HUB}{self.repo}{file}" + (f"@{self.revision}" if self.revision else "")

    def places(self) -> tuple[Path, ...]:
        """Where its files belong, the one to load first: OWNER/REPOSITORY/FILE in the models directory."""
        return tuple(paths.models_dir() / self.repo / name for name in all_names(self.path))


@dataclass(frozen=True, slots=True)
class UrlReference:
    """A GGUF file at an address."""

    url: str
    """With all that is in it, which may be secret."""

    revision: None = None

    def __str__(self) -> str:
        parts = self._parts
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()

    @property
    def _parts(self) -> SplitResult:
        return urlsplit(self.url)

    @property
    def path(self) -> str:
        """Without the host."""
        return unquote(self._parts.path).lstrip("/")

    def places(self) -> tuple[Path, ...]:
        """Where its files belong: HOST/FILE in the models directory, with the folders of the address."""
        host = self._parts.netloc.rpartition("@")[2].lower().replace(":", "_")
        return tuple(paths.models_dir() / host / name for name in all_names(self.path))

    def siblings(self) -> tuple[UrlReference, ...]:
        """The addresses of all its files; a split model's differ in their numbers."""
        names = all_names(self._parts.path)
        return tuple(UrlReference(self._parts._replace(path=name).geturl()) for name in names)


Reference = HubReference | UrlReference


def is_reference(text: str) -> bool:
    """Whether it is meant as one, not as the name of a pair."""
    return text.lower().startswith((HUB, "http://", "https://"))


def likely_reference(text: str) -> str | None:
    """What may be meant by a text that is neither a reference nor a pair: how it would be written here."""
    match = _ELSEWHERE.fullmatch(text)
    return None if match is None else f"{HUB}{match['repo']}{match['path'] or ''}"


def parse_reference(text: str, endpoint: str) -> Reference:
    """What is meant. An address of a file or a repository on the hub at `endpoint` is one of the hub.

    Raises: UsageError for what is none, or has a name that could lie outside the models directory.
    """
    reference = _on_hub(text) if text.lower().startswith(HUB) else _at_url(text, endpoint)
    if isinstance(reference, HubReference):
        names = [reference.repo, *([reference.path] if reference.path else [])]
    else:
        names = [reference.path]
    for name in names:
        if problem := unsafe(name):
            raise UsageError(f"{name!r} is no name to put a file under: {problem}", _HINT)
    return reference


def _on_hub(text: str) -> HubReference:
    match = _ON_HUB.fullmatch(text[len(HUB) :].removesuffix("/"))
    if match is not None and not match["path"] and ":" in match["repo"]:
        repo, _, named = match["repo"].partition(":")
        raise UsageError(f"{text!r} names no file by {named!r}", f"specdesk download {HUB}{repo} lists those there are")
    if match is None:
        raise UsageError(f"{text!r} names no GGUF file of the hub", _HINT)
    return HubReference(match["repo"], match["path"] or "", match["revision"])


def _at_url(text: str, endpoint: str) -> Reference:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"that is no address: {error}", _HINT) from error
    del port  # only asked for, since that is what checks it
    try:
        hub = urlsplit(endpoint)
    except ValueError:  # which is said to who asks it
        hub = urlsplit("")
    base = hub.path.rstrip("/")
    if parts.netloc.lower() == hub.netloc.lower() and parts.path.startswith(f"{base}/"):
        page = unquote(parts.path[len(base) :])
        match = _HUB_PAGE.fullmatch(page)
        if match is not None and match["path"].lower().endswith(".gguf"):
            return HubReference(match["repo"], match["path"], _branch(match["revision"]))
        if (match := _HUB_REPO.fullmatch(page)) is not None and not page.lower().endswith(".gguf"):
            return HubReference(match["repo"], "", _branch(match["revision"]))
    reference = UrlReference(text)
    if not parts.hostname or not reference.path.lower().endswith(".gguf"):
        raise UsageError(f"{str(reference)!r} is no address of a GGUF file", _HINT)
    return reference


def _branch(revision: str | None) -> str | None:
    return None if revision == "main" else revision
