"""How the chat is set up now: what holds for this run, what of it is saved, and how the models are loaded for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from specdesk.core.names import DrafterName, rule_for
from specdesk.core.sampling import Sampling
from specdesk.errors import SpecdeskError
from specdesk.settings import EngineSettings
from specdesk.tui.chat_options import ChatOptions
from specdesk.tui.preferences.catalogue import DEFAULTS, SAMPLING_KEYS, Values
from specdesk.tui.preferences.keeper import Keeper
from specdesk.tui.preferences.presets import BUILT_IN, Preset, with_preset, without_preset


class Setup:
    """Values that hold for this run, each from the command line, else as saved, else the default.

    What is changed here holds at once and is saved. Methods that save raise SpecdeskError where that cannot be done;
    what was changed holds nevertheless.
    """

    def __init__(
        self,
        keeper: Keeper,
        engine: EngineSettings,
        *,
        given: Values,
        sampling: Sampling | None = None,
    ) -> None:
        """`engine` is how models are loaded where no setting says otherwise.

        `given` are the values from the command line, `sampling` what else it says about that.
        """
        self._keeper = keeper
        self._sampling = sampling or Sampling()
        self._values = {**DEFAULTS, **keeper.preferences.values, **given}
        self._presets = keeper.preferences.presets
        self._refused = not keeper.can_save  # it is told once, by whoever asks for the problem
        self._given = frozenset(given)
        self.engine = engine
        """How models are loaded, or were, when that was ordered last."""
        self.order()

    @property
    def values(self) -> Values:
        """What holds now, of all settings."""
        return self._values

    @property
    def outranked(self) -> Values:
        """What is saved of the settings whose values come from the command line."""
        saved = {**DEFAULTS, **self._keeper.preferences.values}
        return {key: saved[key] for key in self._given}

    @property
    def path(self) -> Path:
        """The file in which it is saved."""
        return self._keeper.path

    @property
    def problem(self) -> SpecdeskError | None:
        """Why what was saved could not be read, if it could not."""
        return self._keeper.problem

    @property
    def options(self) -> ChatOptions:
        """How the next answers are asked for."""
        values = self._values
        return ChatOptions(
            replace(self._sampling, **{key: values[key] for key in SAMPLING_KEYS}),
            lookahead=values["lookahead"],
            seed=values["seed"],
            system=values["system"],
            max_tokens=values["max_tokens"],
            verify=rule_for(values["verify"], exact=values["exact"]),
            drafter=values["drafter"],
        )

    # --- how the models are loaded

    @property
    def must_load(self) -> bool:
        """Whether the models have to be loaded again for what holds now."""
        wanted, now = self._wanted, self.engine
        return (
            (wanted.n_ctx, wanted.exact) != (now.n_ctx, now.exact)
            or wanted.speculate > now.speculate
            or wanted.asks_draft > now.asks_draft
        )

    def order(self) -> None:
        """From now on load models as they are wanted now."""
        self.engine = self._wanted

    def engine_for(self, target: Path, draft: Path | None) -> EngineSettings:
        """How these models are to be loaded. May be called from another thread."""
        return replace(self.engine, target=target, draft=draft)

    @property
    def _wanted(self) -> EngineSettings:
        values = self._values
        return replace(
            self.engine,
            n_ctx=values["ctx"],
            exact=values["exact"],
            speculate=values["lookahead"] != 0,
            asks_draft=values["drafter"] is not DrafterName.SUFFIX,
        )

    # --- changing it

    def change(self, changes: Values) -> None:
        """Let other values hold, and save them."""
        self._values = {**self._values, **changes}
        self._given -= changes.keys()
        self._keeper.keep(lambda saved: saved.with_values(changes))
        self._refused = False

    def remember(self, key: str, value: object) -> None:
        """The same for what is set in passing: that it cannot be saved is raised once, and not tried again."""
        if self._refused:
            self._values = {**self._values, key: value}
            return
        try:
            self.change({key: value})
        except SpecdeskError:
            self._refused = True
            raise

    @property
    def presets(self) -> tuple[Preset, ...]:
        """All there are, the user's own at the end."""
        return (*BUILT_IN, *self._presets)

    def is_own(self, name: str) -> bool:
        """Whether that is a preset of the user's, which can be taken away."""
        return name in [preset.name for preset in self._presets]

    def add_preset(self, preset: Preset) -> None:
        """Save a preset, in the place of one with its name."""
        self._presets = with_preset(self._presets, preset)
        self._keeper.keep(lambda saved: replace(saved, presets=with_preset(saved.presets, preset)))

    def remove_preset(self, name: str) -> None:
        """Take a preset of the user's away."""
        self._presets = without_preset(self._presets, name)
        self._keeper.keep(lambda saved: replace(saved, presets=without_preset(saved.presets, name)))
