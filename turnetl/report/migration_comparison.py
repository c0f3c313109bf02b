"""Old and new data of a migration in the terminal."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.base.exit_code import ExitCode
from turnetl.base.text import plural
from turnetl.migration.comparison import FactDates, GroupComparison, MigrationComparison
from turnetl.report import layout as md
from turnetl.report.layout import caption, limited

_LITTLE = 0.005
_LISTED = 5
"""Lost facts that are printed; `--json` and `--html` have all."""


def table(report: MigrationComparison) -> RenderableType:
    """Render a table of two columns per group, its verdict, and the first lost facts."""
    return Group(*(line for group in report.groups for line in _group(group, report)))


def markdown(report: MigrationComparison) -> str:
    """Return a table per group, its verdict, what is lost, and the first lost facts."""
    return md.sections(*(_group_markdown(group, report) for group in report.groups))


def messages(report: MigrationComparison) -> list[str]:
    """Return what a cutover refuses, and how to see more."""
    return list(_messages(report))


def exit_code(report: MigrationComparison) -> int:
    """Return `FOUND` if a threshold is not met."""
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


def _group(group: GroupComparison, report: MigrationComparison) -> Iterator[RenderableType]:
    view = Table(title=Text(group.group), title_justify="left")
    view.add_column("")
    view.add_column("session level", justify="right")
    view.add_column("turns", justify="right")
    for row in rows(group, report.probe_limit):
        view.add_row(*row)
    yield view
    yield caption(summary(group))
    lost = [fact for session in group.sessions for fact in session.lost_facts]
    yield from limited(lost, lambda fact: Text(f"lost: {fact.text}"), _LISTED)


def _group_markdown(group: GroupComparison, report: MigrationComparison) -> str:
    verdict = md.bullets(group.reasons) or "The turns may replace the old data."
    lost = [fact.text for session in group.sessions for fact in session.lost_facts]
    return md.sections(
        f"## {md.escaped(group.group)}",
        verdict,
        md.table(("", "session level", "turns"), rows(group, report.probe_limit), numbers=2),
        f"{summary(group)}.",
        md.bullets(f"lost: {fact}" for fact in lost[:_LISTED]),
    )


def summary(group: GroupComparison) -> str:
    """Return what is lost and gained, in a sentence."""
    facts = plural(group.old.facts, "old fact")
    return (
        f"new facts express {percent(group.expressed)} of {facts}; "
        f"{plural(len(group.entities_lost), 'entity', 'entities')} lost, "
        f"{len(group.entities_gained):,} gained; {plural(len(group.probes), 'probe')}"
    )


def _messages(report: MigrationComparison) -> Iterator[str]:
    for group in report.groups:
        for reason in group.reasons:
            yield f"group `{group.group}`: {reason}"
        if group.reasons:
            yield (
                f"group `{group.group}`: `turnetl migrate cutover` refuses this without --accept; "
                "--html FILE shows what is lost"
            )
