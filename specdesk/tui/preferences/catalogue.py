"""Everything that is kept of what the user sets, one entry each: its key, its words, its values, its default."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from specdesk.core.names import DEFAULT_RULE, DrafterName, RuleName
from specdesk.core.sampling import Sampling
from specdesk.settings import ANSWER_TOKENS, CONTEXTS, DEFAULT_N_CTX, LOOKAHEADS, SEEDS
from specdesk.tui.preferences.kinds import Kind, Number, Text, Whole, Word
from specdesk.tui.view import View

Values = Mapping[str, Any]
"""Values of settings by their keys, each of the type that its setting reads."""

_WHOLE: Final = Whole(-(2**31), 2**31)


class Group(Enum):
    """Settings that stand together. The value is their title."""

    SAMPLING = "Sampling"
    PENALTIES = "Penalties"
    ANSWERS = "Answers"
    SPECULATION = "Speculation"
    MODELS = "Models · a change loads them again"
    CHATS = "Chats that begin from now on"
    DISPLAY = "Display"
    UNSHOWN = ""
    """Set elsewhere than on the settings screen."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing the user may set."""

    key: str
    """Its name in the file: that of the option, where there is one."""
    name: str
    """Its name in a sentence."""
    group: Group
    kind: Kind
    default: Any
    help: str = ""
    """One line."""
    check: Callable[[Any], object] | None = None
    """Raises ValueError, naming the setting, for a value that its kind lets through and it does not."""

    @property
    def label(self) -> str:
        """Its name at the head of a line."""
        return self.name[:1].upper() + self.name[1:]

    def read(self, text: str) -> Any:
        """The value that was typed. Raises ValueError, naming the setting and what is allowed."""
        return self._checked(lambda: self.kind.read(text))

    def take(self, found: object) -> Any:
        """The value that stands in a file. Raises likewise."""
        return self._checked(lambda: self.kind.take(found))

    def _checked(self, read: Callable[[], Any]) -> Any:
        try:
            value = read()
        except ValueError as error:
            raise ValueError(f"{self.name} {error}") from None
        if self.check is not None:
            self.check(value)
        return value


def _sampled(key: str, name: str, help: str, group: Group = Group.SAMPLING, kind: Kind | None = None) -> Setting:  # noqa: A002
    """A field of Sampling, which checks it."""

    def check(value: Any) -> None:
        replace(_SAMPLING, **{key: value})

    return Setting(key, name, group, kind or Number(), getattr(_SAMPLING, key), help, check)


_SAMPLING: Final = Sampling()

SETTINGS: Final = (
    _sampled("temperature", "temperature", "0 is greedy: always the likeliest token. Higher is more varied."),
    _sampled("top_k", "top-k", "Sample from so many of the likeliest tokens; 0 turns it off.", kind=_WHOLE),
    _sampled("top_p", "top-p", "Sample from the fewest tokens that reach this probability; 1 turns it off."),
    _sampled("min_p", "min-p", "Drop tokens less likely than this times the likeliest; 0 turns it off."),
    _sampled("typical_p", "typical-p", "Locally typical sampling; 1 turns it off."),
    _sampled("top_n_sigma", "top-n-sigma", "Drop logits so many standard deviations below the highest; 0 is off."),
    _sampled("repeat_penalty", "repeat penalty", "Against tokens seen lately; 1 is off.", Group.PENALTIES),
    _sampled("frequency_penalty", "frequency penalty", "Per time a token was seen lately; 0 is off.", Group.PENALTIES),
    _sampled("presence_penalty", "presence penalty", "Once a token was seen lately; 0 is off.", Group.PENALTIES),
    _sampled(
        "repeat_last_n", "repeat-last-n", "How many tokens back lately goes; -1 is all.", Group.PENALTIES, kind=_WHOLE
    ),
    Setting(
        "seed",
        "seed",
        Group.ANSWERS,
        Whole(*SEEDS, {"": None}),
        None,
        "Same seed, settings and models: same answer. Empty: a new one for each.",
    ),
    Setting(
        "max_tokens",
        "max tokens",
        Group.ANSWERS,
        Whole(*ANSWER_TOKENS, {"": None}),
        None,
        "Stop an answer after so many. Empty: when the model ends.",
    ),
    Setting(
        "lookahead",
        "lookahead",
        Group.SPECULATION,
        Whole(*LOOKAHEADS, {"auto": None, "off": 0}),
        None,
        "Tokens to draft per target pass: auto (as many as pay), off, or a number.",
    ),
    Setting(
        "drafter",
        "drafter",
        Group.SPECULATION,
        Word({name.value: name for name in DrafterName}),
        DrafterName.CASCADE,
        "The draft model, the suffix of text seen before, or whichever pays more.",
    ),
    Setting(
        "verify",
        "verify rule",
        Group.SPECULATION,
        Word({"automatic": None} | {name.value: name for name in RuleName}),
        None,
        f"How drafts are judged, all exact. Automatic: {DEFAULT_RULE}, in exact mode coupled.",
    ),
    Setting(
        "exact",
        "exact mode",
        Group.MODELS,
        Word({"off": False, "on": True}),
        False,
        "Verify only in passes that round as plain decoding does.",
    ),
    Setting(
        "ctx",
        "context",
        Group.MODELS,
        Whole(*CONTEXTS),
        DEFAULT_N_CTX,
        "Tokens of prompt and answer together. More take more memory.",
    ),
    Setting("system", "system prompt", Group.CHATS, Text(), None, "What the model is told before anything is asked."),
    Setting(
        "view",
        "answers shown as",
        Group.DISPLAY,
        Word({view.name.lower(): view for view in View}),
        View.LIVE,
        "Live: tokens while they are written, Markdown afterwards.",
    ),
    Setting("show_rejected", "rejected tokens", Group.UNSHOWN, Word({"hidden": False, "shown": True}), True),
    Setting(
        "show_chats",
        "list of chats",
        Group.UNSHOWN,
        Word({"where there is room": None, "hidden": False, "shown": True}),
        None,
    ),
    Setting("theme", "theme", Group.UNSHOWN, Text(), None),
)

BY_KEY: Final = MappingProxyType({setting.key: setting for setting in SETTINGS})
DEFAULTS: Final[Values] = MappingProxyType({setting.key: setting.default for setting in SETTINGS})
SAMPLING_KEYS: Final = tuple(field.name for field in fields(Sampling) if field.name in BY_KEY)
PRESET_KEYS: Final = tuple(
    setting.key for setting in SETTINGS if setting.group not in (Group.MODELS, Group.DISPLAY, Group.UNSHOWN)
)
"""What a preset of the user's own holds: all that can be changed from one answer to the next, and the system prompt."""


def shown_in(group: Group) -> Iterable[Setting]:
    """The settings of a group, in their order."""
    return (setting for setting in SETTINGS if setting.group is group)
