"""Turns: the timeline, one turn, one session, and the lines of a turn in its archive."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from turnetl.base.text import plural
from turnetl.episode_text.conversation import ConversationStep, TextSource
from turnetl.html.references import SourceLines, TurnReference
from turnetl.index.port import IndexedFact
from turnetl.pipeline.opened_items import ArchiveLines
from turnetl.retrieval.details import SessionDetails, TurnDetails, by_validity
from turnetl.retrieval.turn_summary import Timeline, TurnSummary
from turnetl.web import forms
from turnetl.web.forms import PageForm
from turnetl.web.routes.references import (
    CutText,
    EntityLink,
    FoldedText,
    LinkedFact,
    LinkedTurn,
    NamedLink,
    Paging,
    archive_lines,
    cut,
    distinct,
    entity_link,
    file_links,
    folded_text,
    group_link,
    is_file,
    linked_fact,
    listed_turn,
    paging,
    turn_reference,
)

PAGE_SIZE = 50
_MAX_STEPS = 500
_STEP_CHARS = 20_000
_MAX_LINES = 2_000
_LINE_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class TimelinePage:
    turns: tuple[LinkedTurn, ...]
    """Newest first."""
    paging: Paging


@dataclass(frozen=True, slots=True)
class ShownStep:
    tool: str
    input: CutText
    outcome: CutText
    is_error: bool
    by: str
    """The subagent that made it; empty: the agent of the turn."""


@dataclass(frozen=True, slots=True)
class TurnPage:
    turn: TurnReference
    outcome: str
    """In a line."""
    group: NamedLink
    session: NamedLink
    format: str
    model: str | None
    branch: str | None
    ended_at: datetime | None
    resume: str | None
    """Continues the session in its agent; None if nothing does."""
    prompt: FoldedText
    steering: tuple[CutText, ...]
    steps: tuple[ShownStep, ...]
    hidden_steps: int
    steps_in_words: str
    """How many there are, and how many failed: `12 steps, 2 failed`."""
    answer: FoldedText
    is_abbreviated: bool
    """Whether the text is the graph's, which abbreviates steps: the lake's is not there."""
    files: tuple[NamedLink, ...]
    facts: tuple[LinkedFact, ...]
    entities: tuple[EntityLink, ...]
    """What the facts are about, without files."""
    previous: TurnReference | None
    next: TurnReference | None


@dataclass(frozen=True, slots=True)
class SessionPage:
    session_id: str
    groups: tuple[NamedLink, ...]
    format: str
    started_at: datetime
    ended_at: datetime
    parent: NamedLink | None
    """The session that it continues."""
    resume: str | None
    turns: tuple[LinkedTurn, ...]
    """Oldest first."""
    paging: Paging


@dataclass(frozen=True, slots=True)
class LinesPage:
    turn: NamedLink
    source: SourceLines
    lines: tuple[tuple[int, CutText], ...]
    """Each with its number in the archive."""
    hidden_lines: int


def timeline_page(form: PageForm, found: Timeline) -> TimelinePage:
    turns = tuple(listed_turn(turn) for turn in reversed(found.turns))
    return TimelinePage(
        turns=turns,
        paging=paging(forms.TIMELINE, form, size=PAGE_SIZE, shown=len(turns), total=found.count),
    )


def turn_page(found: TurnDetails, facts: Sequence[IndexedFact]) -> TurnPage:
    receipt, conversation = found.summary.receipt, found.conversation
    ordered = sorted(facts, key=lambda one: by_validity(one.fact))
    about = distinct(end for one in ordered for end in (one.source, one.target))
    steps = conversation.steps[:_MAX_STEPS]
    return TurnPage(
        turn=turn_reference(receipt, found.summary.intent),
        outcome=found.summary.outcome,
        group=group_link(receipt.group_id),
        session=NamedLink(receipt.session_id, forms.item_link(forms.SESSION, receipt.session_id)),
        format=receipt.format,
        model=conversation.model,
        branch=receipt.git_branch,
        ended_at=receipt.ended_at,
        resume=found.resume,
        prompt=folded_text(conversation.prompt),
        steering=tuple(cut(text) for text in conversation.steering if text),
        steps=tuple(map(_step, steps)),
        hidden_steps=len(conversation.steps) - len(steps),
        steps_in_words=_steps_in_words(conversation.steps),
        answer=folded_text(conversation.answer, shows_end=True),
        is_abbreviated=conversation.source is TextSource.GRAPH,
        files=file_links(found.summary.files, receipt.group_id),
        facts=tuple(linked_fact(one.fact) for one in ordered),
        entities=tuple(entity_link(entity) for entity in about if not is_file(entity)),
        previous=_neighbour(found.previous),
        next=_neighbour(found.next),
    )


def session_page(form: PageForm, found: SessionDetails) -> SessionPage:
    first, last = found.turns[0].receipt, found.turns[-1].receipt
    start = (form.page - 1) * PAGE_SIZE
    turns = found.turns[start : start + PAGE_SIZE]
    parents = (turn.receipt.parent_session_id for turn in found.turns)
    parent = next((session for session in parents if session), None)
    return SessionPage(
        session_id=found.session_id,
        groups=tuple(map(group_link, dict.fromkeys(one.receipt.group_id for one in found.turns))),
        format=first.format,
        started_at=first.started_at,
        ended_at=last.ended_at or last.started_at,
        parent=NamedLink(parent, forms.item_link(forms.SESSION, parent)) if parent else None,
        resume=found.resume,
        turns=tuple(map(listed_turn, turns)),
        paging=paging(
            forms.SESSION, form, size=PAGE_SIZE, shown=len(turns), total=len(found.turns)
        ),
    )


def lines_page(found: ArchiveLines) -> LinesPage:
    receipt = found.receipt
    lines = found.lines[:_MAX_LINES]
    return LinesPage(
        turn=NamedLink(receipt.turn_id, forms.item_link(forms.TURN, receipt.turn_id)),
        source=archive_lines(receipt),
        lines=tuple(
            (number, cut(line, _LINE_CHARS))
            for number, line in enumerate(lines, receipt.first_line)
        ),
        hidden_lines=len(found.lines) - len(lines),
    )


def _step(step: ConversationStep) -> ShownStep:
    return ShownStep(
        tool=step.tool,
        input=cut(step.input, _STEP_CHARS),
        outcome=cut(step.outcome.strip("\n"), _STEP_CHARS),
        is_error=step.is_error,
        by=step.subagent.by if step.subagent else "",
    )


def _steps_in_words(steps: Sequence[ConversationStep]) -> str:
    failed = sum(step.is_error for step in steps)
    return plural(len(steps), "step") + (f", {failed:,} failed" if failed else "")


def _neighbour(turn: TurnSummary | None) -> TurnReference | None:
    return None if turn is None else turn_reference(turn.receipt, turn.intent)
