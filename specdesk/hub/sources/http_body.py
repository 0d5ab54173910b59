"""The bytes of one file over HTTP, from any byte on, refused where they are not those of the file asked for."""

from __future__ import annotations

import re
from collections.abc import Generator
from urllib.parse import SplitResult, urlsplit

import httpx2
from huggingface_hub import get_session

from specdesk.hub.artifacts import ModelFile
from specdesk.hub.sources.retry_after import asked_to_wait_s
from specdesk.hub.sources.source import BrokenOffError, BusyError, ResumeError, SourceError
from specdesk.hub.stopping import Stop, arriving

ANSWER_S = 10.0
"""How long a host may take to be found, connected to and answering, before the next source is tried."""

STALL_S = 20.0
"""How long a body may send nothing."""

_UNTRUSTED = "which SSL_CERT_FILE can change: it names a file of certificates to trust"
_RANGE = re.compile(r"bytes (\d{1,18})-\d*/(\d{1,18}|\*)")
_PARTIAL = 206
_UNSATISFIABLE = 416


class HttpBody:
    """Asks for a file as often as it takes; once an answer named the version it sends, only that one will do."""

    def __init__(self, file: ModelFile, *, answer_s: float, stall_s: float, stop: Stop, etag: str = "") -> None:
        """`etag` is that of the version to go on with, as the host that sends it writes it; empty where any will do."""
        self._file = file
        self._answer_s = answer_s
        self._stall_s = stall_s
        self._stop = stop
        self._etag = etag

    def chunks(self, location: str, headers: dict[str, str], start: int) -> Generator[bytes]:
        """The bytes at that address from `start` on.

        Raises: BrokenOffError or BusyError where another try may help, ResumeError where only one from the beginning
        does, SourceError, Interrupted.
        """
        headers = headers | {"Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
            if self._etag:
                headers["If-Range"] = self._etag
        return arriving(self._body(location, headers, start), self._stop)

    def _body(self, location: str, headers: dict[str, str], start: int) -> Generator[bytes]:
        host, path = host_of(urlsplit(location)), self._file.path
        timeout = httpx2.Timeout(self._stall_s, connect=self._answer_s)
        try:
            with get_session().stream(
                "GET", location, headers=headers, timeout=timeout, follow_redirects=True
            ) as response:
                if start and response.status_code == _UNSATISFIABLE:
                    raise ResumeError(f"{host} has less of {path} than has come already")
                response.raise_for_status()
                self._compare(response, host, start)
                at = start
                # As they come: on a slow line a chunk of full size would take many seconds to fill.
                for chunk in response.iter_bytes():
                    at += len(chunk)
                    yield chunk
                # A body without a length ends where its connection does, and some servers send less at once than they
                # are asked for.
                if at < self._file.size_bytes:
                    raise BrokenOffError(f"{host} broke off: it sent {at} of {self._file.size_bytes} bytes of {path}")
        except httpx2.HTTPStatusError as error:
            raise refusal(error.response, f"{host} answered {error.response.status_code} for {path}") from error
        except httpx2.ConnectTimeout as error:
            raise BrokenOffError(f"{host} did not answer within {self._answer_s:g} s") from error
        except httpx2.TimeoutException as error:
            raise BrokenOffError(f"{host} sent nothing for {self._stall_s:g} s") from error
        except (httpx2.TooManyRedirects, httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
            raise SourceError(f"{host} leads nowhere for {path}: {error}") from error
        except httpx2.RequestError as error:
            raise BrokenOffError(f"{host} broke off: {reason(error)}") from error

    def _compare(self, response: httpx2.Response, host: str, start: int) -> None:
        """Refuse a body that is not the file from `start` on."""
        path = self._file.path
        etag = response.headers.get("ETag", "")
        if start and self._etag and etag and etag != self._etag:
            raise ResumeError(f"{path} has changed at {host} while it was fetched")
        if start and response.status_code != _PARTIAL:
            raise ResumeError(f"{host} cannot go on in the middle of {path}")
        part = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if start and (part is None or int(part[1]) != start):
            raise ResumeError(f"{host} sends another part of {path} than was asked for")
        compressed = response.headers.get("Content-Encoding", "identity") != "identity"
        if start and compressed:
            raise ResumeError(f"{host} sends {path} compressed, and cannot go on in the middle")
        length = response.headers.get("Content-Length", "") if part is None and not compressed else ""
        said = part[2] if part is not None else length
        compare_size(host, int(said) if said.isdecimal() else None, self._file)
        # A weak one does not promise the same bytes, and may not be asked with.
        self._etag = etag if not etag.startswith("W/") else ""


def compare_size(host: str, announced: int | None, file: ModelFile) -> None:
    """Raises SourceError for another size than the file's."""
    if announced not in (None, file.size_bytes):
        raise SourceError(f"{host} announces {announced} bytes for {file.path}, which has {file.size_bytes}")


def refusal(response: httpx2.Response, said: str) -> SourceError:
    """The error for a status that is no success, by whether another try may help."""
    if response.status_code == 429 or response.status_code >= 500:
        wait_s = asked_to_wait_s(response.headers.get("Retry-After", ""))
        return BusyError(said if not wait_s else f"{said}: it asks to wait {wait_s:.0f} s", wait_s)
    return SourceError(said)


def reason(error: httpx2.RequestError) -> str:
    """What went wrong, in a few words without secrets."""
    quotes_a_header = isinstance(error, httpx2.LocalProtocolError)  # which may be the one with the token
    if quotes_a_header:
        return type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        # Behind many a company's proxy every host shows the company's own certificate.
        return f"its certificate is not trusted, {_UNTRUSTED}"
    return re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or type(error).__name__


def host_of(parts: SplitResult) -> str:
    """Host and port, without the user and the password an address may hold."""
    return parts.netloc.rpartition("@")[2].lower()
