"""The record of what was found to be fastest for a pair, kept from one run to the next."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from specdesk.engine.machine import machine, model_identity
from specdesk.engine.profiles import Profiles
from specdesk.engine.tuning.tuned import Tuned, TunedDraft
from specdesk.errors import StorageError
from specdesk.memory import CacheType

_KIND: Final = "tuned"


@dataclass(frozen=True, slots=True)
class TunedRecord:
    """What was found, and where it holds."""

    tuned: Tuned
    n_gpu_layers: int
    """Layers of the target on the GPU when it was measured; -1: all."""
    draft_n_gpu_layers: int
    given_pace: float
    """Expected tokens per second with the file and the settings as given."""
    tuned_pace: float
    """The same with what was chosen."""


class TunedRecords:
    """The record of one pair of files on this machine."""

    def __init__(self, target: Path, draft: Path, profiles: Profiles) -> None:
        """Raises ModelError for a file that cannot be read."""
        self._profiles = profiles
        self._key = {"target": model_identity(target), "draft": model_identity(draft), **machine()}

    def get(self) -> TunedRecord | None:
        """The record; None if there is none that can be read."""
        return _read(self._profiles.get(_KIND, self._key))

    def put(self, record: TunedRecord) -> None:
        """Keep it in place of the one before."""
        self._profiles.put(_KIND, self._key, asdict(record))

    def remove(self) -> bool:
        """Whether there was one. Raises StorageError if the disk refuses."""
        try:
            return self._profiles.remove(_KIND, self._key)
        except OSError as error:
            raise StorageError(f"cannot remove {error.filename}: {error.strerror}") from error


def _read(kept: Any) -> TunedRecord | None:
    """The record as it was kept; None if it is not one."""
    try:
        fields = dict(kept["tuned"])
        draft, threads, cache = (fields[name] for name in ("draft", "n_threads", "cache_type_k"))
        tuned = Tuned(
            None if draft is None else TunedDraft(draft["file"], draft["format"], draft["n_bytes"]),
            threads,
            None if cache is None else CacheType(cache),
        )
        record = replace(TunedRecord(tuned, 0, 0, 0.0, 0.0), **{name: kept[name] for name in _NUMBERS})
    except (TypeError, KeyError, ValueError):
        return None
    valid = (
        all(isinstance(layers, int) for layers in (record.n_gpu_layers, record.draft_n_gpu_layers))
        and all(isinstance(pace, float) and math.isfinite(pace) for pace in (record.given_pace, record.tuned_pace))
        and (threads is None or (isinstance(threads, int) and threads >= 1))
        and (tuned.draft is None or _is_draft(tuned.draft))
    )
    return record if valid else None


_NUMBERS: Final = ("n_gpu_layers", "draft_n_gpu_layers", "given_pace", "tuned_pace")


def _is_draft(draft: TunedDraft) -> bool:
    return isinstance(draft.file, str) and isinstance(draft.format, str) and isinstance(draft.n_bytes, int)
