"""What there is to choose from: first pairs and targets, then drafts for a target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from rich.filesize import decimal

from specdesk.core.pairing import Verdict
from specdesk.errors import StorageError
from specdesk.hub.artifacts import Pair
from specdesk.hub.here.chosen import Chosen
from specdesk.hub.here.local_models import LocalModel
from specdesk.tui.models.entries import (
    Entry,
    Machine,
    Section,
    draft_entry,
    may_draft,
    model_entry,
    no_draft_entry,
    pair_entry,
    told_apart,
)

_NOT_LOADABLE: Final = "Cannot be loaded"


class Menu:
    """Sections of entries. Models are added as they are found; what is asked of the disk is asked once."""

    def __init__(
        self,
        pairs: Sequence[Pair],
        machine: Machine,
        *,
        running: Chosen | None = None,
        tuned: str = "",
        may_fetch: bool = True,
    ) -> None:
        """`running` is what runs now, `tuned` what of it runs otherwise than given."""
        self.running = running
        self._machine = machine
        self._models: list[LocalModel] = []
        self._verdicts: dict[tuple[LocalModel, LocalModel], Verdict] = {}

        def entry_of(pair: Pair) -> Entry:
            return pair_entry(pair, machine, running=running, may_fetch=may_fetch, tuned=tuned)

        self._pairs = [_or_refused(pair, entry_of) for pair in pairs]

    @property
    def free(self) -> str:
        """What the models have to fit into."""
        return f"{decimal(self._machine.free_bytes)} free"

    def add(self, models: Sequence[LocalModel]) -> None:
        """These were found."""
        self._models += models

    def know(self, target: LocalModel, draft: LocalModel, verdict: Verdict) -> None:
        """Whether these two may speculate together, as their files are now."""
        self._verdicts[target, draft] = verdict

    def unjudged(self, target: LocalModel) -> list[LocalModel]:
        """The models that may or may not draft for the target, which their headers alone do not tell."""
        usable = (model for model in self._models if not model.problem and model.path != target.path)
        return [model for model in usable if may_draft(target, model, self._verdicts.get((target, model))) is None]

    def targets(self) -> list[Section]:
        """Pairs, then single models."""
        usable = sorted((model for model in self._models if not model.problem), key=_by_name)
        broken = [model for model in self._models if model.problem]
        return _filled(
            Section("Recommended pairs", self._pairs),
            Section("On this disk", told_apart([model_entry(model, self._machine) for model in usable])),
            Section(_NOT_LOADABLE, [model_entry(model, self._machine) for model in broken]),
        )

    def drafts(self, target: LocalModel) -> list[Section]:
        """Drafts for a target, the smallest first. It is none for itself: it would draft no faster than it decodes."""
        others = (model for model in self._models if not model.problem and model.path != target.path)
        drafts = sorted(others, key=lambda model: model.size_bytes)
        entries = told_apart(
            [draft_entry(target, draft, self._machine, self._verdicts.get((target, draft))) for draft in drafts]
        )
        return _filled(
            Section("Drafts", [no_draft_entry(target, self._machine), *(one for one in entries if not one.refusal)]),
            Section("Cannot draft for it", [entry for entry in entries if entry.refusal]),
        )


def matching(sections: Iterable[Section], text: str) -> list[Section]:
    """The entries that hold a text in what they are called; sections without any are left out."""
    wanted = text.strip().casefold()

    def holds(entry: Entry) -> bool:
        more = entry.details if entry.model is None else entry.model.file_name
        return wanted in f"{entry.name}\n{entry.why}\n{more}".casefold()

    return _filled(*(Section(section.title, list(filter(holds, section.entries))) for section in sections))


def _or_refused(pair: Pair, entry_of: Callable[[Pair], Entry]) -> Entry:
    try:
        return entry_of(pair)
    except StorageError as error:
        return Entry(f"pair {pair.name}", pair.name, details=str(error), why=error.message, refusal=str(error))


def _by_name(model: LocalModel) -> tuple[str, int]:
    return model.name.casefold(), model.size_bytes


def _filled(*sections: Section) -> list[Section]:
    return [section for section in sections if section.entries]


def key_of(chosen: Chosen | None) -> str | None:
    """The key of an entry among the targets: a pair's, or the target's file."""
    if chosen is None:
        return None
    return f"pair {chosen.pair}" if chosen.pair is not None else f"file {chosen.target}"
