"""What doctor found, on standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

from rich.filesize import decimal

from specdesk.cli.tables import print_line, print_table
from specdesk.doctor.facts import Facts
from specdesk.doctor.judge import findings
from specdesk.doctor.recommend import Recommendation, licence_note, recommend, room
from specdesk.tokenview import visible

_LABEL: Final = 10
"""Columns of what a line is about."""


def print_report(facts: Facts) -> None:
    """What there is, which pairs fit, what to run and what to do."""
    for label, text in _lines(facts):
        print_line(f"{label:<{_LABEL}} {text}", hang=_LABEL + 1)
    space = room(facts)
    where = f"{decimal(space.free_bytes)} free in {space.where}"
    print_line("")
    print_line(f"Pairs, with a context of {facts.n_ctx:,} tokens, into {where}")
    rows = [
        (pair.name, decimal(space.needed_bytes(pair)), space.fit(pair), f"{pair.presence}, {decimal(pair.size_bytes)}")
        for pair in facts.pairs
    ]
    print_table(("name", "needs", "fit", "disk"), rows, indent="")
    print_line("")
    _print(_advice(recommend(facts)))
    for finding in findings(facts):
        print_line("")
        print_line(f"{finding.weight}: {finding.text}", hang=2)
        if finding.do:
            # As it is: a command that was folded could not be copied.
            _print(f"  {finding.do}")


def print_json(facts: Facts) -> None:
    """One object; docs/doctor.md has its keys."""
    space, advised = room(facts), recommend(facts)
    pairs = [{**asdict(pair), "fit": space.fit(pair)} for pair in facts.pairs]
    record = {
        **asdict(facts),
        "pairs": pairs,
        "room": asdict(space),
        "recommended": {"pair": None if advised.pair is None else advised.pair.name, "why": advised.why},
        "findings": [asdict(finding) for finding in findings(facts)],
    }
    del record["engine"]["install"]
    sys.stdout.write(json.dumps(record, allow_nan=False) + "\n")


def _lines(facts: Facts) -> Iterator[tuple[str, str]]:
    yield "specdesk", f"{facts.specdesk}, Python {facts.python} ({facts.executable})"
    yield "system", f"{facts.system}, {facts.architecture}"
    build = facts.engine.build
    if build is None:
        yield "llama.cpp", "none that can be used"
    else:
        yield "llama.cpp", f"llama-cpp-python {build.bindings}, ggml {build.ggml or 'of no known version'}"
        yield "backends", f"{', '.join(build.backends)}; {' '.join(build.features)}"
        for device in build.devices:
            # Of a processor it says what the system has, which stands below.
            free, total = decimal(device.free_bytes), decimal(device.total_bytes)
            memory = f", {free} free of {total}" if device.takes_layers else ""
            yield "device", f"{device.name}: {device.description} ({device.kind}){memory}"
    for gpu in facts.gpus:
        yield "GPU", f"{gpu.name}{f', {decimal(gpu.total_bytes)}' if gpu.total_bytes else ''}"
    if not facts.gpus:
        yield "GPU", "none that the system shows"
    threads = f"{facts.n_threads} thread{'' if facts.n_threads == 1 else 's'}"
    yield "cores", f"{facts.n_usable} may be used of {facts.n_cores}; models run with {threads}"
    yield "memory", f"{decimal(facts.memory_free_bytes)} free of {decimal(facts.memory_total_bytes)}"
    yield "models", f"{facts.models_dir}, {decimal(facts.disk_free_bytes)} free on that disk"
    yield "hub", f"{facts.hub.name} {'answers' if not facts.hub.problem else 'cannot be used now'}"


def _advice(advised: Recommendation) -> str:
    if advised.pair is None:
        return f"Recommended: none. {advised.why}"
    licence = licence_note(advised.pair)
    why = f"{advised.why}; {licence}" if licence else advised.why
    return f"Recommended: {advised.pair.name} ({why})\n  specdesk run --pair {advised.pair.name} PROMPT"


def _print(line: str) -> None:
    sys.stdout.write("\n".join(map(visible, line.split("\n"))) + "\n")
