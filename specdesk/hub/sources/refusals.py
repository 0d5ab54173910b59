"""What a hub's refusal means, and what the user can do: a sentence for each of the cases that look alike."""

from __future__ import annotations

from dataclasses import dataclass

import httpx2

GATED = "GatedRepo"
NO_REPOSITORY = "RepoNotFound"
NO_REVISION = "RevisionNotFound"


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for, and of whom."""

    host: str
    page: str
    """The repository's page, for a browser."""
    repo: str
    revision: str
    file: str
    """Empty where all of the repository was meant."""
    with_token: bool

    def refused(self, response: httpx2.Response) -> str:
        """A whole sentence with the page to visit; the token is not in it."""
        status, code = response.status_code, response.headers.get("X-Error-Code", "")
        match status:
            case 401:
                said = self._not_shown(gated=code == GATED)
            case 403:
                said = f"{self.host} refuses {self.repo} to this token: accept its licence at {self.page}"
            case 404:
                said = f"{self._missing(code)}: see {self.page}"
            case _:
                return f"{self.host} answered {status} for {self.file or self.repo}"
        return f"{said} ({status})"

    def _not_shown(self, *, gated: bool) -> str:
        if self.with_token:
            return f"{self.host} shows no {self.repo} to this token: check both, the name at {self.page}"
        if gated:
            return f"{self.host} has a licence on {self.repo}: accept it at {self.page} and set HF_TOKEN"
        # The hub also answers so for repositories that do not exist.
        return f"{self.host} shows no {self.repo} without a token: check the name, or set HF_TOKEN and see {self.page}"

    def _missing(self, code: str) -> str:
        if code == NO_REPOSITORY or (not self.file and code != NO_REVISION):
            return f"{self.host} has no {self.repo}"
        if code == NO_REVISION:
            return f"{self.host} has no revision {self.revision} of {self.repo}"
        return f"{self.host} has no {self.file} in {self.repo} at revision {self.revision}"
