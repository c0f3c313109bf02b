"""What the filter kept and marked, and what that saves."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rich.box import SIMPLE
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.episodes import FilteredGroup, FilterReport

_NUMBERS = ("turns", "chars before", "after", "tokens", "tokens saved")


class FilterCounts(NamedTuple):
    """A line of the table; tokens are estimates."""

    turns: int
    chars_before: int
    chars_after: int
    tokens: int
    tokens_saved: int


def table(report: FilterReport) -> RenderableType:
    """A row a group, below it one for what is kept and one a rule; the same for all at the end."""
    if not report.groups:
        return Text(_caption(report))
    shown = Table(box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    shown.add_column("group\n  rule", overflow="fold")
    for name in _NUMBERS:
        shown.add_column(name.replace(" ", "\n"), justify="right", overflow="fold")
    for group in report.groups:
        _add(shown, group.group, [group])
    if len(report.groups) > 1:
        shown.add_section()
        _add(shown, f"all {len(report.groups)} groups", report.groups)
    return Group(shown, Text(_caption(report)))


def as_json(report: FilterReport) -> dict[str, Any]:
    return _json(report.groups) | {"groups": [_group_json(group) for group in report.groups]}


def _add(shown: Table, name: str, groups: Sequence[FilteredGroup]) -> None:
    # A group's name may look like rich's markup.
    shown.add_row(Text(name, style="bold"), *_cells(_all(groups)))
    shown.add_row("  kept", *_cells(_kept(groups)))
    for rule, row in _noise(groups).items():
        shown.add_row(Text(f"  {rule}"), *_cells(row))


def _cells(row: FilterCounts) -> Iterator[str]:
    return (f"{number:,}" for number in row)


def _all(groups: Sequence[FilteredGroup]) -> FilterCounts:
    return _sum([_kept(groups), *_noise(groups).values()])


def _kept(groups: Sequence[FilteredGroup]) -> FilterCounts:
    return _sum(
        [
            FilterCounts(
                group.kept,
                group.kept_chars,
                group.chars_after,
                group.tokens,
                group.kept_tokens_saved,
            )
            for group in groups
        ]
    )


def _noise(groups: Sequence[FilteredGroup]) -> dict[str, FilterCounts]:
    """Return what each rule marked, by its name; of a turn that is noise nothing is sent."""
    found: dict[str, FilterCounts] = {}
    for group in groups:
        for marked in group.noise:
            row = FilterCounts(
                marked.turns, marked.chars, 0, 0, group.estimate_tokens(marked.chars)
            )
            found[marked.rule] = _sum([found.get(marked.rule, _sum([])), row])
    return dict(sorted(found.items()))


def _sum(rows: Sequence[FilterCounts]) -> FilterCounts:
    return FilterCounts(
        *(sum(column) for column in zip(FilterCounts(0, 0, 0, 0, 0), *rows, strict=True))
    )


def _group_json(group: FilteredGroup) -> dict[str, Any]:
    return {"group": group.group, **_json([group]), "unchanged": group.skipped}


def _json(groups: Sequence[FilteredGroup]) -> dict[str, Any]:
    marked = ("turns", "chars_before", "chars_after", "tokens_saved")
    return {
        **_all(groups)._asdict(),
        "copies": sum(group.copies for group in groups),
        "kept": _kept(groups)._asdict(),
        "noise": {
            rule: {name: getattr(row, name) for name in marked}
            for rule, row in _noise(groups).items()
        },
    }


def _caption(report: FilterReport) -> str:
    if not report.groups:
        return "no turns yet: run `turnetl parse ARCHIVES`"
    said = ["each turn once; tokens are estimates"]
    if report.copies:
        noun = "copy" if report.copies == 1 else "copies"
        said.append(f"{report.copies:,} {noun} in other archives left out")
    if all(group.skipped for group in report.groups):
        said.insert(0, "nothing new")
    return "; ".join(said)
