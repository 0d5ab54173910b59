"""What a repository of the hub holds, by one question to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from json import JSONDecodeError
from typing import Any

from huggingface_hub import HfApi, ModelInfo
from huggingface_hub.errors import HFValidationError

from specdesk import paths
from specdesk.hub.artifacts import ModelFile
from specdesk.hub.hashing import is_sha256
from specdesk.hub.reference import HubReference
from specdesk.hub.safe_names import unsafe
from specdesk.hub.sources.access import endpoint as usual_endpoint
from specdesk.hub.sources.access import endpoint_name, page_of, refuse_no_address, token, without_telemetry
from specdesk.hub.sources.asking import asked, patiently
from specdesk.hub.sources.http_body import ANSWER_S
from specdesk.hub.sources.published import Commit, Published, PublishedFile
from specdesk.hub.sources.refusals import Asked
from specdesk.hub.sources.source import SourceError
from specdesk.hub.stopping import Stop
from specdesk.split_names import all_names


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository at one revision of it, and the GGUF files it holds."""

    reference: HubReference
    commit: str
    licence: str | None
    files: dict[str, ModelFile]
    """By name. Names that could lie outside a folder are left out."""

    def model(self, path: str) -> Published:
        """The model that the file belongs to, with all its files.

        Raises SourceError where the repository does not hold them all.
        """
        names = all_names(path)
        asked_for = replace(self.reference, path=path)
        missing = [name for name in names if name not in self.files]
        if missing:
            raise SourceError(
                f"{self.reference.repo} has no {missing[0]} at revision {self.reference.revision or 'main'}"
                f"{_near(path, self.files)}; specdesk download {replace(self.reference, path='')} lists what there is"
            )
        folder = paths.models_dir() / self.reference.repo
        return Published(
            str(asked_for),
            self.reference.revision,
            Commit(self.reference.repo, self.commit),
            self.licence,
            tuple(
                PublishedFile(self.files[name], folder / name, str(HubReference(self.reference.repo, name, None)))
                for name in names
            ),
        )

    def models(self) -> Iterator[Published]:
        """All models, a split one once; those of which a file is missing are left out."""
        for name in self.files:
            names = all_names(name)
            if name == names[0] and all(each in self.files for each in names):
                yield self.model(name)


def look_into(
    reference: HubReference,
    *,
    notice: Callable[[str], None],
    stop: Stop,
    endpoint: str | None = None,
    answer_s: float = ANSWER_S,
) -> Repository:
    """Asks the hub. Raises: SourceError, with what to do; Interrupted."""
    without_telemetry()
    endpoint = endpoint or usual_endpoint()
    refuse_no_address(endpoint)
    with_token = token()
    host, page = endpoint_name(endpoint), page_of(endpoint, reference.repo)
    about = Asked(host, page, reference.repo, reference.revision or "main", "", with_token is not None)

    def ask() -> ModelInfo:
        api = HfApi(endpoint=endpoint, token=with_token or False)
        try:
            return api.model_info(reference.repo, revision=reference.revision, files_metadata=True, timeout=answer_s)
        except HFValidationError as error:
            raise SourceError(f'"{reference.repo}" is no name of a repository: {error}') from error
        except (JSONDecodeError, UnicodeDecodeError, LookupError, TypeError, AttributeError, RecursionError) as error:
            # The library takes the answer apart without looking: a mirror's, or a page that asks to log in.
            raise SourceError(
                f"{host} answered something else than the hub does (HF_ENDPOINT says who is asked)"
            ) from error

    info = patiently(
        lambda: asked(ask, endpoint, host, refused=about.refused, answer_s=answer_s, stop=stop), notice, stop
    )
    commit = info.sha if isinstance(info.sha, str) and info.sha else reference.revision or "main"
    return Repository(reference, commit, _licence(info), _files(info.siblings or ()))


def _files(siblings: Sequence[Any]) -> dict[str, ModelFile]:
    files = {}
    for sibling in siblings:
        name, size = sibling.rfilename, sibling.size
        if type(name) is not str or not name.lower().endswith(".gguf") or unsafe(name):
            continue
        if type(size) is not int or size <= 0:
            continue
        stated = str(sibling.lfs.sha256).lower() if sibling.lfs is not None else ""
        sha256 = stated if is_sha256(stated) else None
        files[name] = ModelFile(name, size, sha256, sha256 or sibling.blob_id or "")
    return files


def _licence(info: ModelInfo) -> str | None:
    card = info.card_data
    if card is None or not hasattr(card, "get"):
        return None
    named = card.get("license_name") if card.get("license") in (None, "other") else None
    licence = named or card.get("license")
    return ", ".join(map(str, licence)) if isinstance(licence, list) else str(licence) if licence else None


def _near(path: str, files: dict[str, ModelFile]) -> str:
    # Loaded only for those who mistyped.
    import difflib

    near = difflib.get_close_matches(path, files, n=1, cutoff=0.3)
    return f"; the nearest is {near[0]}" if near else ""
