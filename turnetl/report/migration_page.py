"""Old and new data of a migration as one HTML page."""

from collections.abc import Iterator, Sequence

from turnetl.migration.comparison import (
    ComparedSession,
    GroupComparison,
    LostFact,
    MigrationComparison,
    ProbeResult,
)
from turnetl.report import html
from turnetl.report.layout import format_minute, plural
from turnetl.report.migration_comparison import percent, rows, summary

_LISTED_NAMES = 200
"""Entities that a list shows; `--json` has all."""


def migration_page(report: MigrationComparison) -> str:
    """Return the page."""
    return html.page("Session-level data and turns", _body(report))


def _body(report: MigrationComparison) -> Iterator[str]:
    yield "<h1>Session-level data and turns</h1>"
    yield (
        f'<p class="soft">Compared at {html.text(format_minute(report.compared_at))} UTC. An old '
        "fact counts as expressed if a new fact names one of its entities and the cosine of the "
        f"texts is at least {report.fact_similarity:g}.</p>"
    )
    for group in report.groups:
        yield from _group(group, report)


def _group(group: GroupComparison, report: MigrationComparison) -> Iterator[str]:
    yield f"<section><h2>{html.text(group.group)}</h2>"
    yield from _verdict(group)
    figures = rows(group, report.probe_limit)
    yield html.table(("", "session level", "turns"), figures, numbers=2, style="figures")
    yield f"<p>{html.text(summary(group))}.</p>"
    yield from _names("Entities that are lost", group.entities_lost)
    yield from _names("Entities that are gained", group.entities_gained)
    yield from _probes(group, report.probe_limit)
    yield "<h3>Sessions</h3>"
    for session in group.sessions:
        yield from _session(session)
    yield "</section>"


def _verdict(group: GroupComparison) -> Iterator[str]:
    if group.passed:
        yield '<div class="verdict"><strong class="good">The turns may replace the old data.'
        yield "</strong></div>"
        return
    reasons = "".join(f"<li>{html.text(reason)}</li>" for reason in group.reasons)
    yield '<div class="verdict bad"><strong>A cutover is refused without --accept.</strong>'
    yield f"<ul>{reasons}</ul></div>"


def _names(title: str, names: Sequence[str]) -> Iterator[str]:
    if not names:
        return
    shown = "".join(f"<li>{html.text(name)}</li>" for name in names[:_LISTED_NAMES])
    if (more := len(names) - _LISTED_NAMES) > 0:
        shown += f"<li>and {more:,} more</li>"
    yield f"<details><summary>{html.text(title)}: {len(names):,}</summary>"
    yield f'<ul class="names">{shown}</ul></details>'


def _probes(group: GroupComparison, limit: int) -> Iterator[str]:
    if not group.probes:
        yield '<p class="soft">There are no search probes.</p>'
        return
    source = "made of old facts" if group.are_probes_generated else "of the file of questions"
    yield "<h3>Search probes</h3>"
    yield (
        f'<p class="soft">{plural(len(group.probes), "question")} {source}. The right session is '
        f"among the first {limit} for {percent(group.old_hit_rate)} with the old data, and for "
        f"{percent(group.new_hit_rate)} with the turns.</p>"
    )
    missed = [one for one in group.probes if one.new_rank is None]
    if missed:
        yield f"<details open><summary>Not found among the turns: {len(missed):,}</summary>"
        yield f"{_probe_table(missed)}</details>"
    yield f"<details><summary>All questions</summary>{_probe_table(group.probes)}</details>"


def _probe_table(probes: Sequence[ProbeResult]) -> str:
    lines = (
        (
            one.probe.question,
            ", ".join(one.probe.sessions),
            "-" if one.old_rank is None else str(one.old_rank),
            "-" if one.new_rank is None else str(one.new_rank),
        )
        for one in probes
    )
    return html.table(("question", "session", "rank, old", "rank, turns"), lines, numbers=2)


def _session(session: ComparedSession) -> Iterator[str]:
    name = session.session_id or "Old data whose session is not known"
    lost = len(session.lost_facts)
    counts = (
        f"{plural(session.new.episodes, 'episode')} of turns, {session.new.facts:,} new facts; "
        f"{session.old.facts:,} old facts, {lost:,} lost"
    )
    started = "" if session.started_at is None else f"{format_minute(session.started_at)}  "
    yield (
        f"<details><summary>{html.text(started)}<strong>{html.text(name)}</strong> "
        f'<span class="soft">{html.text(counts)}</span></summary>'
    )
    if session.lost_facts:
        yield _lost_table(session.lost_facts)
    yield from _names("Entities that are lost", session.entities_lost)
    yield from _names("Entities that are gained", session.entities_gained)
    old, new = session.old_dates, session.new_dates
    yield (
        f'<p class="soft">Facts dated outside of the session: {old.outside:,} old, '
        f"{new.outside:,} new. Without a date: {old.undated:,} old, {new.undated:,} new.</p>"
    )
    yield "</details>"


def _lost_table(facts: Sequence[LostFact]) -> str:
    lines = (
        (
            fact.text,
            fact.nearest or "-",
            "yes" if fact.shares_entity else "no",
            f"{fact.similarity:.2f}",
        )
        for fact in facts
    )
    headers = ("lost fact", "most similar new fact", "same entity", "similarity")
    return html.table(headers, lines, numbers=1)
