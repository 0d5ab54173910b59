"""Settings that go together, under a name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from specdesk.core.sampling import Sampling
from specdesk.tui.preferences.catalogue import PRESET_KEYS, SAMPLING_KEYS, Values

_LONGEST: Final = 60


@dataclass(frozen=True, slots=True)
class Preset:
    """A name, and values for some settings; it leaves the others as they are."""

    name: str
    values: Values

    def matches(self, values: Values) -> bool:
        """Whether all that it says holds there."""
        return all(values.get(key) == value for key, value in self.values.items())


def _built_in(name: str, sampling: Sampling) -> Preset:
    return Preset(name, {key: getattr(sampling, key) for key in SAMPLING_KEYS})


BUILT_IN: Final = (
    _built_in("Greedy (T 0)", Sampling(temperature=0.0)),
    _built_in("Precise code", Sampling(temperature=0.2, top_p=0.9)),
    _built_in("Balanced", Sampling()),
    _built_in("Creative", Sampling(temperature=1.1, top_k=0, top_p=1.0)),
)
"""Presets that are always there. They say how to sample and nothing else; Balanced is llama.cpp's default."""


def own_preset(name: str, values: Values) -> Preset:
    """A preset of the user's own. Raises ValueError for a name that cannot be."""
    return Preset(checked_name(name), {key: values[key] for key in PRESET_KEYS})


def checked_name(name: str) -> str:
    """`name` as it is kept. Raises ValueError that says what a name must be."""
    plain = " ".join(name.split())
    if not plain or len(plain) > _LONGEST:
        raise ValueError(f"a preset's name has 1 to {_LONGEST} characters, not {len(plain)}")
    if same_name(plain, [preset.name for preset in BUILT_IN]):
        raise ValueError(f"“{plain}” comes with specdesk and stays as it is; take another name")
    return plain


def same_name(name: str, names: Sequence[str]) -> bool:
    """Whether one of them is that name, in whatever case."""
    return name.casefold() in [other.casefold() for other in names]


def with_preset(presets: Sequence[Preset], added: Preset) -> tuple[Preset, ...]:
    """The presets and one more; it takes the place of one with its name."""
    return (*without_preset(presets, added.name), added)


def without_preset(presets: Sequence[Preset], name: str) -> tuple[Preset, ...]:
    """The presets but for the one of that name."""
    return tuple(preset for preset in presets if not same_name(name, [preset.name]))
