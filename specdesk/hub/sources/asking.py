"""Questions to a hub or another host, answered within a time, whose failures are sentences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
from huggingface_hub.errors import HfHubHTTPError

from specdesk.hub.sources.http_body import host_of, reason, refusal
from specdesk.hub.sources.reconnecting import LONGEST_WAIT_S
from specdesk.hub.sources.source import BusyError, SourceUnreachableError
from specdesk.hub.stopping import Stop, pause, within

_MOST_WAITS: Final = 3

T = TypeVar("T")


def asked(
    ask: Callable[[], T], url: str, host: str, *, refused: Callable[[httpx2.Response], str], answer_s: float, stop: Stop
) -> T:
    """What `ask` returns, which asks at `url`.

    Raises: SourceUnreachableError for a `host` that does not answer; BusyError, or SourceError with what `refused`
    says; Interrupted.
    """
    try:
        return within(answer_s, ask, stop)
    except (httpx2.HTTPStatusError, HfHubHTTPError) as error:
        raise refusal(error.response, refused(error.response)) from error
    except (httpx2.TimeoutException, TimeoutError) as error:
        raise SourceUnreachableError(f"{host} did not answer within {answer_s:g} s{_by_proxy(url)}") from error
    except (ValueError, OSError, httpx2.InvalidURL) as error:
        raise SourceUnreachableError(
            f"{host} could not be asked: {error} (an endpoint, proxy, token or certificate of the environment)"
        ) from error
    except httpx2.RequestError as error:
        raise SourceUnreachableError(f"{host} could not be reached{_by_proxy(url)}: {reason(error)}") from error


def patiently(ask: Callable[[], T], notice: Callable[[str], None], stop: Stop) -> T:
    """What `ask` returns; a server that says it is busy is asked again when it said so. Raises what `ask` does."""
    for _ in range(_MOST_WAITS):
        try:
            return ask()
        except BusyError as error:
            if error.wait_s is None or error.wait_s > LONGEST_WAIT_S:
                raise
            notice(f"{error}; trying again")
            pause(error.wait_s, stop)
    return ask()


def _by_proxy(url: str) -> str:
    """Which proxy stands between, if any: it may be the one that does not answer."""
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.hostname or ""):
        return ""
    return f" through the proxy {host_of(urlsplit(proxy))}"
