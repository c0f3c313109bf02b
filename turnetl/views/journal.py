"""The journal of model responses: its contents, and what was removed from it."""

from turnetl.base.text import format_cost, plural, size
from turnetl.llm.journal import JournalStats, PruneResult
from turnetl.views import costs
from turnetl.views.nodes import Caption, Column, Frame, Table, View, numbers

_COLUMNS = numbers("responses", "tokens\nin", "tokens\nout", "seconds", "cost", "hits")


def view(stats: JournalStats) -> View:
    if not stats.total.entries:
        return [f"no responses in {stats.path}"]
    counts = [*stats.by_prompt.items(), *stats.by_model.items(), ("all", stats.total)]
    rows = [
        (name or "-", f"{one.entries:,}", *costs.amount_cells(one.usage), f"{one.hits:,}")
        for name, one in counts
    ]
    table = Table((Column("prompt, model", breaks="."), *_COLUMNS), rows, Frame.NONE)
    return [table, _summary(stats), Caption(costs.OF_RESPONSES)]


def pruned_view(pruned: PruneResult) -> View:
    removed = "would be removed" if pruned.dry_run else "removed"
    about = "about " if pruned.dry_run else ""
    text = (
        f"{plural(pruned.entries, 'response')} {removed}, {about}{size(pruned.bytes)} freed, "
        f"{pruned.remaining:,} left in {pruned.path}"
    )
    return [text]


def _summary(stats: JournalStats) -> str:
    times = f"{stats.oldest:%Y-%m-%d} to {stats.newest:%Y-%m-%d}" if stats.oldest else ""
    saved = f"; hits saved {format_cost(stats.total.saved_cost)}" if stats.total.hits else ""
    return f"{size(stats.bytes)}, {times}{saved}\n{stats.path}"
