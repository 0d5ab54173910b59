"""A plain address as a source: what is known of the file is what its server says in headers."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import urlsplit

import httpx2
from huggingface_hub import get_session

from specdesk.hub.artifacts import ModelFile
from specdesk.hub.gguf.magic import MAGIC
from specdesk.hub.hashing import is_sha256
from specdesk.hub.reference import UrlReference
from specdesk.hub.sources.asking import asked, patiently
from specdesk.hub.sources.http_body import ANSWER_S, STALL_S, HttpBody, host_of
from specdesk.hub.sources.reconnecting import PAUSES_S, reconnecting
from specdesk.hub.sources.source import SourceError
from specdesk.hub.stopping import Stop

_RANGE: Final = re.compile(r"bytes \d+-\d+/(\d+)")
_NO_HEAD: Final = (400, 403, 405, 501)
"""What servers answer that know no HEAD, or have signed the address for GET only."""


class UrlSource:
    """One file at an address. Its bytes have to begin as those of a GGUF file: many pages say 200 to everything."""

    def __init__(
        self,
        reference: UrlReference,
        *,
        answer_s: float = ANSWER_S,
        stall_s: float = STALL_S,
        pauses_s: Sequence[float] = PAUSES_S,
        notice: Callable[[str], None],
        stop: Stop,
    ) -> None:
        self._url = reference.url
        self._path = reference.path
        self._answer_s = answer_s
        self._stall_s = stall_s
        self._pauses_s = pauses_s
        self._notice = notice
        self._stop = stop

    @property
    def name(self) -> str:
        """Host and port."""
        return host_of(urlsplit(self._url))

    def look(self) -> ModelFile:
        """What the server says of the file, without fetching it. Raises: SourceError; Interrupted."""
        return patiently(
            lambda: asked(
                self._headers, self._url, self.name, refused=self._refused, answer_s=self._answer_s, stop=self._stop
            ),
            self._notice,
            self._stop,
        )

    def chunks(self, file: ModelFile, start: int) -> Generator[bytes]:
        """The file's bytes from `start` on; a connection that ends or falls silent is made again, and gone on with."""
        etag = file.version if file.version and file.sha256 is None else ""
        body = HttpBody(file, answer_s=self._answer_s, stall_s=self._stall_s, stop=self._stop, etag=etag)
        chunks = reconnecting(
            lambda at: body.chunks(self._url, {}, at),
            start,
            pauses_s=self._pauses_s,
            notice=self._notice,
            stop=self._stop,
        )
        return chunks if start else self._checked(chunks)

    def _checked(self, chunks: Generator[bytes]) -> Generator[bytes]:
        begin = b""
        for chunk in chunks:
            if len(begin) < len(MAGIC):
                begin += chunk
                if not begin.startswith(MAGIC[: len(begin)]):
                    raise SourceError(f"{self.name} sends something else than a GGUF file for {self._path}")
            yield chunk

    def _headers(self) -> ModelFile:
        # Compressed on the way, it would have another length.
        plain, client = {"Accept-Encoding": "identity"}, get_session()
        response = client.head(self._url, headers=plain, timeout=self._answer_s, follow_redirects=True)
        if response.status_code in _NO_HEAD or (response.is_success and not _length(response)):
            one_byte = plain | {"Range": "bytes=0-0"}
            with client.stream(
                "GET", self._url, headers=one_byte, timeout=self._answer_s, follow_redirects=True
            ) as response:
                response.raise_for_status()
        response.raise_for_status()
        return self._file(response)

    def _file(self, response: httpx2.Response) -> ModelFile:
        size = _length(response)
        if not size:
            raise SourceError(f"{self.name} does not say how long {self._path} is: what comes could not be checked")
        linked_etag = _linked(response).get("X-Linked-Etag", "").strip('"')
        sha256 = linked_etag if is_sha256(linked_etag) else None
        etag = response.headers.get("ETag", "")
        version = sha256 or ("" if etag.startswith("W/") else etag)
        return ModelFile(PurePosixPath(self._path).name, size, sha256, version)

    def _refused(self, response: httpx2.Response) -> str:
        status = response.status_code
        match status:
            case 401 | 403:
                return f"{self.name} does not give {self._path} to everybody: fetch it as it asks you to ({status})"
            case 404 | 410:
                return f"{self.name} has no {self._path}: check the address ({status})"
            case _:
                return f"{self.name} answered {status} for {self._path}"


def _linked(response: httpx2.Response) -> httpx2.Headers:
    """The headers by which servers that speak as the hub does name the file, before they send on to where it lies."""
    hops = [*response.history, response]
    return next((hop.headers for hop in hops if "X-Linked-Size" in hop.headers), httpx2.Headers())


def _length(response: httpx2.Response) -> int:
    """How long the file is by that answer; 0 where it does not say."""
    said = _linked(response).get("X-Linked-Size", "")
    if not said and (part := response.headers.get("Content-Range")) is not None:
        # The length beside it is that of the part.
        match = _RANGE.fullmatch(part)
        said = "" if match is None else match[1]
    elif not said and response.headers.get("Content-Encoding", "identity") == "identity":
        said = response.headers.get("Content-Length", "")
    return int(said) if said.isdecimal() else 0
