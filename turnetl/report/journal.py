"""The journal of model responses: its contents, and what was removed from it."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.base.text import format_cost, plural, size
from turnetl.llm.journal import JournalStats, JournalTotals, PruneResult
from turnetl.report import costs
from turnetl.report.layout import caption

_COLUMNS = ("responses", "tokens\nin", "tokens\nout", "seconds", "cost", "hits")


def table(stats: JournalStats) -> RenderableType:
    """Render a row per prompt, a row per model, and the sum; then the size, times and path."""
    if not stats.total.entries:
        return Text(f"no responses in {stats.path}", overflow="fold")
    view = Table(box=None, padding=(0, 2, 0, 0))  # narrow enough for a terminal
    view.add_column("prompt, model", overflow="fold")
    for name in _COLUMNS:
        view.add_column(name, justify="right")
    for counts_by_name in (stats.by_prompt, stats.by_model):
        for name, counts in counts_by_name.items():
            view.add_row(Text(name.replace(".", ".\n") or "-"), *_cells(counts))
        view.add_section()
    view.add_row("all", *_cells(stats.total))
    return Group(view, Text(_summary(stats), overflow="fold"), caption(costs.OF_RESPONSES))


def prune_line(pruned: PruneResult) -> RenderableType:
    """Render in one line what was removed, or would be."""
    removed = "would be removed" if pruned.dry_run else "removed"
    about = "about " if pruned.dry_run else ""
    text = (
        f"{plural(pruned.entries, 'response')} {removed}, {about}{size(pruned.bytes)} freed, "
        f"{pruned.remaining:,} left in {pruned.path}"
    )
    return Text(text, overflow="fold")


def _summary(stats: JournalStats) -> str:
    times = f"{stats.oldest:%Y-%m-%d} to {stats.newest:%Y-%m-%d}" if stats.oldest else ""
    saved = f"; hits saved {format_cost(stats.total.saved_cost)}" if stats.total.hits else ""
    return f"{size(stats.bytes)}, {times}{saved}\n{stats.path}"


def _cells(counts: JournalTotals) -> tuple[str, ...]:
    usage = counts.usage
    return (
        f"{counts.entries:,}",
        f"{usage.prompt_tokens:,}",
        f"{usage.completion_tokens:,}",
        f"{usage.seconds:,.1f}",
        format_cost(usage.cost),
        f"{counts.hits:,}",
    )
