"""What is said of a fetch before its first byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.filesize import decimal

from specdesk.tokenview import visible

if TYPE_CHECKING:
    from specdesk.hub.download.report import FetchPlan


def plan_lines(plan: FetchPlan) -> list[str]:
    """What, how much, under which licence, what it takes to run it, where to."""
    before = f", {decimal(plan.here_bytes)} of it from before" if plan.here_bytes else ""
    lines = [
        f"fetching {plan.name}: {decimal(plan.size_bytes)}{before} ({', '.join(plan.files)})",
        f"licence: {', '.join(plan.licences) or 'not stated'}",
        f"destination: {plan.destination}, {decimal(plan.free_bytes)} free",
    ]
    if plan.memory_bytes is not None:
        lines.insert(2, f"memory: about {decimal(plan.memory_bytes)} to run it")
    return [visible(line.replace("\n", " ")) for line in lines]
