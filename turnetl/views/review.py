"""Held invalidations of facts by turn, before and after they were answered."""

from turnetl.base.exit_code import ExitCode
from turnetl.base.model import ID_CHARS
from turnetl.base.text import format_minute, plural
from turnetl.ingestion.ingest_report import error_messages
from turnetl.ingestion.review import Answer, HeldFact, HeldTurn, ReviewReport
from turnetl.views.nodes import Caption, Lines, Node, View, line, section
from turnetl.views.undo import turn_line

NOT_CONFIRMED = "nothing was answered: confirm it on a terminal, or add --yes"
_DONE = {Answer.ACCEPT: "ended", Answer.REJECT: "kept for good"}


def preview(report: ReviewReport) -> View:
    """Return the turns, each with the facts that it would have ended."""
    sections = (
        node
        for group in report.groups
        for node in section(group.group, [node for turn in group.turns for node in _turn(turn)])
    )
    return [*sections, Caption(_held(report))]


def question(report: ReviewReport) -> str:
    facts = plural(report.facts, "fact")
    return f"End {facts}?" if report.answer is Answer.ACCEPT else f"Keep {facts}?"


def result(report: ReviewReport) -> View:
    done = _DONE[report.answer or Answer.REJECT]
    return [Caption(f"{plural(report.answered, 'fact is', 'facts are')} {done}.")]


def messages(report: ReviewReport) -> list[str]:
    return error_messages(report.groups)


def exit_code(report: ReviewReport) -> int:
    return next((group.exit_code for group in report.groups if group.exit_code), ExitCode.DONE)


def _turn(turn: HeldTurn) -> View:
    receipt = turn.receipt
    where = line((f"{receipt.archive}:{receipt.first_line}", "dim"))
    facts = [_fact(one) for one in turn.facts]
    rest = f"{plural(turn.outdated, 'more fact')} that ended meanwhile, or are gone"
    return [turn_line(turn), Lines([where, *facts, *([rest] if turn.outdated else [])], indent=2)]


def _fact(held: HeldFact) -> Node:
    fact = held.fact
    by = f": {held.ended_by}" if held.ended_by else ""
    since = format_minute(fact.valid_at) if fact.valid_at else "an unknown time"
    ends = f"since {since}, would end {format_minute(held.ends_at)}{by}"
    return Lines([line((fact.uuid[:ID_CHARS], "bold"), f"  {fact.text}"), Lines([ends], indent=10)])


def _held(report: ReviewReport) -> str:
    if not report.groups:
        return "nothing is held for review"
    facts = f"{plural(report.facts, 'fact')} of {plural(report.turns, 'turn')}"
    if report.answer is not None:
        return f"{facts} would be {_DONE[report.answer]}"
    return (
        f"{facts} to review: `turnetl review accept TURN` ends them, `turnetl review reject TURN` "
        "keeps them"
    )
