"""Preferences and the JSON they are kept as, read strictly: errors name the place and what is allowed there."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from specdesk.errors import SpecdeskError, StorageError, UsageError
from specdesk.tui.preferences.catalogue import BY_KEY, DEFAULTS, PRESET_KEYS, Values
from specdesk.tui.preferences.presets import Preset, checked_name, same_name

VERSION: Final = 1
UNTOUCHED: Final = "defaults hold, and nothing is saved, until the file is mended or moved away"


@dataclass(frozen=True, slots=True)
class Preferences:
    """What the user saved. What is not among the values is left to the program's defaults."""

    values: Values = field(default_factory=dict)
    presets: tuple[Preset, ...] = ()
    """The user's own."""

    def with_values(self, changes: Values) -> Preferences:
        """The same with some values changed; one that is the default again is no longer said."""
        values = {key: value for key, value in {**self.values, **changes}.items() if value != DEFAULTS[key]}
        return Preferences(values, self.presets)


def written(preferences: Preferences) -> bytes:
    """The file."""
    record = {
        "version": VERSION,
        **_given(preferences.values),
        "presets": [{"name": preset.name, **_given(preset.values)} for preset in preferences.presets],
    }
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


def read(place: str, data: bytes) -> Preferences:
    """What the file at `place` says.

    Raises: StorageError for what was written by a newer specdesk; UsageError for what is damaged: no JSON, a key that
    is not known, with the nearest one, a value that is not allowed, with what is.
    """
    try:
        record = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _wrong(f"{place} is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise _wrong(f"{place} must hold an object, not {reprlib.repr(record)}")
    version = record.pop("version", VERSION)
    if type(version) is not int or version < 1:
        raise _wrong(f"{place}: version must be {VERSION}, not {reprlib.repr(version)}")
    if version > VERSION:
        raise StorageError(
            f"{place} was written by a newer specdesk (version {version}; this one reads {VERSION})",
            "defaults hold, and the file is left as it is",
        )
    presets = record.pop("presets", [])
    if not isinstance(presets, list):
        raise _wrong(f"{place}: presets must be a list, not {reprlib.repr(presets)}")
    return Preferences(_taken(place, record, [*BY_KEY, "version", "presets"]), _presets(place, presets))


def _presets(place: str, records: list[Any]) -> tuple[Preset, ...]:
    presets: list[Preset] = []
    for number, record in enumerate(records):
        where = f"{place}: presets[{number}]"
        if not isinstance(record, dict) or not isinstance(record.get("name"), str):
            raise _wrong(f"{where} must be an object with a name, not {reprlib.repr(record)}")
        name = record.pop("name")
        try:
            checked = checked_name(name)
        except ValueError as error:
            raise _wrong(f"{where}: {error}") from None
        if same_name(checked, [preset.name for preset in presets]):
            raise _wrong(f"{where}: there are two presets “{checked}”")
        presets.append(Preset(checked, _taken(f"{where} “{checked}”", record, [*PRESET_KEYS, "name"])))
    return tuple(presets)


def _taken(place: str, record: Mapping[str, object], known: Collection[str]) -> dict[str, Any]:
    values = {}
    for key, found in record.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.4)
            guess = f"; the nearest is “{near[0]}”" if near else ""
            raise _wrong(f"{place}: unknown key “{key}”{guess}; known are {', '.join(known)}")
        try:
            values[key] = BY_KEY[key].take(found)
        except ValueError as error:
            raise _wrong(f"{place}: “{key}”: {error}") from None
    return values


def _given(values: Values) -> dict[str, object]:
    return {key: BY_KEY[key].kind.give(value) for key, value in values.items()}


def _wrong(message: str) -> SpecdeskError:
    return UsageError(message, UNTOUCHED)
