"""The report as one page of HTML that needs nothing else: no script, no font, no picture from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final

from specdesk.bench import plots
from specdesk.bench.report import HEADINGS, cells, geometric_mean, summaries
from specdesk.bench.rows import Mode, Row
from specdesk.core.costs import PairCosts
from specdesk.tokenview import visible

_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1d2430; --paper: #fbfbf9; --faint: #d9dbe0; --dim: #5c6573; --bar: #2f6fb2;
  --light: #a9c8e8; --even: #b3401f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ec; --paper: #14171c; --faint: #343a44; --dim: #a2abb9;
  --bar: #3f7fc4; --light: #27435f; --even: #f0875f; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--faint); text-align: right; }
th:first-child, td:first-child { text-align: left; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; font-size: 14px; }
dt { color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: 1.5rem 0; } figcaption { font-size: 14px; color: var(--dim); }
svg { width: 100%; max-width: 46rem; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: var(--ink); } svg .title { font-size: 14px; font-weight: 600; }
svg .label, svg .tick { fill: var(--dim); }
svg .middle { text-anchor: middle; } svg .end { text-anchor: end; }
svg .axis { stroke: var(--dim); } svg .grid { stroke: var(--faint); } svg .bar { fill: var(--bar); }
svg .drafted { fill: var(--light); } svg .spread { stroke: var(--ink); stroke-width: 2; }
svg .even { stroke: var(--even); stroke-dasharray: 4 3; stroke-width: 1.5; }
svg .curve { fill: none; stroke: var(--bar); stroke-width: 2; } svg .point { fill: var(--bar); }
"""

_METHOD: Final = """
Each prompt is answered plainly and with speculation in turn, in one process, with the same seed and limits. What is
timed is decoding: from the end of the target's prompt pass to the last token, with all that the draft model has to read
of the prompt. The target finds the prompt in its cache, in every run; the draft model's cache, and what was learned of
acceptance and of the machine's speed, are emptied before each run.

Speedup is plain seconds per token / speculative seconds per token of one answer in one round. Time / best fixed K and
time / oracle compare the steps as they ran, by the costs of passes as they were measured on this machine, with the
fixed number of draft tokens that would have been best afterwards, 0 among them, and with one who knew which draft
tokens would be accepted.
Both draft with the draft model alone, so that drafts from text seen before may bring the figures below 1. They are
known for conversations of one turn.
"""


def page(rows: Sequence[Row], facts: Mapping[str, str], costs: PairCosts | None) -> str:
    """The whole page. `facts` are names and values that stand at its top; the text of neither is trusted."""
    found = summaries(rows)
    mean = geometric_mean(found)
    headline = "Nothing was measured." if mean is None else f"{mean:.2f}x: geometric mean over {len(found)} tasks"
    parts = [
        "<h1>specdesk bench</h1>",
        f"<p><strong>{escape(headline)}</strong></p>",
        f"<dl>{''.join(f'<dt>{escape(name)}</dt><dd>{escape(visible(facts[name]))}</dd>' for name in facts)}</dl>",
        _table(HEADINGS, [cells(each) for each in found]),
        *_figures(rows, costs),
        "<h2>How it was measured</h2>",
        *(f"<p>{escape(paragraph)}</p>" for paragraph in _METHOD.strip().split("\n\n")),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        f"<title>specdesk bench</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n" + "\n".join(parts) + "\n</body>\n"
        "</html>\n"
    )


def _figures(rows: Sequence[Row], costs: PairCosts | None) -> Iterator[str]:
    """Those for which there is something to show."""
    speculative = [row for row in rows if row.mode is Mode.SPECULATIVE]
    if found := summaries(rows):
        yield _figure(plots.speedups(found), "The dashed line is plain decoding: left of it speculation costs time.")
    if costs is not None:
        steps = "Tokens are verified for nothing where it is flat."
        if costs.draft is not None:
            step = costs.draft.base_s[0] / costs.target.base_s[0]
            steps += f" A step of the draft model takes {step:.2f} times a target pass of one token."
        yield _figure(plots.staircase(costs.target), steps)
    if plots.pooled(speculative):
        yield _figure(
            plots.acceptance(speculative), "Over all answers. Later tokens are tested only where all before them stood."
        )
    for task in dict.fromkeys(row.task for row in speculative):
        first = next(row for row in speculative if row.task == task)
        yield _figure(plots.drafts(first), "Pale: drafted. Full colour: accepted.")


def _figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def _table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "\n".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in lines)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'
