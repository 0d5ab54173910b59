"""Rows and costs as no machine would make them, for tests that need no model."""

from __future__ import annotations

from collections.abc import Sequence

from specdesk.bench.replay import Drafting, Regret
from specdesk.bench.rows import Mode, Row
from specdesk.core.costs import PairCosts, PassCosts

SIZES = (1, 2, 3, 4, 8, 16, 32)


def costs(*, growth_s: float = 0.0) -> PairCosts:
    """A target whose passes take 1 s and 0.125 more per further token; a draft that takes an eighth of all that."""
    base = tuple(1.0 + 0.125 * (n - 1) for n in SIZES)
    growth = (growth_s,) * len(SIZES)
    return PairCosts(
        PassCosts(SIZES, base, growth), PassCosts(SIZES, tuple(s / 8 for s in base), tuple(g / 8 for g in growth))
    )


PLAIN_STEP = Drafting(None, 0, 0, 0, 1)


def row(
    *,
    task: str = "code",
    prompt: str = "a",
    number: int = 0,
    mode: Mode = Mode.PLAIN,
    decode_s: float = 4.0,
    steps: Sequence[Drafting] = (PLAIN_STEP,) * 4,
    by_position: tuple[tuple[int, int], ...] = (),
    regret: Regret | None = None,
) -> Row:
    """An answer whose counts are those of its steps; half of the time is drafting and a quarter the target's."""
    written, drafted = (sum(getattr(step, name) for step in steps) for name in ("n_written", "n_drafted"))
    accepted = sum(step.n_accepted for step in steps)
    tested = sum(tested for tested, _ in by_position)
    return Row(
        task=task,
        prompt=prompt,
        turn=0,
        round=number,
        mode=mode,
        seed=1,
        prompt_tokens=10,
        generated_tokens=written,
        decode_s=decode_s,
        draft_s=decode_s / 2,
        target_s=decode_s / 4,
        drafted=drafted,
        accepted=accepted,
        rejected=tested - accepted,
        ignored=drafted - tested,
        by_position=by_position,
        steps=tuple(steps),
        token_ids=tuple(range(written)),
        stop_reason="length",
        regret=regret,
    )
