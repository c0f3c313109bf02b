"""`turnetl digest --json`."""

from datetime import datetime
from typing import Annotated

from turnetl.base.result_schema import Timestamp
from turnetl.base.results import JsonOutput, described
from turnetl.json_output import fields
from turnetl.json_output.base import timestamp
from turnetl.json_output.turns import (
    IndexAgeOutput,
    StatedFactOutput,
    TurnSummaryOutput,
    stated_fact_output,
    turn_summary_output,
)
from turnetl.retrieval.digest import Digest, DigestFact, DigestSections, SessionDigest
from turnetl.retrieval.turn_summary import TurnSummary


class DigestFactOutput(JsonOutput):
    """A fact, and the first turn of the session that states it."""

    fact: Annotated[StatedFactOutput, described("The fact.")]
    turn_id: fields.TurnIdField


class SessionDigestOutput(JsonOutput):
    """What happened in a session, or in its turns of one day."""

    session_id: fields.SessionIdField
    group: fields.GroupField
    intent: Annotated[
        str,
        described("First line of the first prompt, with the next one if it ends with a colon."),
    ]
    last_prompt: Annotated[
        str, described("The same of the last prompt; empty if there is only one.")
    ]
    last_prompt_turn_id: Annotated[
        str | None, described("Id of the turn of the last prompt; null if there is only one.")
    ]
    decisions: Annotated[
        list[DigestFactOutput],
        described("What was decided, preferred or rejected, in the order in which it was said."),
    ]
    open_problems: Annotated[
        list[DigestFactOutput], described("Failures after which no success is known.")
    ]
    solved_problems: Annotated[list[DigestFactOutput], described("Failures with a later success.")]
    files: fields.ChangedFilesField
    outcome: Annotated[str, described("What the agent stated last; empty: nothing.")]
    outcome_turn_id: Annotated[
        str | None, described("Id of the turn in which it stated that; null: nothing.")
    ]
    open_question: Annotated[
        str, described("What the last turn's answer asks the user at its end; empty: nothing.")
    ]
    turns: Annotated[list[TurnSummaryOutput], described("The turns, oldest first.")]


class DigestSectionOutput(JsonOutput):
    """The sessions of a day or of a group."""

    title: Annotated[str, described("A date (UTC), or the id of a group.")]
    sessions: Annotated[list[SessionDigestOutput], described("By the time of their first turn.")]


class DigestOutput(IndexAgeOutput):
    """What happened in a time."""

    by: Annotated[DigestSections, described("What a section is about.")]
    since: Annotated[Timestamp | None, described("The beginning of the time; null: none.")]
    until: Annotated[Timestamp | None, described("The end of the time; null: none.")]
    sessions: Annotated[int, described("Different sessions.")]
    turns: Annotated[int, described("Turns.")]
    sections: Annotated[
        list[DigestSectionOutput], described("Days, oldest first, or groups, sorted.")
    ]
    newest: Annotated[
        Timestamp | None, described("Start of the last turn, whenever it was; null: no turn.")
    ]


def digest_output(
    digest: Digest,
    since: datetime | None,
    until: datetime | None,
    *,
    caught_up_at: datetime | None,
    unread: str | None,
) -> DigestOutput:
    return DigestOutput(
        caught_up_at=timestamp(caught_up_at),
        unread=unread,
        by=digest.by,
        since=timestamp(since),
        until=timestamp(until),
        sessions=digest.sessions,
        turns=digest.turns,
        sections=[
            DigestSectionOutput(
                title=section.title, sessions=[_session(one) for one in section.sessions]
            )
            for section in digest.sections
        ],
        newest=timestamp(digest.newest),
    )


def _session(session: SessionDigest) -> SessionDigestOutput:
    return SessionDigestOutput(
        session_id=session.session_id,
        group=session.group_id,
        intent=session.intent,
        last_prompt=session.last_prompt,
        last_prompt_turn_id=_turn_id(session.last_prompt_turn),
        decisions=[_fact(one) for one in session.decisions],
        open_problems=[_fact(one) for one in session.open_problems],
        solved_problems=[_fact(one) for one in session.solved_problems],
        files=list(session.files),
        outcome=session.outcome,
        outcome_turn_id=_turn_id(session.outcome_turn),
        open_question=session.open_question,
        turns=[turn_summary_output(turn) for turn in session.turns],
    )


def _turn_id(turn: TurnSummary | None) -> str | None:
    return None if turn is None else turn.receipt.turn_id


def _fact(one: DigestFact) -> DigestFactOutput:
    return DigestFactOutput(fact=stated_fact_output(one.fact), turn_id=one.turn.receipt.turn_id)
