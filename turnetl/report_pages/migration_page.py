"""Old and new data of a migration as one HTML page."""

from collections.abc import Sequence

from turnetl.base.text import plural
from turnetl.html import pages
from turnetl.migration.comparison import (
    ComparedSession,
    GroupComparison,
    LostFact,
    MigrationComparison,
    ProbeResult,
)
from turnetl.views.migration import comparison_rows, comparison_summary, percent


def migration_page(report: MigrationComparison) -> str:
    environment = pages.environment()
    environment.filters |= {
        "figure_rows": lambda group: list(comparison_rows(group, report.probe_limit)),
        "summary": comparison_summary,
        "probe_summary": lambda group: _probe_summary(group, report.probe_limit),
        "probe_rows": _probe_rows,
        "counts": _counts,
        "fact_rows": _fact_rows,
    }
    return pages.render(
        environment, "migration.html", title="Session-level data and turns", report=report
    )


def _probe_summary(group: GroupComparison, limit: int) -> str:
    source = "made of old facts" if group.are_probes_generated else "of the file of questions"
    return (
        f"{plural(len(group.probes), 'question')} {source}. The right session is among the first "
        f"{limit} for {percent(group.old_hit_rate)} with the old data, and for "
        f"{percent(group.new_hit_rate)} with the turns."
    )


def _probe_rows(probes: Sequence[ProbeResult]) -> list[tuple[str, ...]]:
    return [
        (
            one.probe.question,
            ", ".join(one.probe.sessions),
            "-" if one.old_rank is None else str(one.old_rank),
            "-" if one.new_rank is None else str(one.new_rank),
        )
        for one in probes
    ]


def _counts(session: ComparedSession) -> str:
    return (
        f"{plural(session.new.episodes, 'episode')} of turns, {session.new.facts:,} new facts; "
        f"{session.old.facts:,} old facts, {len(session.lost_facts):,} lost"
    )


def _fact_rows(facts: Sequence[LostFact]) -> list[tuple[str, ...]]:
    return [
        (
            fact.text,
            fact.nearest or "-",
            "yes" if fact.shares_entity else "no",
            f"{fact.similarity:.2f}",
        )
        for fact in facts
    ]
