"""What the picker lists: pairs, models, drafts for a model; for each its line, and more to read below."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.filesize import decimal

from specdesk.core.pairing import Verdict, size_note
from specdesk.hub.artifacts import Artifact, Pair
from specdesk.hub.here.chosen import Chosen, of_pair
from specdesk.hub.here.fit import Fit, fit
from specdesk.hub.here.local_models import LocalModel
from specdesk.hub.here.on_disk import has_pair, missing_files
from specdesk.memory import needed_bytes
from specdesk.tui.file_names import with_tilde
from specdesk.tui.models.fetch_words import memory
from specdesk.tui.models.offer import still_to_come


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the picker."""

    key: str
    """Tells it from the others."""
    name: str
    disk: str = ""
    """What it takes on the disk, or has to be fetched."""
    memory: str = ""
    fit: Fit | None = None
    details: str = ""
    """To be read while it is pointed at."""
    chosen: Chosen | None = None
    """What is loaded when it is taken; None where more has to be asked, or it cannot be taken."""
    model: LocalModel | None = None
    """The file it is about."""
    why: str = ""
    """In short, why it cannot be taken; stands in the place of disk, memory and fit."""
    refusal: str = ""
    """The same at length."""
    absent: bool = False
    """Whether it has to be downloaded first."""


@dataclass(frozen=True, slots=True)
class Section:
    """Entries that belong together."""

    title: str
    entries: Sequence[Entry]


@dataclass(frozen=True, slots=True)
class Machine:
    """What the models are to fit into."""

    free_bytes: int
    n_ctx: int


def pair_entry(pair: Pair, machine: Machine, *, running: Chosen | None, may_fetch: bool, tuned: str = "") -> Entry:
    """A recommended pair. Raises StorageError where the disk does not say what is here."""
    here = has_pair(pair)
    needed = pair.memory_bytes(machine.n_ctx)
    runs = running is not None and running.pair == pair.name
    notes = ("runs now" + (f"; tuned: {tuned}" if tuned else "")) if runs else ""
    refusal = "" if here or may_fetch else f"{pair.name} is not on this disk, and --no-download forbids to fetch it"
    return Entry(
        key=f"pair {pair.name}",
        name=pair.name,
        disk="here" if here else f"{decimal(still_to_come(pair))} to fetch",
        memory=decimal(needed),
        fit=fit(needed, machine.free_bytes),
        details=_lines(
            f"{pair.summary}{'; it ' + notes if notes else ''}",
            refusal,
            memory(needed, machine.free_bytes, machine.n_ctx),
            *(_artifact(role, artifact) for role, artifact in zip(("target", "draft"), pair.artifacts, strict=True)),
        ),
        chosen=of_pair(pair),
        why="not here; --no-download is set" if refusal else "",
        refusal=refusal,
        absent=not here,
    )


def model_entry(model: LocalModel, machine: Machine) -> Entry:
    """A model of this disk, as a target."""
    if model.problem:
        return Entry(
            key=f"file {model.path}",
            name=model.file_name,
            details=_lines(f"{model.problem} ({decimal(model.size_bytes)})", with_tilde(model.path)),
            model=model,
            why=model.problem,
            refusal=f"{model.file_name} cannot be loaded: {model.problem}",
        )
    needed = needed_bytes([model.memory], machine.n_ctx)
    return Entry(
        key=f"file {model.path}",
        name=named(model),
        disk=decimal(model.size_bytes),
        memory=decimal(needed),
        fit=fit(needed, machine.free_bytes),
        details=_lines(_facts(model), memory(needed, machine.free_bytes, machine.n_ctx), with_tilde(model.path)),
        model=model,
    )


def no_draft_entry(target: LocalModel, machine: Machine) -> Entry:
    """The target without a draft model."""
    needed = needed_bytes([target.memory], machine.n_ctx)
    return Entry(
        key="no draft",
        name="no draft model",
        memory=decimal(needed),
        fit=fit(needed, machine.free_bytes),
        details=_lines(
            "only what followed the last time the text went like this is drafted: that costs nothing, and pays where "
            "much is repeated",
            memory(needed, machine.free_bytes, machine.n_ctx),
        ),
        chosen=Chosen(None, target.path, None),
    )


def draft_entry(target: LocalModel, draft: LocalModel, machine: Machine, verdict: Verdict | None) -> Entry:
    """A model of this disk as a draft for the target; `verdict` is None as long as they have not been compared."""
    needed = needed_bytes([target.memory, draft.memory], machine.n_ctx)
    said = "the same vocabulary" if verdict is None else verdict.why
    said += f"; {size_note(_active_bytes(target), _active_bytes(draft))}"
    refusal = ""
    if not may_draft(target, draft, verdict):
        reason = "the two vocabularies are being compared …" if verdict is None else verdict.sentence
        refusal = f"{draft.file_name} cannot draft for {target.file_name}: {reason.removeprefix('refused: ')}"
    return Entry(
        key=f"file {draft.path}",
        name=named(draft),
        disk=decimal(draft.size_bytes),
        memory=decimal(needed),
        fit=fit(needed, machine.free_bytes),
        details=_lines(
            refusal or said,
            _facts(draft),
            "" if refusal else memory(needed, machine.free_bytes, machine.n_ctx),
            with_tilde(draft.path),
        ),
        chosen=None if refusal else Chosen(None, target.path, draft.path),
        model=draft,
        why=_why(target, draft, verdict) if refusal else "",
        refusal=refusal,
    )


def may_draft(target: LocalModel, draft: LocalModel, verdict: Verdict | None) -> bool | None:
    """Whether it may, by the verdict or else by the headers; None where they do not tell.

    The engine judges again when it loads them.
    """
    if verdict is not None:
        return verdict.usable
    if target.header is None or draft.header is None or target.header.recurrent or draft.header.recurrent:
        return None
    return True if target.header.vocabulary == draft.header.vocabulary else None


def _why(target: LocalModel, draft: LocalModel, verdict: Verdict | None) -> str:
    """In short, why it may not."""
    if verdict is None:
        return "being compared …"
    ours, theirs = (None if model.header is None else model.header.vocabulary for model in (target, draft))
    if ours is None or theirs is None:
        return verdict.why
    if ours == theirs:
        return "a running state cannot be cut back"
    # As many tokens are no reason: then it is told which one differs.
    return verdict.why if ours.n_used == theirs.n_used else f"another vocabulary of {theirs.n_used:,} tokens"


def _active_bytes(model: LocalModel) -> float:
    return model.size_bytes * (1.0 if model.header is None else model.header.active_part)


def told_apart(entries: Sequence[Entry]) -> list[Entry]:
    """The entries, those of one name by their files' names, and where these are the same, by their folders' too."""
    names = Counter(entry.name for entry in entries)
    files = Counter(entry.model.file_name for entry in entries if entry.model is not None and names[entry.name] > 1)

    def apart(entry: Entry) -> Entry:
        model = entry.model
        if model is None or names[entry.name] == 1:
            return entry
        file = model.file_name if files[model.file_name] == 1 else f"{model.path.parent.name}/{model.path.name}"
        return replace(entry, name=file if file == entry.name else f"{file} · {entry.name}")

    return list(map(apart, entries))


def named(model: LocalModel) -> str:
    """What it is called, with its format."""
    quantization = "" if model.header is None else model.header.quantization
    told = quantization.casefold() in model.name.casefold()
    return model.name if told else f"{model.name} {quantization}"


def _facts(model: LocalModel) -> str:
    header = model.header
    if header is None:
        return ""
    vocabulary = "" if header.vocabulary is None else f"{header.vocabulary.n_used:,} tokens in its vocabulary"
    context = f"trained for {header.n_ctx_train:,} tokens" if header.n_ctx_train else ""
    return ", ".join(filter(None, (header.architecture, header.quantization, context, vocabulary)))


def _artifact(role: str, artifact: Artifact) -> str:
    state = "to fetch" if missing_files(artifact) else "here"
    return f"{role}: {artifact.files[0].path}, {decimal(artifact.size_bytes)}, {artifact.licence}, {state}"


def _lines(*lines: str) -> str:
    return "\n".join(filter(None, lines))
