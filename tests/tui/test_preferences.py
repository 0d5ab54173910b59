"""What is saved: read again as it was, told exactly where it is not understood, and never lost."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specdesk.core.names import DrafterName, RuleName
from specdesk.errors import SpecdeskError, StorageError, UsageError
from specdesk.paths import preferences_file
from specdesk.tui.preferences import keeper as keeper_module
from specdesk.tui.preferences.catalogue import BY_KEY, DEFAULTS, PRESET_KEYS, SETTINGS
from specdesk.tui.preferences.keeper import Keeper
from specdesk.tui.preferences.presets import BUILT_IN, checked_name, own_preset, with_preset
from specdesk.tui.preferences.record import Preferences
from specdesk.tui.view import View

EVIL = "[red]x[/red] [/ [b + 1 “é” 漢字 \U0001f469\u200d\U0001f680"
VALUES = {
    "temperature": 0.25,
    "top_k": 0,
    "min_p": 1e-07,
    "repeat_last_n": -1,
    "seed": 2**63 - 1,
    "max_tokens": 9,
    "lookahead": 0,
    "drafter": DrafterName.SUFFIX,
    "verify": RuleName.COUPLED,
    "exact": True,
    "ctx": 512,
    "system": f"{EVIL}\n\ttwo\\n",
    "view": View.TOKENS,
    "show_rejected": False,
    "show_chats": True,
    "theme": "nord",
}


def wrote(text: str | bytes) -> Path:
    path = preferences_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def saved(**values: Any) -> Callable[[Preferences], Preferences]:
    return lambda before: before.with_values(values)


def test_there_is_nothing_to_read_at_first_and_nothing_is_made() -> None:
    keeper = Keeper.open()
    assert keeper.preferences == Preferences()
    assert keeper.problem is None
    assert not preferences_file().exists()
    assert not preferences_file().parent.exists()


def test_what_was_saved_is_read_again() -> None:
    preset = own_preset(EVIL, {**DEFAULTS, **VALUES})
    Keeper.open().keep(lambda before: Preferences(before.with_values(VALUES).values, (preset,)))
    again = Keeper.open()
    assert again.problem is None
    assert again.preferences == Preferences(VALUES, (preset,))
    assert {key: type(value) for key, value in again.preferences.values.items()} == {
        key: type(value) for key, value in VALUES.items()
    }
    assert preset.values.keys() == set(PRESET_KEYS)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_each_default_is_read_as_it_is_written_and_shown(setting: Any) -> None:
    kind = setting.kind
    assert kind.take(json.loads(json.dumps(kind.give(setting.default)))) == setting.default
    assert setting.read(kind.show(setting.default)) == setting.default


def test_only_what_is_not_the_default_is_in_the_file() -> None:
    keeper = Keeper.open()
    keeper.keep(saved(temperature=0.25, seed=4, system="brief"))
    keeper.keep(saved(temperature=0.8, system=None))
    assert json.loads(preferences_file().read_text()) == {"version": 1, "seed": 4, "presets": []}


def test_words_stand_for_what_is_no_number() -> None:
    wrote('{"lookahead": "auto", "verify": "automatic", "show_chats": "hidden", "max_tokens": null, "exact": true}')
    values = Keeper.open().preferences.values
    assert values == {"lookahead": None, "verify": None, "show_chats": False, "max_tokens": None, "exact": True}


def test_only_its_owner_can_read_it_and_no_part_is_left() -> None:
    Keeper.open().keep(saved(seed=1))
    path = preferences_file()
    path.chmod(0o644)
    Keeper.open().keep(saved(seed=2))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    path = preferences_file()
    path.parent.mkdir(parents=True)
    path.symlink_to(real)
    Keeper.open().keep(saved(seed=3))
    assert path.is_symlink()
    assert json.loads(real.read_text())["seed"] == 3


def test_two_that_save_in_turn_keep_what_the_other_saved() -> None:
    one, other = Keeper.open(), Keeper.open()
    mine = own_preset("Mine", DEFAULTS)
    one.keep(saved(seed=1))
    other.keep(saved(temperature=0.5))
    one.keep(lambda before: Preferences(before.values, with_preset(before.presets, mine)))
    other.keep(saved(theme="nord"))
    assert Keeper.open().preferences == Preferences({"seed": 1, "temperature": 0.5, "theme": "nord"}, (mine,))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"temprature": 1}', ["“temprature”", "nearest is “temperature”", "known are temperature, top_k"]),
        ('{"xyzzy": 1}', ["unknown key “xyzzy”", "known are"]),
        ('{"temperature": -1}', ["“temperature”", "0 or more, not -1"]),
        ('{"temperature": "hot"}', ["“temperature”", "must be a number, not 'hot'"]),
        ('{"temperature": true}', ["“temperature”", "must be a number, not true"]),
        ('{"temperature": null}', ["“temperature”", "must be a number, not null"]),
        ('{"top_p": 1.5}', ["“top_p”", "top-p must be above 0 and at most 1, not 1.5"]),
        ('{"top_k": 1.5}', ["“top_k”", "must be a whole number", "not 1.5"]),
        ('{"top_k": -1}', ["“top_k”", "top-k must be 0 (off) or more, not -1"]),
        ('{"seed": -1}', ["“seed”", "empty or a whole number from 0 to", "not -1"]),
        ('{"seed": true}', ["“seed”", "not true"]),
        ('{"lookahead": 65}', ["“lookahead”", "auto, off or a whole number from 0 to 64, not 65"]),
        ('{"lookahead": "fast"}', ["“lookahead”", "auto, off or a whole number", "not 'fast'"]),
        ('{"drafter": "mode"}', ["“drafter”", "cascade, model or suffix, not 'mode'"]),
        ('{"exact": 1}', ["“exact”", "true or false, not 1"]),
        ('{"ctx": 1}', ["“ctx”", "16 to 4194304, not 1"]),
        ('{"system": ["x"]}', ["“system”", "must be a text or null"]),
        ('{"presets": {}}', ["presets must be a list"]),
        ('{"presets": [{"temperature": 1}]}', ["presets[0]", "a name"]),
        ('{"presets": [{"name": "a"}, {"name": "A "}]}', ["presets[1]", "two presets “A”"]),
        ('{"presets": [{"name": "balanced"}]}', ["presets[0]", "“balanced” comes with specdesk"]),
        ('{"presets": [{"name": " "}]}', ["presets[0]", "1 to 60 characters"]),
        ('{"presets": [{"name": "a", "top_pp": 1}]}', ["presets[0] “a”", "“top_pp”", "nearest is “top_p”"]),
        ('{"presets": [{"name": "a", "ctx": 64}]}', ["presets[0] “a”", "“ctx”"]),
        ('{"version": "1"}', ["version must be 1, not '1'"]),
        ("[]", ["must hold an object"]),
        ("{", ["is not JSON"]),
        ("", ["is not JSON"]),
        (b'{"system": "\xff"}', ["is not JSON"]),
        ("[" * 100_000, ["is not JSON"]),
        ('{"temperature": NaN}', ["is not JSON"]),
        ('{"temperature": 1e999}', ["is not JSON: Number out of range"]),
    ],
)
def test_what_is_damaged_is_told_and_set_aside(text: str | bytes, told: list[str]) -> None:
    path = wrote(text)
    before = path.read_bytes()
    keeper = Keeper.open()
    assert keeper.preferences == Preferences()
    assert keeper.problem is not None
    for part in (str(path), "set aside as preferences.json.damaged", *told):
        assert part in str(keeper.problem)
    aside = path.with_name("preferences.json.damaged")
    assert aside.read_bytes() == before
    assert not path.exists()
    assert keeper.can_save
    keeper.keep(saved(seed=1))
    assert Keeper.open().preferences.values == {"seed": 1}
    assert aside.read_bytes() == before


def test_nothing_is_set_aside_over_what_was_before() -> None:
    asides = [f"preferences.json.damaged{number}" for number in ("", "-2", "-3")]
    for text, aside in zip("123", asides, strict=True):
        path = wrote(f"{{{text}")
        assert f"set aside as {aside} in" in str(Keeper.open().problem)
    assert [path.with_name(aside).read_text() for aside in asides] == ["{1", "{2", "{3"]


def test_of_two_that_open_a_damaged_file_at_once_neither_takes_what_the_other_saved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrote("{")
    real, opened = keeper_module._set_aside, []

    def later(path: Path, error: SpecdeskError) -> object:
        monkeypatch.setattr(keeper_module, "_set_aside", real)
        opened.append(Keeper.open())
        opened[0].keep(saved(seed=5))
        return real(path, error)

    monkeypatch.setattr(keeper_module, "_set_aside", later)
    late = Keeper.open()
    assert late.preferences.values == {"seed": 5}
    assert late.problem is None
    assert preferences_file().exists()


def test_a_damaged_file_that_cannot_be_set_aside_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    path = wrote("{")

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "rename", refuse)
    keeper = Keeper.open()
    assert "nothing is saved" in str(keeper.problem)
    assert not keeper.can_save
    with pytest.raises(SpecdeskError, match="holds for this run, and the file stays"):
        keeper.keep(saved(seed=1))
    assert path.read_text() == "{"


def test_what_a_newer_one_wrote_is_told_and_stays() -> None:
    text = '{"version": 2, "new": 1}'
    path = wrote(text)
    keeper = Keeper.open()
    assert "newer specdesk (version 2; this one reads 1)" in str(keeper.problem)
    assert not keeper.can_save
    with pytest.raises(StorageError, match="newer specdesk"):
        keeper.keep(saved(seed=1))
    assert path.read_text() == text


def test_a_file_that_is_damaged_while_a_chat_runs_is_not_written_over() -> None:
    keeper = Keeper.open()
    path = wrote('{"seeds": 1}')
    with pytest.raises(UsageError, match=r"nearest is “seed”.*holds for this run, and the file stays"):
        keeper.keep(saved(top_k=1))
    assert path.read_text() == '{"seeds": 1}'
    wrote('{"seed": 1}')
    keeper.keep(saved(top_k=1))
    assert Keeper.open().preferences.values == {"seed": 1, "top_k": 1}


_SAVE = """
import sys
from specdesk.tui.preferences.keeper import Keeper
from specdesk.tui.preferences.presets import Preset, with_preset
from specdesk.tui.preferences.record import Preferences
keeper = Keeper.open()
print("ready", flush=True)
sys.stdin.readline()
for number in range(20):
    added = Preset(f"{sys.argv[1]} {number}", {})
    keeper.keep(lambda before: Preferences(before.values, with_preset(before.presets, added)))
"""


def test_processes_that_save_at_once_lose_nothing() -> None:
    wrote("{}")
    saving = [
        subprocess.Popen([sys.executable, "-c", _SAVE, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in "abc"
    ]
    for process in saving:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in saving:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    while any(process.poll() is None for process in saving):
        assert Keeper.open().problem is None  # whoever reads meanwhile finds it whole
    for process in saving:
        process.communicate()
        assert process.returncode == 0
    names = {preset.name for preset in Keeper.open().preferences.presets}
    assert names == {f"{name} {number}" for name in "abc" for number in range(20)}


def test_one_that_hangs_while_it_saves_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    path = wrote("{}")
    monkeypatch.setattr(keeper_module, "_PATIENCE_S", 0.05)
    held = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        Keeper.open().keep(saved(seed=1))
    finally:
        os.close(held)
    assert Keeper.open().preferences.values == {"seed": 1}


def test_a_file_system_without_locks_is_written_nevertheless(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", none)
    for temperature in (0.5, 0.25):  # the directory is there the second time, and could be locked
        Keeper.open().keep(saved(temperature=temperature))
    assert Keeper.open().preferences.values["temperature"] == 0.25


def test_a_directory_or_a_pipe_in_its_place_is_told() -> None:
    path = preferences_file()
    path.mkdir(parents=True)
    assert "no regular file" in str(Keeper.open().problem)
    path.rmdir()
    os.mkfifo(path)
    assert "no regular file" in str(Keeper.open().problem)


def test_where_nothing_can_be_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    keeper = Keeper.open(tmp_path / "file" / "preferences.json")
    assert "Not a directory" in str(keeper.problem)
    with pytest.raises(StorageError, match="Not a directory"):
        keeper.keep(saved(seed=1))
    too_long = Keeper.open(tmp_path / ("x" * 300) / "preferences.json")
    assert "File name too long" in str(too_long.problem)
    assert too_long.can_save  # as far as can be told without trying


def test_where_nothing_can_be_written_that_is_said(read_only: Callable[[], None]) -> None:
    path = wrote('{"seed": 1}')
    read_only()
    with pytest.raises(StorageError, match=r"cannot write .*preferences.*: Permission denied"):
        Keeper.open().keep(saved(seed=2))
    assert json.loads(path.read_text()) == {"seed": 1}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_may_not_be_written_is_said() -> None:
    path = wrote('{"seed": 1}')
    path.parent.chmod(0o500)
    try:
        with pytest.raises(StorageError, match="cannot write"):
            Keeper.open().keep(saved(seed=2))
    finally:
        path.parent.chmod(0o700)
    assert json.loads(path.read_text()) == {"seed": 1}


def test_a_disk_that_fills_up_leaves_what_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    path = wrote('{"seed": 1}')

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        Keeper.open().keep(saved(seed=2))
    assert json.loads(path.read_text()) == {"seed": 1}
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("key", "text", "told"),
    [
        ("temperature", "0,8", "temperature must be a number, not '0,8'"),
        ("temperature", "", "temperature must be a number, not ''"),
        ("temperature", "nan", "temperature must be 0 or more, not nan"),
        ("temperature", "-0.1", "temperature must be 0 or more, not -0.1"),
        ("top_p", "0", "top-p must be above 0 and at most 1, not 0.0"),
        ("top_p", "nan", "top-p must be above 0"),
        ("min_p", "2", "min-p must be between 0 and 1, not 2.0"),
        ("repeat_penalty", "0", "the repeat penalty must be above 0, not 0.0"),
        ("top_k", "9" * 30, "top-k must be a whole number from"),
        ("seed", "-1", "seed must be empty or a whole number from 0 to 9223372036854775807, not -1"),
        ("seed", "9" * 5000, "seed must be empty"),
        ("lookahead", "", "lookahead must be auto, off or a whole number from 0 to 64, not empty"),
        ("ctx", "64k", "context must be a whole number from 16 to 4194304, not 64k"),
        ("system", "\ud800", "system prompt must be text"),
    ],
)
def test_what_is_typed_is_refused_by_name(key: str, text: str, told: str) -> None:
    with pytest.raises(ValueError) as refused:
        BY_KEY[key].read(text)
    assert str(refused.value).startswith(told)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("temperature", " 1e-3 ", 0.001),
        ("seed", "", None),
        ("seed", " 7 ", 7),
        ("lookahead", "AUTO", None),
        ("lookahead", "off", 0),
        ("lookahead", "0", 0),
        ("system", "", None),
        ("system", " ", " "),
    ],
)
def test_what_is_typed_is_meant(key: str, text: str, value: object) -> None:
    assert BY_KEY[key].read(text) == value


def test_names_of_presets_are_one_line_and_nobody_elses() -> None:
    assert checked_name("  my \n preset ") == "my preset"
    for name in ("", "\n", "x" * 61, "creative", "CREATIVE "):
        with pytest.raises(ValueError, match=r"1 to 60|comes with"):
            checked_name(name)
    mine = own_preset("Mine", DEFAULTS)
    again = own_preset("mine", {**DEFAULTS, "seed": 1})
    assert with_preset([mine], again) == (again,)


def test_the_presets_that_come_along() -> None:
    assert [preset.name for preset in BUILT_IN] == ["Greedy (T 0)", "Precise code", "Balanced", "Creative"]
    assert BUILT_IN[2].matches(DEFAULTS)
    assert BUILT_IN[0].values["temperature"] == 0
    for preset in BUILT_IN:
        assert {key: BY_KEY[key].take(value) for key, value in preset.values.items()} == preset.values
