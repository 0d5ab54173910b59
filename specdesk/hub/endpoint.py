"""Where HF_ENDPOINT says the hub is, looked at before the hub's library is: that cannot be loaded with some of them."""

from __future__ import annotations

import contextlib
import os
import re
from urllib.parse import urlsplit


def endpoint_problem(endpoint: str) -> str:
    """Why nobody can be asked at that address, with it but for its password; empty where somebody can."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(endpoint)
        _port = parts.port  # asking for it checks it
        if parts.scheme.lower() in ("http", "https") and parts.hostname:
            return ""
    without_password = re.sub(r"//[^/@]*@", "//", endpoint)
    return f"HF_ENDPOINT is no http(s) address: {without_password!r}"


def environment_problem() -> str:
    """The same of the environment; the library takes an empty one for none."""
    endpoint = os.environ.get("HF_ENDPOINT", "").strip()
    return endpoint_problem(endpoint) if endpoint else ""
