"""The Hugging Face hub as a source."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Protocol
from urllib.parse import urljoin, urlsplit

from huggingface_hub import get_hf_file_metadata, hf_hub_url
from huggingface_hub.file_download import HfFileMetadata

from specdesk.hub.artifacts import ModelFile
from specdesk.hub.hashing import is_sha256
from specdesk.hub.sources.access import endpoint as usual_endpoint
from specdesk.hub.sources.access import endpoint_name, page_of, refuse_no_address, token, without_telemetry
from specdesk.hub.sources.asking import asked
from specdesk.hub.sources.http_body import ANSWER_S, STALL_S, HttpBody, compare_size, host_of
from specdesk.hub.sources.reconnecting import PAUSES_S, reconnecting
from specdesk.hub.sources.refusals import Asked
from specdesk.hub.sources.source import SourceError, SourceUnreachableError
from specdesk.hub.stopping import Never, Stop


class InRepository(Protocol):
    """Something that a repository of the hub publishes."""

    @property
    def repo(self) -> str:
        """OWNER/REPOSITORY."""

    @property
    def revision(self) -> str:
        """A commit, or a branch or tag."""


class HubSource:
    """A repository of the Hugging Face hub, or of HF_ENDPOINT instead, by its own token and proxy rules."""

    def __init__(
        self,
        artifact: InRepository,
        *,
        endpoint: str | None = None,
        answer_s: float = ANSWER_S,
        stall_s: float = STALL_S,
        pauses_s: Sequence[float] = PAUSES_S,
        notice: Callable[[str], None] | None = None,
        stop: Stop | None = None,
    ) -> None:
        """`notice` is told of each time that a lost connection is made again."""
        self._repo, self._revision = artifact.repo, artifact.revision
        self._endpoint = endpoint or usual_endpoint()
        self._answer_s = answer_s
        self._stall_s = stall_s
        self._pauses_s = pauses_s
        self._notice = notice or _unheard
        self._stop = stop or Never()
        without_telemetry()

    @property
    def name(self) -> str:
        """Host and port of the endpoint; all of it where it has none."""
        return endpoint_name(self._endpoint)

    def chunks(self, file: ModelFile, start: int) -> Generator[bytes]:
        """The file's bytes from `start` on; the size the hub announces is compared before the first of them.

        A connection that ends or falls silent is made again, and gone on with.
        """
        body = HttpBody(file, answer_s=self._answer_s, stall_s=self._stall_s, stop=self._stop)
        return reconnecting(
            lambda at: self._once(file, body, at),
            start,
            pauses_s=self._pauses_s,
            notice=self._notice,
            stop=self._stop,
        )

    def _once(self, file: ModelFile, body: HttpBody, start: int) -> Generator[bytes]:
        refuse_no_address(self._endpoint)
        # Each time anew: where the bytes lie is told for a limited time only.
        try:
            url = hf_hub_url(self._repo, file.path, revision=self._revision, endpoint=self._endpoint)
            urlsplit(url)
        except ValueError as error:
            raise SourceUnreachableError(f"{self.name} is no address: {error}") from error
        with_token = token()
        found = self._ask(url, with_token, file)
        compare_size(self.name, found.size, file)
        # Large files are named by their sha256 there.
        if file.sha256 and is_sha256(found.etag or "") and found.etag != file.sha256:
            raise SourceError(f"{self.name} has another {file.path} now, with sha256 {found.etag}")
        location = urljoin(url, found.location)
        headers = {}
        # The bytes often lie on another host, which the token is no business of. Where the body is redirected
        # once more, the client drops the header as the host changes.
        if with_token and _origin(location) == _origin(url):
            headers["Authorization"] = f"Bearer {with_token}"
        yield from body.chunks(location, headers, start)

    def _ask(self, url: str, with_token: str | None, file: ModelFile) -> HfFileMetadata:
        page = page_of(self._endpoint, self._repo)
        about = Asked(self.name, page, self._repo, self._revision, file.path, with_token is not None)
        return asked(
            lambda: get_hf_file_metadata(url, token=with_token or False, timeout=self._answer_s),
            url,
            self.name,
            refused=about.refused,
            answer_s=self._answer_s,
            stop=self._stop,
        )


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, host_of(parts)


def _unheard(_text: str) -> None:
    """Nobody is told."""
