"""The runs that wrote to a graph: a row per run, or one run with all that is recorded."""

import shlex
from datetime import timedelta

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.base.graph_model import TurnRun
from turnetl.base.text import format_cost, format_minute, plural
from turnetl.ingestion.run_report import RecordedRun, RunsReport, RunState
from turnetl.report import costs, estimates, summary_counts
from turnetl.report.layout import caption, indented
from turnetl.summaries.reasons import reason_counts

_SHORT_ID = 8
_STYLES = {RunState.FAILED: "red", RunState.INTERRUPTED: "red", RunState.STOPPED: "yellow"}
_NO_RUNS = "no run has written to this graph; `turnetl backfill ARCHIVES` is the first"


def table(report: RunsReport) -> RenderableType:
    """Render a row per run, and below it what made its turns and their groups."""
    if not report.runs:
        return caption(_NO_RUNS)
    view = Table(box=None, padding=(0, 2, 0, 0))
    # One column: beside the numbers, a terminal of 80 columns has no room for names.
    view.add_column("run       started           state\n  extractor: groups", overflow="fold")
    for name in ("turns", "entities", "facts", "cost"):
        view.add_column(name, justify="right", no_wrap=True)
    for recorded in report.runs:
        run = recorded.run
        view.add_row(
            Text.assemble(_short(run), _state(recorded)),
            f"{run.committed:,}",
            f"{run.entities_new:,}",
            f"{run.facts_new:,}",
            format_cost(run.usage.cost),
        )
        view.add_row(indented(Text(": ".join(filter(None, _origin(run)))), 2))
    cost = [caption(costs.OF_RUNS)] if any(each.run.usage.calls for each in report.runs) else []
    return Group(view, caption(_count(report)), *cost)


def details(recorded: RecordedRun) -> RenderableType:
    """Render one run, a line per property."""
    run = recorded.run
    view = Table.grid(padding=(0, 2, 0, 0))
    view.add_column(no_wrap=True)
    view.add_column(overflow="fold")
    for name, value in _properties(recorded):
        view.add_row(name, value if isinstance(value, Text) else Text(value))
    return Group(Text(f"run {run.run_id}"), view, *_comparison(recorded))


def _comparison(recorded: RecordedRun) -> list[RenderableType]:
    """Return what was estimated of the run beside what it used, if it was."""
    run, estimate = recorded.run, recorded.estimate
    if estimate is None:
        return []
    end = run.ended_at
    seconds = None if end is None else (end - run.started_at).total_seconds()
    view = estimates.comparison(estimate, run.usage, seconds)
    return [] if view is None else [Text(), view]


def _properties(recorded: RecordedRun) -> list[tuple[str, str | Text]]:
    run = recorded.run
    return [
        ("state", _state(recorded)),
        *([("error", run.error)] if run.error else []),
        ("who", f"{run.user}@{run.host}"),
        ("started", f"{run.started_at:%Y-%m-%d %H:%M:%S} UTC"),
        ("ended", _end(run)),
        ("command", shlex.join(run.command) or "from Python"),
        *([("archives", ", ".join(run.archives))] if run.archives else []),
        ("groups", ", ".join(run.groups)),
        ("extractor", _extractor(run)),
        ("recipes", ", ".join(run.recipes)),
        ("turns", _turns(recorded)),
        ("entities", f"{run.entities_new:,} new; {run.discarded:,} names and facts discarded"),
        ("facts", f"{run.facts_new:,} new, {run.facts_invalidated:,} invalidated"),
        *(
            [("summaries", summary_counts.line(reason_counts(run.summary_reasons)))]
            if run.summary_reasons
            else []
        ),
        ("requests", _requests(run)),
    ]


def _state(recorded: RecordedRun) -> Text:
    return Text(recorded.state.value, style=_STYLES.get(recorded.state, ""))


def _short(run: TurnRun) -> str:
    """Return how the line of a run begins."""
    return f"{run.run_id[:_SHORT_ID]}  {format_minute(run.started_at)}  "


def _origin(run: TurnRun) -> tuple[str, str]:
    """Return what made the turns of a run, and their groups."""
    return _extractor(run), ", ".join(run.groups)


def _extractor(run: TurnRun) -> str:
    return f"{run.extractor} {run.model}" if run.model else run.extractor


def _end(run: TurnRun) -> str:
    if run.ended_at is None:
        return "not recorded"
    seconds = timedelta(seconds=round((run.ended_at - run.started_at).total_seconds()))
    return f"{run.ended_at:%Y-%m-%d %H:%M:%S} UTC, after {seconds}"


def _turns(recorded: RecordedRun) -> str:
    run = recorded.run
    return (
        f"{run.committed:,} committed, {recorded.in_graph:,} of them in the graph now; "
        f"{run.quarantined:,} quarantined"
    )


def _requests(run: TurnRun) -> str:
    tokens, cost = run.usage.tokens, format_cost(run.usage.cost)
    return f"{plural(run.usage.calls, 'call')}, {plural(tokens, 'token')}, cost: {cost}"


def _count(report: RunsReport) -> str:
    if len(report.runs) < report.count:
        return f"the last {len(report.runs):,} of {report.count:,} runs; --limit prints more"
    return plural(report.count, "run")
