"""What is to be known beside the figures, and everything together as data."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from specdesk import __version__
from specdesk.bench.page import page
from specdesk.bench.report import geometric_mean, summaries
from specdesk.bench.rows import Row
from specdesk.bench.runner import Effort
from specdesk.engine.client import Engine, EngineInfo


def machine_facts(engine: Engine) -> dict[str, object]:
    """The machine as it is now: JSON data. Its load tells whether others were at work."""
    return {
        **engine.machine(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@dataclass(frozen=True, slots=True)
class Findings:
    """What the figures depend on."""

    effort: Effort
    info: EngineInfo
    facts: Mapping[str, object]
    """Of the machine, before anything was measured."""
    pair: str | None
    """The name of the recommended pair, if it is one."""

    def record(self, rows: Sequence[Row]) -> dict[str, Any]:
        """The object of --json: raw rows, what was made of them, and all that they depend on."""
        effort = self.effort
        found = summaries(rows)
        engine = asdict(self.info)
        return {
            "specdesk": __version__,
            "complete": len(rows) == effort.n_answers,
            "machine": dict(self.facts),
            "pair": self.pair,
            "costs": engine.pop("costs"),
            "engine": engine,
            "settings": {
                **asdict(effort.sampling),
                "seed": effort.seed,
                "lookahead": "auto" if effort.lookahead is None else effort.lookahead,
                "max_tokens": effort.max_tokens,
                "rounds": effort.rounds,
            },
            "geometric_mean": geometric_mean(found),
            "tasks": [{**asdict(each), "acceptance": each.acceptance} for each in found],
            "rows": [row.record() for row in rows],
        }

    def page(self, rows: Sequence[Row]) -> str:
        """The page of --html."""
        return page(rows, self._named(len(rows)), self.info.costs)

    def _named(self, n_rows: int) -> dict[str, str]:
        effort, info, facts = self.effort, self.info, self.facts
        devices, load = facts["devices"], facts["load"]
        return {
            "Target": f"{info.target.name} ({info.target.file})",
            "Draft": "none: text seen before" if info.draft is None else f"{info.draft.name} ({info.draft.file})",
            "Drafted per pass": "as many as pay" if effort.lookahead is None else str(effort.lookahead),
            "Each answer": f"at most {effort.max_tokens} tokens, temperature {effort.sampling.temperature:g}, "
            f"seed {effort.seed}",
            "Answers": f"{n_rows} of {effort.n_answers}, {effort.rounds} rounds",
            "Devices": ", ".join(map(str, devices)) if isinstance(devices, list) else str(devices),
            "System": f"{facts['system']}, {facts['cpus']} CPUs, {info.n_threads} threads",
            "Load at the start": ", ".join(f"{each:.2f}" for each in load) if isinstance(load, list) else str(load),
            "Software": f"specdesk {__version__}, llama-cpp-python {facts['llama_cpp']}, Python {facts['python']}",
            "Time": str(facts["time"]),
        }
