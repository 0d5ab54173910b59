"""Figures per task, made from raw rows: medians of ratios, each between two runs of one answer in the same round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, fsum, log
from statistics import median

from specdesk.bench.rows import Mode, Row
from specdesk.tokenview import visible


@dataclass(frozen=True, slots=True)
class Spread:
    """A median and the least and most of what it is of."""

    median: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Summary:
    """What speculation brought in one task."""

    task: str
    n: int
    """Answers that were decoded both ways, repetitions counted."""
    speedup: Spread
    """Plain seconds per token / speculative seconds per token."""
    plain_tokens_per_s: float
    """Median."""
    tokens_per_pass: float
    """Of all speculative answers together, as the next three."""
    accepted: int
    tested: int
    lookahead: float
    """Tokens drafted per target pass, the passes without any among them."""
    shares: tuple[float, float, float]
    """Of the speculative time: drafting, target passes, the rest."""
    to_best_fixed: float | None
    """Median of time / time with the best fixed K, by measured costs; None where that is not known."""
    to_oracle: float | None
    """The same against an oracle that knows which draft tokens will be accepted."""

    @property
    def acceptance(self) -> float | None:
        """Accepted / tested; None if nothing was tested."""
        return self.accepted / self.tested if self.tested else None


def summaries(rows: Sequence[Row]) -> list[Summary]:
    """One for each task of which an answer was decoded both ways, in the order of the rows."""
    pairs = list(_pairs(rows))
    tasks = dict.fromkeys(plain.task for plain, _ in pairs)
    return [_summary(task, [pair for pair in pairs if pair[0].task == task]) for task in tasks]


def geometric_mean(found: Sequence[Summary]) -> float | None:
    """Of the tasks' median speedups: each task counts alike, and a halving undoes a doubling. None without tasks."""
    return exp(fsum(log(each.speedup.median) for each in found) / len(found)) if found else None


def cells(found: Summary) -> list[str]:
    """A line of the table."""
    speedup = found.speedup
    return [
        visible(found.task),
        f"{speedup.median:.2f}x",
        f"{speedup.least:.2f} .. {speedup.most:.2f}",
        f"{found.plain_tokens_per_s:.1f}",
        f"{found.tokens_per_pass:.2f}",
        "-" if found.acceptance is None else f"{found.acceptance:.0%} of {found.tested}",
        f"{found.lookahead:.1f}",
        " / ".join(f"{share:.0%}" for share in found.shares),
        "-" if found.to_best_fixed is None else f"{found.to_best_fixed:.2f}",
        "-" if found.to_oracle is None else f"{found.to_oracle:.2f}",
    ]


HEADINGS = (
    "task", "speedup", "from .. to", "plain tokens/s", "tokens per pass", "accepted of tested", "drafted per pass",
    "time: draft / target / rest", "time / best fixed K", "time / oracle",
)  # fmt: skip
"""What the cells are, in full."""


def _pairs(rows: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """Plain and speculative rows of the same answer in the same round."""
    plain = {(row.prompt, row.turn, row.round): row for row in rows if row.mode is Mode.PLAIN}
    for row in rows:
        if row.mode is Mode.SPECULATIVE and (other := plain.get((row.prompt, row.turn, row.round))):
            yield other, row


def _summary(task: str, pairs: Sequence[tuple[Row, Row]]) -> Summary:
    ratios = [plain.s_per_token / speculative.s_per_token for plain, speculative in pairs]
    rows = [speculative for _, speculative in pairs]
    n_passes = sum(len(row.steps) for row in rows)
    seconds = fsum(row.decode_s for row in rows)
    draft, target = (fsum(part) / seconds for part in ([row.draft_s for row in rows], [row.target_s for row in rows]))
    regrets = [row.regret for row in rows if row.regret is not None]
    return Summary(
        task,
        len(pairs),
        Spread(median(ratios), min(ratios), max(ratios)),
        median(1.0 / plain.s_per_token for plain, _ in pairs),
        sum(row.generated_tokens for row in rows) / n_passes,
        sum(row.accepted for row in rows),
        sum(row.accepted + row.rejected for row in rows),
        sum(row.drafted for row in rows) / n_passes,
        (draft, target, 1.0 - draft - target),
        median(each.to_best_fixed for each in regrets) if regrets else None,
        median(each.to_oracle for each in regrets) if regrets else None,
    )
