"""The report on everything as one HTML page."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from turnetl.activity_report.model import (
    Activity,
    ActivityReport,
    ReportedFact,
    ReportedTurn,
    ReportFile,
    TokenCount,
    WeekCount,
)
from turnetl.activity_report.personal import values_of
from turnetl.base.text import format_cost, plural, size
from turnetl.html import charts, pages
from turnetl.html.references import (
    FactReference,
    SourceLines,
    TurnReference,
    file_href,
    group_note,
)
from turnetl.report_pages.own_file import check_page, write_page
from turnetl.retrieval.turn_summary import short_id
from turnetl.views.nodes import View

TITLE = "What the agents did"
_SECTIONS = (
    ("contents", "Contents"),
    ("timeline", "Timeline"),
    ("decisions", "Decisions"),
    ("entities", "Entities"),
    ("errors", "Errors"),
    ("noise", "Noise"),
    ("usage", "Tokens of agents"),
    ("cost", "Cost of turnetl"),
    ("quarantine", "Quarantine"),
    ("gaps", "Gaps"),
    ("stale", "Stale turns"),
    ("turns", "Turns"),
)


def activity_page(report: ActivityReport) -> str:
    """Return the page. A report without persons has no links to archives: their paths name some."""
    has_links = not report.scope.redacts_persons
    made = pages.environment()
    made.filters |= page_filters(lambda turn: _on_the_page(turn, has_links=has_links))
    return pages.render(made, "report.html", title=TITLE, **page_values(report))


def page_values(report: ActivityReport) -> dict[str, Any]:
    """Return the variables of `report.html`."""
    return {
        "report": report,
        "sections": _SECTIONS,
        "charts": {
            "months": activity_chart(
                "Turns by month and project", "turns", report.contents.by_month
            ),
            "weeks": activity_chart("Turns by week and project", "turns", report.contents.by_week),
            "used_months": activity_chart(
                "Tokens by month and model", "tokens", report.usage.by_month
            ),
            "days": activity_chart("Tokens by day and model", "tokens", report.usage.by_day),
        },
        "turns": reported_turns(report),
    }


def page_filters(
    reference: Callable[[ReportedTurn], TurnReference],
) -> dict[str, Callable[..., object]]:
    """Return the filters of `report.html`; `reference` returns where a turn and its lines are."""

    def fact(one: ReportedFact) -> FactReference:
        return FactReference(
            one.text,
            one.relation,
            one.valid_at,
            one.invalid_at,
            tuple(map(reference, one.turns)),
            one.further_turns,
        )

    return {
        "reference": reference,
        "fact": fact,
        "dollars": format_cost,
        "short": short_id,
        "split": token_split,
        "share": charts.share,
        "note": group_note,
        "week_rows": _week_rows,
    }


def reported_turns(report: ActivityReport) -> list[ReportedTurn]:
    """Return each turn that the report names once, newest first; those without a time last."""
    by_id = {turn.turn_id: turn for turn in values_of(report, ReportedTurn)}
    oldest = datetime.min.replace(tzinfo=UTC)
    return sorted(
        by_id.values(), key=lambda turn: (turn.started_at or oldest, turn.turn_id), reverse=True
    )


def activity_chart(title: str, unit: str, activity: Activity | None) -> charts.Chart | None:
    """Return the chart; None if there is nothing to draw."""
    if activity is None or not any(any(one.values) for one in activity.series):
        return None
    series = [charts.Series(one.name, one.values) for one in activity.series]
    return charts.column_chart(title, unit, activity.labels, series)


def _on_the_page(turn: ReportedTurn, *, has_links: bool) -> TurnReference:
    """Return where a turn is on the page itself, with its archive if links may name it."""
    archive = file_href(turn.archive) if has_links else None
    source = SourceLines(turn.archive, turn.first_line, turn.last_line, archive)
    return TurnReference(turn.turn_id, turn.title, turn.started_at, f"#turn-{turn.turn_id}", source)


def _week_rows(weeks: Sequence[WeekCount]) -> list[tuple[str, str, str]]:
    return [(one.week, f"{one.turns:,}", f"{one.sessions:,}") for one in weeks]


class ActivityPageFile:
    """The page of an activity report."""

    def check(self, path: Path) -> None:
        check_page(path)

    def write(self, path: Path, report: ActivityReport) -> int:
        return write_page(path, activity_page(report))


_MILLION = 1_000_000


def view(written: ReportFile) -> View:
    """Return the file, its size and what it is about."""
    counts = (
        f"{plural(written.turns, 'turn')} of {plural(written.sessions, 'session')} in "
        f"{plural(written.projects, 'project')}"
    )
    tokens = token_split(written.tokens)
    return [f"{written.path}: {size(written.bytes)}, {counts}; {tokens}"]


def token_split(tokens: TokenCount) -> str:
    """Return all tokens and what they are: `12.3 M tokens: 0.4 M input, ...`."""
    parts = [
        (tokens.input_tokens, "input"),
        (tokens.cache_write_tokens, "cache write"),
        (tokens.cache_read_tokens, "cache read"),
        (tokens.output_tokens, "output"),
    ]
    reasoning = tokens.reasoning_tokens
    listed = ", ".join(f"{_rounded(one)} {name}" for one, name in parts if one is not None)
    of_it = f" ({_rounded(reasoning)} of it reasoning)" if reasoning else ""
    return f"{_rounded(tokens.tokens)} tokens: {listed}{of_it}"


def _rounded(count: int) -> str:
    """Return a number, in millions if it is large."""
    return f"{count / _MILLION:,.1f} M" if count >= _MILLION // 10 else f"{count:,}"
