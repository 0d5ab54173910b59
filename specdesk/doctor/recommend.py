"""Which pair suits a machine: pure functions over facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.filesize import decimal

from specdesk.doctor.facts import Facts, PairFacts
from specdesk.hub.here.fit import Fit, fit
from specdesk.hub.here.inventory import Presence

_BYTES_PER_CORE: Final = 25 * 10**8
_MOST_BYTES: Final = 10**10
"""The largest target worth recommending for a processor: each token reads all of it. A core of the machine that was
measured reads 18 GB a second, other machines less, and four cores often all that memory gives: some 5 tokens/s."""
_SMALL_CTX: Final = 1024
_FREE: Final = ("Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause")
"""Licences that nobody has to read before using a model."""


@dataclass(frozen=True, slots=True)
class Room:
    """What models are to fit into."""

    where: str
    free_bytes: int
    on_gpu: bool

    def needed_bytes(self, pair: PairFacts) -> int:
        """What a pair would take of it."""
        return pair.gpu_bytes if self.on_gpu else pair.needed_bytes

    def fit(self, pair: PairFacts) -> Fit:
        """How a pair goes into it."""
        return fit(self.needed_bytes(pair), self.free_bytes)


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What to run here."""

    pair: PairFacts | None
    """None where nothing can be recommended."""
    why: str


def room(facts: Facts) -> Room:
    """The memory of the GPUs that llama.cpp sees, all together, or else that of the system."""
    build = facts.engine.build
    devices = [device for device in build.devices if device.takes_layers] if build is not None else []
    if devices:
        return Room(" and ".join(device.name for device in devices), sum(d.free_bytes for d in devices), on_gpu=True)
    return Room("memory", facts.memory_free_bytes, on_gpu=False)


def recommend(facts: Facts) -> Recommendation:
    """The largest target that fits with room to spare and is not too slow to read along with; the first of equals.

    Only what is here or can be had. Where the hub has nothing, one that is here, if one fits.
    """
    space = room(facts)
    within_reach = [pair for pair in facts.pairs if can_be_had(facts, pair)]
    if not within_reach:
        return Recommendation(
            None, f"no pair is here, and none can be had: {facts.models_problem or facts.hub.problem}"
        )
    fitting = [pair for pair in within_reach if space.fit(pair) is Fit.FITS]
    if facts.hub.problem:
        fitting = [pair for pair in fitting if pair.presence is Presence.HERE] or fitting
    if not fitting:
        return _least(facts, space, within_reach)
    limit = min(facts.n_threads * _BYTES_PER_CORE, _MOST_BYTES)
    quick = [pair for pair in fitting if space.on_gpu or pair.target_bytes <= limit]
    best = max(quick, key=_target) if quick else min(fitting, key=_target)
    why = f"{decimal(space.needed_bytes(best))} of {decimal(space.free_bytes)} free in {space.where}"
    if len(quick) < len(fitting):
        why += f"; larger ones would be slow on {facts.n_threads} thread{'' if facts.n_threads == 1 else 's'}"
    return Recommendation(best, why)


def can_be_had(facts: Facts, pair: PairFacts) -> bool:
    """Whether it is here, or what is missing of it has a source that may be asked."""
    if pair.presence is Presence.HERE:
        return True
    source = not facts.hub.problem or (pair.elsewhere and not facts.hub.closed)
    return source and not facts.models_problem


def licence_note(pair: PairFacts) -> str:
    """Its licence, where that is not one that lets everybody use it for anything; else empty."""
    unfree = [licence for licence in pair.licence.split(" + ") if licence not in _FREE]
    return f"its licence: {' + '.join(unfree)}" if unfree else ""


def _least(facts: Facts, space: Room, within_reach: Sequence[PairFacts]) -> Recommendation:
    """Where nothing fits with room to spare."""
    least = min(within_reach, key=space.needed_bytes)
    needed = space.needed_bytes(least)
    free = f"{decimal(space.free_bytes)} are free in {space.where}"
    needs = f"{least.name} takes {decimal(needed)}, and {free}"
    if space.fit(least) is Fit.TIGHT:
        return Recommendation(least, f"the smallest, and it is tight: {needs}")
    shorter = needed - least.cache_bytes + least.cache_bytes * _SMALL_CTX // facts.n_ctx
    if facts.n_ctx > _SMALL_CTX and shorter <= space.free_bytes:
        return Recommendation(least, f"only with a smaller context, --ctx {_SMALL_CTX}: {needs}")
    return Recommendation(None, f"no pair fits: the smallest, {needs}; close other programs")


def _target(pair: PairFacts) -> int:
    return pair.target_bytes
