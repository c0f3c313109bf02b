"""The journal of model calls: what it holds, and what was taken out of it."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.llm.journal import JournalStats, JournalTotals, PruneResult
from turnetl.report import costs

_NUMBERS = ("answers", "tokens\nin", "tokens\nout", "seconds", "cost", "used\nagain")
_MB = 1_000_000


def table(stats: JournalStats) -> RenderableType:
    """A row a prompt, a row a model, one for all; below them where it lies and what it saved."""
    if not stats.total.entries:
        return Text(f"no answers in {stats.path}", overflow="fold")
    shown = Table(box=None, padding=(0, 2, 0, 0))  # narrow enough for a terminal
    shown.add_column("prompt, model", overflow="fold")
    for name in _NUMBERS:
        shown.add_column(name, justify="right")
    for kept_by in (stats.by_prompt, stats.by_model):
        for name, kept in kept_by.items():
            shown.add_row(Text(name.replace(".", ".\n") or "-"), *_cells(kept))
        shown.add_section()
    shown.add_row("all", *_cells(stats.total))
    return Group(shown, Text(_caption(stats), overflow="fold"))


def as_json(stats: JournalStats) -> dict[str, Any]:
    """Return the keys that others script against; times are null where there is no answer."""
    return {
        "journal": str(stats.path),
        "bytes": stats.bytes,
        "oldest": stats.oldest and stats.oldest.isoformat(),
        "newest": stats.newest and stats.newest.isoformat(),
        **_json(stats.total),
        "by_prompt": _all_json(stats.by_prompt),
        "by_model": _all_json(stats.by_model),
    }


def pruned(of: PruneResult) -> RenderableType:
    """Say in a line what went, or would go."""
    went = "would go" if of.dry_run else "gone"
    about = "about " if of.dry_run else ""
    said = f"{_answers(of.entries)} {went}, {about}{_size(of.bytes)} freed, {of.left:,} left"
    return Text(f"{said} in {of.path}", overflow="fold")


def pruned_json(of: PruneResult) -> dict[str, Any]:
    """Return the keys that others script against."""
    return {
        "journal": str(of.path),
        "answers": of.entries,
        "bytes": of.bytes,
        "left": of.left,
        "dry_run": of.dry_run,
    }


def _caption(stats: JournalStats) -> str:
    since = f"{stats.oldest:%Y-%m-%d} to {stats.newest:%Y-%m-%d}" if stats.oldest else ""
    saved = f"; used again instead of paying {costs.money(stats.total.saved)}"
    said = f"{_size(stats.bytes)}, {since}{saved if stats.total.used else ''}"
    return f"{said}\n{stats.path}"


def _cells(kept: JournalTotals) -> tuple[str, ...]:
    usage = kept.usage
    return (
        f"{kept.entries:,}",
        f"{usage.prompt_tokens:,}",
        f"{usage.completion_tokens:,}",
        f"{usage.seconds:,.1f}",
        costs.money(usage.cost),
        f"{kept.used:,}",
    )


def _all_json(kept_by: Mapping[str, JournalTotals]) -> dict[str, Any]:
    return {name: _json(kept) for name, kept in kept_by.items()}


def _json(kept: JournalTotals) -> dict[str, Any]:
    return {
        "answers": kept.entries,
        **costs.as_json(kept.usage),
        "used": kept.used,
        "saved": None if kept.saved is None else round(kept.saved, 6),
    }


def _answers(number: int) -> str:
    return "1 answer" if number == 1 else f"{number:,} answers"


def _size(number: int) -> str:
    """Return bytes as a person reads them."""
    return f"{number / _MB:,.1f} MB" if number >= _MB else f"{number / 1e3:,.0f} kB"
