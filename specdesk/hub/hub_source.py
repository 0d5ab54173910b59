"""The Hugging Face hub as a source. The only module that speaks HTTP."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator
from urllib.parse import SplitResult, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
from huggingface_hub import constants, get_hf_file_metadata, get_session, get_token, hf_hub_url
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.file_download import HfFileMetadata

from specdesk.hub.artifacts import Artifact, ModelFile
from specdesk.hub.sources import ResumeError, SourceError, SourceUnreachableError
from specdesk.hub.stopping import Never, Stop, arriving, within

ANSWER_S = 10.0
"""How long the hub may take to be found, connected to and answering, before the next source is tried."""

STALL_S = 30.0
"""How long a body may send nothing."""

_PARTIAL = 206


class HubSource:
    """A repository of the Hugging Face hub, or of HF_ENDPOINT instead, by its own token and proxy rules."""

    def __init__(
        self,
        artifact: Artifact,
        *,
        endpoint: str | None = None,
        answer_s: float = ANSWER_S,
        stall_s: float = STALL_S,
        stop: Stop | None = None,
    ) -> None:
        self._artifact = artifact
        self._endpoint = endpoint or constants.ENDPOINT
        self._answer_s = answer_s
        self._stall_s = stall_s
        self._stop = stop or Never()
        # Else the library asks the endpoint once a day for a list of programs to look for on this machine.
        constants.HF_HUB_DISABLE_TELEMETRY = True

    @property
    def name(self) -> str:
        """Host and port of the endpoint; all of it where it has none."""
        with contextlib.suppress(ValueError):
            return _host(urlsplit(self._endpoint)) or self._endpoint
        return self._endpoint

    def chunks(self, file: ModelFile, start: int) -> Generator[bytes]:
        """The file's bytes from `start` on; the size the hub announces is compared before the first of them."""
        try:
            url = hf_hub_url(self._artifact.repo, file.path, revision=self._artifact.revision, endpoint=self._endpoint)
            urlsplit(url)
        except ValueError as error:
            raise SourceUnreachableError(f"{self.name} is no address: {error}") from error
        token = None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token()
        found = self._ask(url, token, file)
        self._compare_size(found.size, file)
        location = urljoin(url, found.location)
        headers = {"Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        # The bytes often lie on another host, which the token is no business of. Where the body is redirected
        # once more, the client drops the header as the host changes.
        if token and _origin(location) == _origin(url):
            headers["Authorization"] = f"Bearer {token}"
        yield from arriving(self._body(location, headers, file, start), self._stop)

    def _body(self, location: str, headers: dict[str, str], file: ModelFile, start: int) -> Generator[bytes]:
        host = _host(urlsplit(location))
        timeout = httpx2.Timeout(self._stall_s, connect=self._answer_s)
        try:
            with get_session().stream(
                "GET", location, headers=headers, timeout=timeout, follow_redirects=True
            ) as response:
                response.raise_for_status()
                self._compare_part(response, host, file, start)
                # As they come: on a slow line a chunk of full size would take many seconds to fill.
                yield from response.iter_bytes()
        except httpx2.HTTPStatusError as error:
            raise SourceError(f"{host} answered {error.response.status_code} for {file.path}") from error
        except httpx2.ConnectTimeout as error:
            raise SourceError(f"{host} did not answer within {self._answer_s:g} s") from error
        except httpx2.TimeoutException as error:
            raise SourceError(f"{host} sent nothing for {self._stall_s:g} s") from error
        except httpx2.RequestError as error:
            raise SourceError(f"{host} broke off: {_reason(error)}") from error

    def _compare_part(self, response: httpx2.Response, host: str, file: ModelFile, start: int) -> None:
        """Refuse a body that is not the file from `start` on."""
        if start and response.status_code != _PARTIAL:
            raise ResumeError(f"{host} cannot go on in the middle of {file.path}")
        if start and not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            raise ResumeError(f"{host} sends another part of {file.path} than was asked for")
        length = response.headers.get("Content-Length", "")
        self._compare_size(start + int(length) if length.isdecimal() else None, file)

    def _ask(self, url: str, token: str | None, file: ModelFile) -> HfFileMetadata:
        try:
            return within(
                self._answer_s,
                lambda: get_hf_file_metadata(url, token=token or False, timeout=self._answer_s),
                self._stop,
            )
        except HfHubHTTPError as error:
            raise SourceError(self._refusal(error.response.status_code, file)) from error
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
                f"{self.name} could not be reached{_by_proxy(url)}: {_reason(error)}"
            ) from error

    def _compare_size(self, announced: int | None, file: ModelFile) -> None:
        if announced not in (None, file.size_bytes):
            raise SourceError(f"{self.name} announces {announced} bytes for {file.path}, which has {file.size_bytes}")

    def _refusal(self, status: int, file: ModelFile) -> str:
        repo = self._artifact.repo
        page = urlsplit(self._endpoint)._replace(netloc=self.name).geturl() + f"/{repo}"
        match status:
            case 401:
                # The hub also answers so for repositories that do not exist.
                return f"{self.name} shows no {repo} without a token: set HF_TOKEN and see {page} (401)"
            case 403:
                return f"{self.name} refuses {repo} to this token: accept its licence at {page} (403)"
            case 404:
                return f"{self.name} has no {file.path} in {repo} at revision {self._artifact.revision} (404)"
            case _:
                return f"{self.name} answered {status} for {file.path}"


def _reason(error: httpx2.RequestError) -> str:
    quotes_a_header = isinstance(error, httpx2.LocalProtocolError)  # which may be the one with the token
    if quotes_a_header:
        return type(error).__name__
    return re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or type(error).__name__


def _by_proxy(url: str) -> str:
    """Which proxy stands between, if any: it may be the one that does not answer."""
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.hostname or ""):
        return ""
    return f" through the proxy {_host(urlsplit(proxy))}"


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, _host(parts)


def _host(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2].lower()
