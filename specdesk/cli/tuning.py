"""What `specdesk tune` tried and chose, on standard output."""

from __future__ import annotations

from rich.filesize import decimal
from rich.table import Table

from specdesk.cli.console import report_console
from specdesk.engine.client import UNDO, Report


def print_report(report: Report) -> None:
    """The tables and the outcome."""
    console = report_console()
    for table in (_formats(report), _threads(report), _caches(report)):
        console.print(table)
        console.print()
    if not report.tuned:
        console.print("nothing changed: the files and settings as given are the fastest")
        return
    console.print(f"changed: {report.tuned.words}; {UNDO}")
    if report.tuned.draft is not None or report.tuned.n_threads is not None:
        console.print(_gain("tokens/s", report.given_pace, report.tuned_pace))
    if report.tuned.cache_type_k is not None:
        plain, *_, chosen = sorted(report.caches, key=lambda tried: tried.cache_type_k is report.tuned.cache_type_k)
        console.print(_gain("tokens/s behind 1,000 tokens, by the cache alone", plain.pace, chosen.pace))
    if report.tuned.draft is not None:
        console.print(f"written: {report.tuned.draft.file}", soft_wrap=True)


def _gain(unit: str, before: float, after: float) -> str:
    return f"expected: {after:.1f} {unit}, {after / before:.2f}x of {before:.1f}"


def _formats(report: Report) -> Table:
    table = _table("Draft", "Size", "Step ms", "Acceptance", "Expected tokens/s")
    for tried in report.formats:
        table.add_row(
            tried.format or "as given",
            decimal(tried.n_bytes),
            f"{tried.draft_step_ms:.1f}",
            f"{tried.acceptance:.1%}",
            f"{tried.pace:.1f}",
        )
    return table


def _threads(report: Report) -> Table:
    table = _table("Threads", "Target pass ms", "of 5 tokens", "Draft step ms", "Expected tokens/s")
    for tried in report.threads:
        figures = (tried.target_pass_ms, tried.target_pass_of_5_ms, tried.draft_step_ms, tried.pace)
        table.add_row(str(tried.n_threads), *(f"{figure:.1f}" for figure in figures))
    return table


def _caches(report: Report) -> Table:
    table = _table("Keys cached as", "Expected tokens/s behind 1,000 tokens")
    for tried in report.caches:
        table.add_row(tried.cache_type_k, f"{tried.pace:.1f}")
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table
