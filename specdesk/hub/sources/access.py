"""How the hub is reached: its endpoint, the token for it, its pages; by the settings of huggingface_hub."""

from __future__ import annotations

import contextlib
from typing import Final
from urllib.parse import urlsplit

from huggingface_hub import constants, get_token

from specdesk.hub.endpoint import endpoint_problem
from specdesk.hub.sources.http_body import host_of
from specdesk.hub.sources.source import SourceUnreachableError

_USUAL: Final = "https://huggingface.co"


def endpoint() -> str:
    """Where the hub is: the address of HF_ENDPOINT, or the usual one."""
    return str(constants.ENDPOINT) or _USUAL


def refuse_no_address(endpoint: str) -> None:
    """Raises SourceUnreachableError for an endpoint that nobody could be asked at, with its value."""
    if problem := endpoint_problem(endpoint):
        raise SourceUnreachableError(problem)


def endpoint_name(endpoint: str) -> str:
    """Host and port of the endpoint, without user and password; all of it where it has none."""
    with contextlib.suppress(ValueError):
        return host_of(urlsplit(endpoint)) or endpoint
    return endpoint


def page_of(endpoint: str, repo: str) -> str:
    """The address of a repository, for a browser."""
    return f"{urlsplit(endpoint)._replace(netloc=endpoint_name(endpoint)).geturl()}/{repo}"


def token() -> str | None:
    """The user's token for the hub, unless the environment keeps it back. It must not be printed."""
    return None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token()


def without_telemetry() -> None:
    """Else the library asks the endpoint once a day for a list of programs to look for on this machine."""
    constants.HF_HUB_DISABLE_TELEMETRY = True
