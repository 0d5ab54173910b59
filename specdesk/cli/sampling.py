"""From what was typed to how is sampled: names, biases, and the rule that suits the mode."""

from __future__ import annotations

import re
from dataclasses import fields

from specdesk.cli.options.answers import SamplingOptions
from specdesk.cli.options.drafts import Speculation
from specdesk.core.names import RuleName, rule_for
from specdesk.core.sampling import SamplerName, Sampling
from specdesk.errors import UsageError

_SAMPLER_ALIASES = {
    "nucleus": SamplerName.TOP_P,
    "temp": SamplerName.TEMPERATURE,
    "typ": SamplerName.TYPICAL_P,
    "typical": SamplerName.TYPICAL_P,
    "typicalp": SamplerName.TYPICAL_P,
}
"""What llama.cpp takes besides a sampler's own name, with or without hyphens or underscores."""


def as_sampling(options: SamplingOptions) -> Sampling:
    """The sampling the options ask for. Raises UsageError, naming the value, for one out of range."""
    typed = {"samplers", "logit_bias"}
    try:
        return Sampling(
            **{field.name: getattr(options, field.name) for field in fields(Sampling) if field.name not in typed},
            samplers=tuple(_sampler(text) for text in re.split("[;,]", options.samplers)),
            logit_bias=tuple(_bias(text) for text in options.logit_bias or ()),
        )
    except ValueError as error:
        raise UsageError(str(error)) from error


def as_rule(options: Speculation) -> RuleName:
    """How drafts are judged: as asked for, else the rule that suits the mode."""
    return rule_for(options.verify, exact=options.exact)


def _sampler(text: str) -> SamplerName:
    plain = _plain(text)
    named = {_plain(name): name for name in SamplerName} | _SAMPLER_ALIASES
    if plain not in named:
        raise ValueError(f"there is no sampler {text.strip()!r}, only {', '.join(SamplerName)}")
    return named[plain]


def _plain(name: str) -> str:
    return re.sub("[-_]", "", name.strip().lower())


def _bias(text: str) -> tuple[int, float]:
    parts = re.fullmatch(r"(\d+)([+-](?:\d+(?:\.\d*)?|\.\d+|inf))", text)
    if parts is None:
        raise ValueError(f"a logit bias looks like 15043+1 or 15043-inf, not {text!r}")
    return int(parts[1]), float(parts[2])
