"""What was measured of llama-server and of specdesk, set against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import geometric_mean, median
from typing import Any

from rich.table import Table
from rich.text import Text

from llama_server.server import MODES, Reply, ServerMode
from specdesk.bench.rows import Mode, Row
from specdesk.bench.tasks import Prompt
from specdesk.tokenview import visible


@dataclass(frozen=True, slots=True)
class ServerRow:
    """One answer of llama-server."""

    task: str
    prompt: str
    """The prompt's id."""
    round: int
    mode: str
    reply: Reply
    draft_read_ms: float
    """What the draft model's reading of the prompt is taken to cost, which `prompt_ms` holds."""

    @property
    def decode_s(self) -> float:
        """From the end of the target's prompt pass to the last token, with all that the draft model read."""
        return (self.reply.timings.predicted_ms + self.draft_read_ms) / 1000

    @property
    def tokens_per_s(self) -> float | None:
        """Tokens per second of `decode_s`. The first token comes of the prompt pass, and is not counted.

        None for an answer of one token, of which nothing was timed.
        """
        n = self.reply.timings.predicted_n - 1
        return n / self.decode_s if n > 0 and self.decode_s > 0 else None

    def record(self) -> dict[str, Any]:
        """JSON data."""
        return {**asdict(self), "decode_s": self.decode_s, "tokens_per_s": self.tokens_per_s}


def server_rows(prompt: Prompt, number: int, replies: Sequence[tuple[ServerMode, Reply]]) -> list[ServerRow]:
    """Rows of one round, whose answers come in the order of MODES: plain decoding first.

    What a mode with a draft model takes longer for the prompt than plain decoding does is the draft's reading of it.
    """
    plain_ms = replies[0][1].timings.prompt_ms
    return [
        ServerRow(
            prompt.task,
            prompt.id,
            number,
            mode.name,
            reply,
            max(0.0, reply.timings.prompt_ms - plain_ms) if mode.with_draft else 0.0,
        )
        for mode, reply in replies
    ]


@dataclass(frozen=True, slots=True)
class Speeds:
    """Tokens per second of one prompt's answers: medians over the rounds."""

    task: str
    prompt: str
    servers: dict[str, float]
    """By the names of the modes."""
    plain: float
    auto: float

    @property
    def best_mode(self) -> str:
        """The mode of llama-server that was fastest here."""
        return max(self.servers, key=self.servers.__getitem__)

    @property
    def best(self) -> float:
        """What it reached."""
        return self.servers[self.best_mode]

    @property
    def ratio(self) -> float:
        """specdesk's speculation / llama-server's best mode."""
        return self.auto / self.best


def speeds(servers: Sequence[ServerRow], own: Sequence[Row]) -> list[Speeds]:
    """One for each prompt of which every mode has a timed answer, in the order of the rows."""
    found = []
    for task, prompt in dict.fromkeys((row.task, row.prompt) for row in servers):
        by_mode: dict[str, list[float]] = {mode.name: [] for mode in MODES}
        for row in servers:
            if row.prompt == prompt and row.tokens_per_s is not None:
                by_mode[row.mode].append(row.tokens_per_s)
        plain, auto = (
            [1.0 / row.s_per_token for row in own if row.prompt == prompt and row.mode is mode]
            for mode in (Mode.PLAIN, Mode.SPECULATIVE)
        )
        if plain and auto and all(by_mode.values()):
            medians = {name: median(rates) for name, rates in by_mode.items()}
            found.append(Speeds(task, prompt, medians, median(plain), median(auto)))
    return found


def record(found: Sequence[Speeds]) -> list[dict[str, Any]]:
    """JSON data."""
    return [{**asdict(each), "best_mode": each.best_mode, "best": each.best, "ratio": each.ratio} for each in found]


def table(found: Sequence[Speeds]) -> Table:
    """The figures for people: a line for each task, geometric means over its prompts."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("tokens/s", no_wrap=True)
    for mode in MODES:
        shown.add_column(f"server\n{mode.name}", justify="right", no_wrap=True)
    for heading in ("server\nbest", "specdesk\nplain", "specdesk\nauto", "auto/\nbest"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for task in dict.fromkeys(each.task for each in found):
        # As Text: what a file calls its tasks is no markup.
        shown.add_row(*map(Text, _cells(task, [each for each in found if each.task == task])))
    return shown


def mean_line(found: Sequence[Speeds]) -> str:
    """The mean over all prompts."""
    n = len(found)
    mean = geometric_mean(each.ratio for each in found)
    return f"{mean:.2f}x llama-server's best mode, the geometric mean over {n} prompt{'' if n == 1 else 's'}"


def _cells(task: str, found: Sequence[Speeds]) -> list[str]:
    def mean(value: Callable[[Speeds], float]) -> float:
        return geometric_mean(map(value, found))

    rates = [mean(lambda each, name=mode.name: each.servers[name]) for mode in MODES]  # type: ignore[misc]
    rates += [mean(lambda each: each.best), mean(lambda each: each.plain), mean(lambda each: each.auto)]
    return [visible(task), *(f"{rate:.1f}" for rate in rates), f"{mean(lambda each: each.ratio):.2f}x"]
