"""Old and new data of a migration side by side."""

from collections.abc import Iterator

from turnetl.base.exit_code import ExitCode
from turnetl.base.text import plural
from turnetl.migration.comparison import FactDates, GroupComparison, MigrationComparison
from turnetl.views.nodes import Caption, Column, Lines, PageOnly, Table, View, limited, numbers

_LITTLE = 0.005
_LISTED = 5
"""Lost facts that are printed; `--json` and `--html` have all."""


def view(report: MigrationComparison) -> View:
    """Return a table of two columns per group, its verdict, and the first lost facts."""
    return [node for group in report.groups for node in _group(group, report)]


def exit_code(report: MigrationComparison) -> int:
    return ExitCode.DONE if all(group.passed for group in report.groups) else ExitCode.FOUND


def percent(share: float | None) -> str:
    """Return a share as text; `-` if there is none. Only all is 100 %, and only none is 0 %."""
    if share is None:
        return "-"
    if 0 < share < _LITTLE:
        return "<1 %"
    return ">99 %" if 1 - _LITTLE < share < 1 else f"{100 * share:.0f} %"


def rows(group: GroupComparison, probe_limit: int) -> list[tuple[str, str, str]]:
    """Return the rows of the comparison of a group: name, old value, new value."""
    old, new = group.old, group.new
    old_first, new_first = _first(group)
    return [
        ("episodes", f"{old.episodes:,}", f"{new.episodes:,}"),
        ("entities", f"{old.entities:,}", f"{new.entities:,}"),
        ("facts", f"{old.facts:,}", f"{new.facts:,}"),
        ("characters of text", f"{old.chars:,}", f"{new.chars:,}"),
        ("facts dated by the event", _dated(group.old_dates), _dated(group.new_dates)),
        (
            f"probes with the session in the first {probe_limit}",
            percent(group.old_hit_rate),
            percent(group.new_hit_rate),
        ),
        ("probes with the session first", percent(old_first), percent(new_first)),
    ]


def _dated(dates: FactDates) -> str:
    good = dates.facts - dates.undated - dates.outside
    return percent(good / dates.facts if dates.facts else None)


def _first(group: GroupComparison) -> tuple[float | None, float | None]:
    count = len(group.probes)
    if not count:
        return None, None
    old = sum(probe.old_rank == 1 for probe in group.probes)
    return old / count, sum(probe.new_rank == 1 for probe in group.probes) / count


def _group(group: GroupComparison, report: MigrationComparison) -> View:
    columns = (Column(), *numbers("session level", "turns"))
    lost = [fact for session in group.sessions for fact in session.lost_facts]
    verdict = Lines(group.reasons) if group.reasons else "The turns may replace the old data."
    return [
        Table(columns, rows(group, report.probe_limit), title=group.group),
        PageOnly([verdict]),
        Caption(summary(group)),
        *([Lines(limited(lost, lambda fact: f"lost: {fact.text}", _LISTED))] if lost else []),
    ]


def summary(group: GroupComparison) -> str:
    facts = plural(group.old.facts, "old fact")
    return (
        f"new facts express {percent(group.expressed)} of {facts}; "
        f"{plural(len(group.entities_lost), 'entity', 'entities')} lost, "
        f"{len(group.entities_gained):,} gained; {plural(len(group.probes), 'probe')}"
    )


def messages(report: MigrationComparison) -> Iterator[str]:
    for group in report.groups:
        for reason in group.reasons:
            yield f"group `{group.group}`: {reason}"
        if group.reasons:
            yield (
                f"group `{group.group}`: `turnetl migrate cutover` refuses this without --accept; "
                "--html FILE shows what is lost"
            )
