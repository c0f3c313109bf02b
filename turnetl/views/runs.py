"""The runs that wrote to a graph: a row per run, or one run with all that is recorded."""

import shlex
from datetime import timedelta

from turnetl.base.graph_model import TurnRun
from turnetl.base.text import format_cost, format_minute, plural
from turnetl.ingestion.run_report import RecordedRun, RunsReport, RunState
from turnetl.summaries.reasons import reason_counts
from turnetl.views import costs, status
from turnetl.views.nodes import Caption, Column, Frame, Lines, Node, Table, View, counted, line

_SHORT_ID = 8
_STYLES = {RunState.FAILED: "red", RunState.INTERRUPTED: "red", RunState.STOPPED: "yellow"}
_NO_RUNS = "no run has written to this graph; `turnetl backfill` is the first"

# One column: beside the numbers, a terminal of 80 columns has no room for names.
_COLUMNS = (
    Column("run       started           state\n  extractor: groups"),
    *(
        Column(name, is_number=True, is_wrapped=False)
        for name in ("turns", "entities", "facts", "cost")
    ),
)


def view(report: RunsReport) -> View:
    if not report.runs:
        return [Caption(_NO_RUNS)]
    rows: list[tuple[Node, ...]] = []
    for recorded in report.runs:
        run = recorded.run
        counts = counted((run.committed, run.entities_new, run.facts_new))
        name = f"{run.run_id[:_SHORT_ID]}  {format_minute(run.started_at)}  "
        rows.append((line(name, _state(recorded)), *counts, format_cost(run.usage.cost)))
        origin = (_extractor(run), ", ".join(run.groups))
        rows.append((Lines([": ".join(filter(None, origin))], indent=2),))
    cost = [Caption(costs.OF_RUNS)] if any(each.run.usage.calls for each in report.runs) else []
    return [Table(_COLUMNS, rows, Frame.NONE), Caption(_count(report)), *cost]


def details(recorded: RecordedRun) -> View:
    grid = Table((Column(is_wrapped=False), Column()), _properties(recorded))
    return [f"run {recorded.run.run_id}", grid, *_comparison(recorded)]


def _comparison(recorded: RecordedRun) -> View:
    run, estimate = recorded.run, recorded.estimate
    if estimate is None:
        return []
    end = run.ended_at
    seconds = None if end is None else (end - run.started_at).total_seconds()
    return costs.comparison(estimate, run.usage, seconds)


def _properties(recorded: RecordedRun) -> list[tuple[str, Node]]:
    run = recorded.run
    return [
        ("state", line(_state(recorded))),
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
            [("summaries", status.summaries_line(reason_counts(run.summary_reasons)))]
            if run.summary_reasons
            else []
        ),
        ("requests", _requests(run)),
    ]


def _state(recorded: RecordedRun) -> tuple[str, str]:
    return recorded.state.value, _STYLES.get(recorded.state, "")


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
