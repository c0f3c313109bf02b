"""The report of the filter: what it kept and marked, and how many tokens that saves."""

from collections.abc import Iterator

from rich.box import SIMPLE
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.base.text import plural
from turnetl.episodes.report import FilteredGroup, FilterReport, KeptTurns, MarkedTurns
from turnetl.report.layout import add_group_column, removed_files

_COLUMNS = ("turns", "chars before", "after", "tokens", "tokens saved")


def table(report: FilterReport) -> RenderableType:
    """Render a row per group, below it a row for its kept turns and one per rule; then the sum."""
    if not report.groups:
        return Text(_summary(report))
    view = Table(box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    add_group_column(view, "group\n  rule")
    for name in _COLUMNS:
        view.add_column(name.replace(" ", "\n"), justify="right", overflow="fold")
    for group in report.groups:
        _add_rows(view, group.group, group)
    if len(report.groups) > 1:
        view.add_section()
        _add_rows(view, f"all {len(report.groups)} groups", report)
    return Group(view, Text(_summary(report)))


def repeated(report: FilterReport) -> list[str]:
    """Return how many turns occur in other archives too, where they are not counted."""
    found = []
    if report.copies:
        copies = plural(report.copies, "copy", "copies")
        found.append(f"{copies} of these turns in other archives not counted")
    if report.variants:
        variants = plural(report.variants, "variant", "variants")
        found.append(f"{variants} with another text in other archives not kept")
    return found


def _add_rows(view: Table, name: str, counts: FilteredGroup | FilterReport) -> None:
    # As Text, because a group's name may look like rich's markup.
    view.add_row(Text(name, style="bold"), *_cells(counts))
    view.add_row("  kept", *_cells(counts.kept_turns))
    for rule, turns in counts.marked_turns.items():
        view.add_row(Text(f"  {rule}"), *_cells(turns))


def _cells(counts: FilteredGroup | FilterReport | KeptTurns | MarkedTurns) -> Iterator[str]:
    tokens = 0 if isinstance(counts, MarkedTurns) else counts.tokens
    numbers = (counts.turns, counts.chars_before, counts.chars_after, tokens, counts.tokens_saved)
    return (f"{number:,}" for number in numbers)


def _summary(report: FilterReport) -> str:
    if not report.groups:
        return "no turns yet: run `turnetl parse ARCHIVES`"
    parts = ["tokens are estimates"]
    parts += repeated(report)
    if report.removed_temporary_files:
        parts.append(removed_files(report.removed_temporary_files))
    if all(group.unchanged for group in report.groups):
        parts.insert(0, "nothing new")
    return "; ".join(parts)
