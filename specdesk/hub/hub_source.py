"""The Hugging Face hub as a source."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Generator, Sequence
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
from huggingface_hub import constants, get_hf_file_metadata, get_token, hf_hub_url
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.file_download import HfFileMetadata

from specdesk.hub.artifacts import Artifact, ModelFile
from specdesk.hub.http_body import ANSWER_S, STALL_S, HttpBody, compare_size, host_of, reason, refusal
from specdesk.hub.reconnecting import PAUSES_S, reconnecting
from specdesk.hub.refusals import Asked
from specdesk.hub.sources import SourceError, SourceUnreachableError
from specdesk.hub.stopping import Never, Stop, within

_SHA256 = re.compile(r"[0-9a-f]{64}")


class HubSource:
    """A repository of the Hugging Face hub, or of HF_ENDPOINT instead, by its own token and proxy rules."""

    def __init__(
        self,
        artifact: Artifact,
        *,
        endpoint: str | None = None,
        answer_s: float = ANSWER_S,
        stall_s: float = STALL_S,
        pauses_s: Sequence[float] = PAUSES_S,
        notice: Callable[[str], None] | None = None,
        stop: Stop | None = None,
    ) -> None:
        """`notice` is told of each time that a lost connection is made again."""
        self._artifact = artifact
        self._endpoint = endpoint or constants.ENDPOINT
        self._answer_s = answer_s
        self._stall_s = stall_s
        self._pauses_s = pauses_s
        self._notice = notice or _unheard
        self._stop = stop or Never()
        # Else the library asks the endpoint once a day for a list of programs to look for on this machine.
        constants.HF_HUB_DISABLE_TELEMETRY = True

    @property
    def name(self) -> str:
        """Host and port of the endpoint; all of it where it has none."""
        with contextlib.suppress(ValueError):
            return host_of(urlsplit(self._endpoint)) or self._endpoint
        return self._endpoint

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
        # Each time anew: where the bytes lie is told for a limited time only.
        try:
            url = hf_hub_url(self._artifact.repo, file.path, revision=self._artifact.revision, endpoint=self._endpoint)
            urlsplit(url)
        except ValueError as error:
            raise SourceUnreachableError(f"{self.name} is no address: {error}") from error
        token = None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token()
        found = self._ask(url, token, file)
        compare_size(self.name, found.size, file)
        # Large files are named by their sha256 there.
        if _SHA256.fullmatch(found.etag or "") and found.etag != file.sha256:
            raise SourceError(f"{self.name} has another {file.path} now, with sha256 {found.etag}")
        location = urljoin(url, found.location)
        headers = {}
        # The bytes often lie on another host, which the token is no business of. Where the body is redirected
        # once more, the client drops the header as the host changes.
        if token and _origin(location) == _origin(url):
            headers["Authorization"] = f"Bearer {token}"
        yield from body.chunks(location, headers, start)

    def _ask(self, url: str, token: str | None, file: ModelFile) -> HfFileMetadata:
        try:
            return within(
                self._answer_s,
                lambda: get_hf_file_metadata(url, token=token or False, timeout=self._answer_s),
                self._stop,
            )
        except HfHubHTTPError as error:
            raise refusal(error.response, self._asked(file, token).refused(error.response)) from error
        except (httpx2.TimeoutException, TimeoutError) as error:
            raise SourceUnreachableError(
                f"{self.name} did not answer within {self._answer_s:g} s{_by_proxy(url)}"
            ) from error
        except (ValueError, OSError) as error:
            raise SourceUnreachableError(
                f"{self.name} could not be asked: {error} (an endpoint, proxy, token or certificate of the environment)"
            ) from error
        except httpx2.RequestError as error:
            raise SourceUnreachableError(
                f"{self.name} could not be reached{_by_proxy(url)}: {reason(error)}"
            ) from error

    def _asked(self, file: ModelFile, token: str | None) -> Asked:
        page = urlsplit(self._endpoint)._replace(netloc=self.name).geturl() + f"/{self._artifact.repo}"
        return Asked(self.name, page, self._artifact.repo, self._artifact.revision, file.path, token is not None)


def _by_proxy(url: str) -> str:
    """Which proxy stands between, if any: it may be the one that does not answer."""
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.hostname or ""):
        return ""
    return f" through the proxy {host_of(urlsplit(proxy))}"


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, host_of(parts)


def _unheard(_text: str) -> None:
    """Nobody is told."""
