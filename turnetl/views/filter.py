"""The report of the filter: what it kept and marked, and how many tokens that saves."""

from collections.abc import Iterator, Sequence

from turnetl.base.text import plural
from turnetl.episodes.filter_report import FilteredGroup, FilterReport, KeptTurns, MarkedTurns
from turnetl.views.nodes import Column, Frame, Node, Table, View, counted, line, numbers
from turnetl.views.parse import removed_files

_COLUMNS = (
    Column("group\n  rule"),
    *numbers("turns", "chars\nbefore", "after", "tokens", "tokens\nsaved"),
)


def view(report: FilterReport) -> View:
    """Return a row per group, below it one for its kept turns and one per rule; then the sum."""
    if not report.groups:
        return [_summary(report)]
    rows = [row for group in report.groups for row in _rows(group.group, group)]
    if len(report.groups) > 1:
        rows += [(), *_rows(f"all {len(report.groups)} groups", report)]
    return [Table(_COLUMNS, rows, Frame.HEAD, padding=1), _summary(report)]


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


def _rows(name: str, counts: FilteredGroup | FilterReport) -> Iterator[Sequence[Node]]:
    yield line((name, "bold")), *_cells(counts)
    yield "  kept", *_cells(counts.kept_turns)
    for rule, turns in counts.marked_turns.items():
        yield f"  {rule}", *_cells(turns)


def _cells(counts: FilteredGroup | FilterReport | KeptTurns | MarkedTurns) -> tuple[str, ...]:
    tokens = 0 if isinstance(counts, MarkedTurns) else counts.tokens
    return counted(
        (counts.turns, counts.chars_before, counts.chars_after, tokens, counts.tokens_saved)
    )


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
