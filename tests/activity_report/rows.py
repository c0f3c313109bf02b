"""Rows of a report, and a complete report."""

from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any, TypeVar

import polars as pl

from tests.builders import GROUP, START
from turnetl.activity_report import model
from turnetl.activity_report.contents import contents
from turnetl.activity_report.model import (
    ActivityReport,
    EntitiesOfLabel,
    EntityHistory,
    ErrorOccurrence,
    Knowledge,
    Listed,
    NamedUsage,
    NoiseOfRule,
    OwnCost,
    PendingTurns,
    QuarantinedTurn,
    ReportedError,
    ReportedFact,
    ReportedRun,
    ReportedTurn,
    ReportScope,
    ReportTimeline,
    TimelineDay,
    TimelineSession,
    TimelineTurn,
    TurnsOfReason,
)
from turnetl.activity_report.turns import ROWS
from turnetl.activity_report.usage import SUBAGENTS, agent_usage
from turnetl.base.model import Usage

T = TypeVar("T")


def row(native: str = "t1", **fields: Any) -> dict[str, Any]:
    """Return a turn of the lake that is in the graph; `fields` replace its values."""
    return {
        "turn_id": native,
        "group_id": GROUP,
        "format": "claude_code",
        "session_id": "s1",
        "agent_id": None,
        "started_at": START,
        "model": "opus",
        "input_tokens": 100,
        "cache_write_tokens": None,
        "cache_read_tokens": None,
        "output_tokens": 10,
        "reasoning_tokens": None,
        "usage": None,
        "archive": "/home/dev/s1.jsonl",
        "first_line": 1,
        "last_line": 4,
        "prompt": f"prompt of {native}",
        "noise": None,
        "is_filtered": True,
        "is_in_lake": True,
        "is_in_graph": True,
    } | fields


def rows(*values: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(values), schema=ROWS)


def subagent(**fields: Any) -> dict[str, Any]:
    """Return tokens of a subagent that is in no turn; `fields` replace its values."""
    values = {
        "group_id": GROUP,
        "format": "claude_code",
        "model": "opus",
        "started_at": START,
        "is_of_subagent": True,
        "input_tokens": 7,
        "cache_write_tokens": None,
        "cache_read_tokens": None,
        "output_tokens": 2,
        "reasoning_tokens": None,
    } | fields
    return {"message": f"{values['model']} {values['started_at']}"} | values


def subagents(*values: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(values), schema=SUBAGENTS)


def days(number: int) -> timedelta:
    return timedelta(days=number)


def full_report(text: str = "a", at: datetime = START) -> ActivityReport:
    """Return a report with a value in every part; every text is this one."""
    turn = ReportedTurn(f"{text}-id", text, text, text, at, f"/{text}", 3, 9)
    fact = ReportedFact(text, text, at, None, (turn,), 2)
    invalid = ReportedFact(text, text, at, at, (turn, turn), 0)
    # A table holds no halves of characters.
    stored = text.encode("utf-8", "replace").decode()
    names = ("group_id", "format", "session_id", "model", "prompt")
    table = rows(
        row("t1", **dict.fromkeys(names, stored)),
        row("t2", agent_id=stored, model=None, noise=stored),
    )
    usage = NamedUsage(text, Usage(3, 100, 20, 0.5))
    reason = TurnsOfReason(text, text, Listed((turn,), 9))
    return ActivityReport(
        scope=ReportScope(text, text, (text,), at, at, at, redacts_persons=False),
        missing=(text,),
        contents=contents(table),
        timeline=_timeline(text, turn, fact, at.date()),
        knowledge=_knowledge(text, turn, fact, invalid),
        noise=(NoiseOfRule(text, text, 5, (turn,)), NoiseOfRule(text, "", 1, (turn,))),
        usage=agent_usage(table, subagents(subagent(model=stored))),
        own_cost=OwnCost(
            (usage,),
            None,
            (usage,),
            Listed((ReportedRun(text, at, text, 3, 1, text, Usage()),), 1),
        ),
        pending=PendingTurns(
            Listed((QuarantinedTurn(turn, text, at),), 4),
            (reason,),
            (reason,),
            (text,),
            Listed((text,), 1),
            (text,),
        ),
    )


def _timeline(text: str, turn: ReportedTurn, fact: ReportedFact, day: date) -> ReportTimeline:
    session = TimelineSession(text, text, (TimelineTurn(turn, (fact,), 2),))
    return ReportTimeline((TimelineDay(day, (session,)),), 1, 2)


def _knowledge(
    text: str, turn: ReportedTurn, fact: ReportedFact, invalid: ReportedFact
) -> Knowledge:
    entity = EntityHistory(text, text, 3, Listed((fact, invalid), 7))
    solved = ErrorOccurrence(invalid, turn, "fixed", turn.started_at, turn, (fact,), text)
    unsolved = ErrorOccurrence(fact, turn, "unresolved", None, None, (), "")
    return Knowledge(
        facts=12,
        invalid_facts=3,
        decisions=Listed((fact, invalid), 30),
        labels=Listed((EntitiesOfLabel(text, Listed((entity,), 4)),), 3),
        errors=Listed((ReportedError(text, text, 2, (solved, unsolved)),), 5),
        open_problems=Listed((fact,), 6),
    )


USUAL_TEXT = (
    "Keep prices in cents, because sums of floats are wrong (`tests/test_cart.py` failed with "
    "`assert 0.30000000000000004 == 0.3`)"
)


def largest_report() -> ActivityReport:
    """Return a report whose lists are at their bounds, with texts of a usual length."""
    report = full_report(USUAL_TEXT)
    usage, cost, pending = report.usage, report.own_cost, report.pending
    project = replace(report.contents.projects.items[0], group="bookshop")
    counts = replace(usage.total, name="claude-opus")
    return replace(
        report,
        contents=replace(report.contents, projects=_many(project, model.PROJECTS)),
        timeline=_largest_timeline(report.timeline),
        knowledge=_largest_knowledge(report.knowledge),
        noise=report.noise[:1] * 20,
        usage=replace(
            usage,
            by_model=_many(counts, model.MODELS),
            by_project=_many(counts, model.PROJECTS),
            by_format=(counts,) * 20,
        ),
        own_cost=replace(
            cost,
            by_prompt=cost.by_prompt * 8,
            by_group=cost.by_group * model.PROJECTS,
            runs=_many(cost.runs.items[0], model.RUNS),
        ),
        pending=replace(
            pending,
            quarantined=_many(pending.quarantined.items[0], model.QUARANTINED),
            gaps=pending.gaps * 6,
            stale=pending.stale * 6,
            stale_parts=pending.stale_parts * 6,
            missing_archives=_many(USUAL_TEXT, model.ARCHIVES),
        ),
    )


def _many(one: T, count: int) -> Listed[T]:
    return Listed((one,) * count, 10 * count)


def _largest_timeline(found: ReportTimeline) -> ReportTimeline:
    (day,) = found.days
    (session,) = day.sessions
    turns = model.TIMELINE_TURNS // 50
    days = (replace(day, sessions=(replace(session, turns=session.turns * turns),) * 10),) * 5
    return replace(found, days=days, shown=model.TIMELINE_TURNS, total=100_000)


def _largest_knowledge(found: Knowledge | None) -> Knowledge:
    assert found is not None
    label, error = found.labels.items[0], found.errors.items[0]
    history = replace(
        label.entities.items[0], facts=_many(found.decisions.items[0], model.ENTITY_FACTS)
    )
    label = replace(label, entities=_many(history, model.ENTITIES))
    return replace(
        found,
        decisions=_many(found.decisions.items[0], model.DECISIONS),
        labels=_many(label, model.LABELS),
        errors=_many(error, model.ERRORS),
        open_problems=_many(found.open_problems.items[0], model.OPEN_PROBLEMS),
    )
