"""Finds the draft format and the settings with which a pair writes fastest here, and keeps them for it.

What is compared are expected tokens per second, not milliseconds: a cheaper draft is worth nothing if it is wrong more
often. Files and settings are tried as given, whatever was tuned before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from specdesk.core.costs import PassCosts
from specdesk.core.tuning import least
from specdesk.engine.calibrate import TARGET_SIZES
from specdesk.engine.cores import best_threads, most_threads
from specdesk.engine.gguf import read_tensors
from specdesk.engine.resolve import Notify, as_given
from specdesk.engine.stop import StopFlag
from specdesk.engine.tuning.draft_files import FORMATS
from specdesk.engine.tuning.kept import Kept
from specdesk.engine.tuning.lock import alone
from specdesk.engine.tuning.measured import DraftFigures, Measured, worthwhile
from specdesk.engine.tuning.report import CacheTried, Report
from specdesk.engine.tuning.trial import N_PROMPTS, N_TOKENS, PROBE_SIZES, TargetTrial, draft_costs
from specdesk.engine.tuning.tuned import Tuned, TunedDraft
from specdesk.engine.tuning.tuned_records import TunedRecord
from specdesk.errors import ModelError, UsageError
from specdesk.memory import CacheType
from specdesk.settings import EngineSettings, NativeLibrary

__all__ = ["Report", "tune", "undo"]

_KEYS: Final = (CacheType.F16, CacheType.Q8_0)
"""How keys are tried to be cached: smaller types than these cost accuracy, and are for whoever lacks memory."""
_ROUNDS: Final = 2
"""How often everything that is compared is measured, in turn: the machine's speed drifts."""
_WEIGHTS_PER_S: Final = 4e7
"""That a thread quantizes, roughly; only how long all of it will take is told by it."""


def tune(settings: EngineSettings, notify: Notify, progress: Callable[[str], None], stop: StopFlag) -> Report:
    """Try draft formats, thread counts and cache types for the pair, and keep what is fastest for later runs.

    `notify` hears first how long it will take, and what could not be tried; `progress` what is done now. If a number of
    threads is set, only that is tried. Whatever ends it early leaves everything as it was.
    Raises: UsageError without a draft, for another library than llama.cpp, while another one runs, or for a context too
    small for the prompts; ModelError for files that cannot be loaded or do not fit each other; StorageError if the disk
    has no room or refuses; Interrupted if stopped.
    """
    if settings.engine is NativeLibrary.IK:
        raise UsageError("tune tries llama.cpp alone", "leave --engine out; a draft that it makes serves both")
    kept = Kept(settings, notify)
    with alone(), kept.files:
        tuning = _Tuning(settings, kept, notify, progress, stop)
        report = tuning.report()
        layers = tuning.given.target_options.n_gpu_layers, tuning.given.draft_options.n_gpu_layers
        kept.put(TunedRecord(report.tuned, layers[0], layers[1], report.given_pace, report.tuned_pace))
    return report


def undo(settings: EngineSettings, notify: Notify) -> list[str]:
    """Forget what was tuned for the pair and remove the files made of its draft; returns what was removed, in words.

    Another pair that was tuned with the same draft then says that the file is gone, and uses the one given.
    Raises: UsageError without a draft, and while another one runs; ModelError for a model that cannot be read;
    StorageError if the disk refuses.
    """
    kept = Kept(settings, notify)
    with alone():
        return kept.remove()


class _Tuning:
    """One run."""

    def __init__(
        self,
        settings: EngineSettings,
        kept: Kept,
        notify: Notify,
        progress: Callable[[str], None],
        stop: StopFlag,
    ) -> None:
        self._target = settings.target
        self._draft = kept.draft
        self._files = kept.files
        self.given = as_given(settings, notify)
        self._n_given = self.given.target_options.n_threads
        self._counts = _thread_counts() if settings.n_threads is None else [self._n_given]
        self._keys = _KEYS if settings.cache_type_k is None else (settings.cache_type_k,)
        self._notify = notify
        self._progress = progress
        self._stop = stop

    def report(self) -> Report:
        with TargetTrial(self._target, self.given.target_options, self._stop) as trial:
            self._notify(f"tuning {self._target.name} with {self._draft.name}: {self._how_long(trial)}")
            files = self._make()
            measured = self._measure(trial, files)
            kind, n_threads = measured.fastest()
            caches = self._try_caches(trial, measured, kind, n_threads)
        tuned = Tuned(
            None if kind is None else TunedDraft(str(files[kind]), kind, files[kind].stat().st_size),
            None if n_threads == self._n_given else n_threads,
            worthwhile(caches),
        )
        return Report(
            measured.formats(files),
            measured.threads(kind),
            caches,
            tuned,
            measured.pace(None, self._n_given),
            measured.pace(kind, n_threads),
        )

    def _make(self) -> dict[str | None, Path]:
        """The formats that can be had; None: as given."""
        made: dict[str | None, Path] = {None: self._draft}
        for wanted in FORMATS:
            self._progress(f"writing the draft as {wanted} ...")
            try:
                path = self._files.get(wanted, self._n_given, self._stop)
            except ModelError as error:
                self._notify(f"{error}: not tried")
            else:
                if path is not None:
                    made[wanted.value] = path
        return made

    def _measure(self, trial: TargetTrial, files: Mapping[str | None, Path]) -> Measured:
        self._progress("the target answers some prompts ...")
        samples = trial.samples()
        agreements: dict[str | None, list[list[float]]] = {}
        for kind, path in files.items():
            self._progress(f"trying the draft as {kind or 'given'} ...")
            try:
                agreements[kind] = trial.agreements(path, self.given.draft_options, samples)
            except ModelError as error:
                if kind is None:
                    raise
                self._notify(f"{error}: not tried")
        costs: dict[tuple[str | None, int], PassCosts] = {}
        probes: dict[int, PassCosts] = {}
        for turn in range(1, _ROUNDS + 1):
            for kind in agreements:
                self._progress(f"measuring steps of the draft as {kind or 'given'}, {turn} of {_ROUNDS} ...")
                found = draft_costs(files[kind], self.given.draft_options, self._counts, self._stop)
                for n_threads, cost in found.items():
                    costs[kind, n_threads] = least(costs.get((kind, n_threads), cost), cost)
            for n_threads in self._counts:
                self._progress(f"measuring target passes, threads: {n_threads}, {turn} of {_ROUNDS} ...")
                probe = trial.costs(n_threads, PROBE_SIZES, self._keys[0])
                probes[n_threads] = least(probes.get(n_threads, probe), probe)
        self._progress("measuring target passes of all sizes ...")
        staircase = trial.costs(self._n_given, TARGET_SIZES, self._keys[0])
        drafts = {
            kind: DraftFigures(agreements[kind], {n: costs[kind, n] for n in self._counts}) for kind in agreements
        }
        return Measured(self._n_given, staircase, probes, drafts)

    def _try_caches(self, trial: TargetTrial, measured: Measured, kind: str | None, n_threads: int) -> list[CacheTried]:
        probes: dict[CacheType, PassCosts] = {}
        try:
            for turn in range(1, _ROUNDS + 1):
                for name in self._keys:
                    self._progress(f"measuring target passes, keys cached as {name}, {turn} of {_ROUNDS} ...")
                    probe = trial.costs(n_threads, PROBE_SIZES, name)
                    probes[name] = least(probes.get(name, probe), probe)
        except ModelError as error:
            self._notify(f"keys cached as {CacheType.Q8_0}: {error.message}: not tried")
        return [measured.cache(kind, n_threads, name, probe) for name, probe in probes.items()]

    def _how_long(self, trial: TargetTrial) -> str:
        """Roughly, by two sizes of target passes and the sizes of the files."""
        costs = trial.costs(self._n_given, (1, 8), self._keys[0])
        one, eight = costs.base_s
        of_draft = self._draft.stat().st_size / self._target.stat().st_size
        n_drafts = 1 + len(FORMATS)
        # Fewer threads take longer; a measurement reads some 112 tokens to fill the cache.
        slower = sum(max(1.0, self._n_given / n) for n in self._counts)
        probe_s = 6 * one + 20 * eight
        total = N_PROMPTS * N_TOKENS * one
        total += n_drafts * N_PROMPTS * N_TOKENS / 8 * eight * (1 + of_draft)
        total += _ROUNDS * (slower * (1 + n_drafts * of_draft) + len(self._keys)) * probe_s
        total += 2 * sum(max(one, n / 8 * eight) for n in TARGET_SIZES) + probe_s
        total += len(FORMATS) * read_tensors(self._draft).n_weights / (_WEIGHTS_PER_S * self._n_given)
        return f"about {max(1.0, total):.0f} s" if total < 90 else f"about {total / 60:.0f} minutes"


def _thread_counts() -> list[int]:
    """1, 2, 4, ... and the most there may be, the default among them."""
    powers = [2**power for power in range(most_threads().bit_length())]
    return sorted({*powers, best_threads(), most_threads()})
