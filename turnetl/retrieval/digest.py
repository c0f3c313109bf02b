"""What happened in a time: sessions with their intent, decisions, problems, changes and outcome."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from turnetl.base.batched import batched
from turnetl.base.model import Fact, GroupId, SessionId, TurnId
from turnetl.base.relations import COMMITTED, DECISIONS, FAILURES, FIXED_BY, SUPERSEDES
from turnetl.base.result_fields import ChangedFilesField, TurnIdField
from turnetl.base.results import described
from turnetl.base.text import one_line
from turnetl.episode_text.conversation import closing, from_episode_text
from turnetl.episode_text.retelling import fixes, once, replaced, without_question
from turnetl.index.conditions import Selection
from turnetl.index.port import IndexedFact
from turnetl.retrieval.turn_summary import TurnSummary, summarize_turn, titles

if TYPE_CHECKING:  # the index itself imports its libraries
    from turnetl.index.persistent import PersistentIndex

_STATED = DECISIONS - {SUPERSEDES}
_NOTED = DECISIONS | FAILURES | {FIXED_BY, COMMITTED}
_BATCH = 200
"""Turns whose texts are in memory together."""
_NOT_COMPARED = re.compile(r"[\W_]+")
_COMPARED_CHARS = 40
"""Letters and digits of a statement that are looked for in the text of its turn."""


class DigestSections(StrEnum):
    """What a section of a digest is about."""

    DAY = "day"
    """A day in UTC. A session of several days is in each of them, with its turns of that day."""
    PROJECT = "project"
    """A group."""


@dataclass(frozen=True, slots=True)
class DigestFact:
    """A fact, and the first turn of the session that states it."""

    fact: Annotated[Fact, described("The fact.")]
    turn: TurnSummary
    told: Annotated[str, described("The fact in few words, without who said it.")]
    then: Annotated[
        str,
        described("What fixed the failure, or what the decision replaced; empty: not known."),
    ] = ""

    @property
    def turn_id(self) -> TurnIdField:
        return self.turn.receipt.turn_id


@dataclass(frozen=True, slots=True)
class SessionDigest:
    """What happened in a session, or in its turns of one day."""

    session_id: Annotated[SessionId, described("Id of the session.")]
    group_id: Annotated[GroupId, described("Id of the group.", name="group")]
    turns: Annotated[tuple[TurnSummary, ...], described("The turns, oldest first.")]
    """At least one."""
    decisions: Annotated[
        tuple[DigestFact, ...],
        described("What was decided, preferred or rejected and holds, as it was said."),
    ]
    open_problems: Annotated[
        tuple[DigestFact, ...], described("What failed or was reported, and nothing ended.")
    ]
    """Oldest first."""
    solved_problems: Annotated[
        tuple[DigestFact, ...],
        described("What failed or was reported, and passed later, was edited or explained."),
    ]
    """Oldest first."""
    commits: Annotated[tuple[DigestFact, ...], described("Commits and pull requests, by title.")]
    """Oldest first."""
    files: ChangedFilesField
    """Each once, in the order of the first change."""
    outcome: Annotated[str, described("Outcome of the last turn with a result; empty: none.")]
    """On one line."""
    outcome_turn: TurnSummary | None
    """The turn of `outcome`: the last one may have no answer. None if it is empty."""
    open_question: Annotated[
        str, described("What the last turn's answer asks the user at its end; empty: nothing.")
    ]
    """On one line."""

    @property
    @described("Id of the turn in which it stated that; null: nothing.")
    def outcome_turn_id(self) -> TurnId | None:
        return None if self.outcome_turn is None else self.outcome_turn.receipt.turn_id

    @property
    @described("Intent of the first turn that has one.")
    def intent(self) -> str:
        return next((turn.intent for turn in self.turns if turn.intent), "")

    @property
    @described("Intent of the last prompt; empty if there is only one.")
    def last_prompt(self) -> str:
        turn = self.last_prompt_turn
        return "" if turn is None else turn.intent

    @property
    @described("Id of the turn of the last prompt; null if there is only one.")
    def last_prompt_turn_id(self) -> TurnId | None:
        turn = self.last_prompt_turn
        return None if turn is None else turn.receipt.turn_id

    @property
    def last_prompt_turn(self) -> TurnSummary | None:
        """The turn of `last_prompt`: the last one may have none. None if there is only one."""
        prompted = [turn for turn in self.turns if turn.intent]
        return prompted[-1] if len(prompted) > 1 else None

    @property
    def started_at(self) -> datetime:
        return min(turn.receipt.started_at for turn in self.turns)

    @property
    def ended_at(self) -> datetime:
        """When its last turn ended; when that started if no end is known."""
        receipts = [turn.receipt for turn in self.turns]
        return max(time for one in receipts for time in (one.started_at, one.ended_at) if time)


@dataclass(frozen=True, slots=True)
class DigestSection:
    """The sessions of a day or of a group."""

    title: Annotated[str, described("A date (UTC), or the id of a group.")]
    sessions: Annotated[tuple[SessionDigest, ...], described("By the time of their first turn.")]


@dataclass(frozen=True, slots=True)
class Digest:
    """What happened in a time."""

    by: Annotated[DigestSections, described("What a section is about.")]
    sections: Annotated[
        tuple[DigestSection, ...], described("Days, oldest first, or groups, sorted.")
    ]
    newest: Annotated[
        datetime | None, described("Start of the last turn, whenever it was; null: no turn.")
    ]
    """Of the groups."""
    since: Annotated[datetime | None, described("The beginning of the time; null: none.")]
    until: Annotated[datetime | None, described("The end of the time; null: none.")]
    asked_since: Annotated[
        datetime | None,
        described("The beginning that found no turn, so that an earlier time is shown; else null."),
    ] = None

    @property
    def sessions(self) -> Annotated[int, described("Different sessions.")]:
        return len({one.session_id for one in self._all()})

    @property
    def turns(self) -> Annotated[int, described("Turns.")]:
        return sum(len(one.turns) for one in self._all())

    def _all(self) -> Iterable[SessionDigest]:
        return (session for section in self.sections for session in section.sessions)


@dataclass
class _Collected:
    turns: list[TurnSummary] = field(default_factory=list)
    facts: dict[str, DigestFact] = field(default_factory=dict)
    outcome: str = ""
    outcome_turn: TurnSummary | None = None
    question: str = ""

    def digest(self) -> SessionDigest:
        receipt = self.turns[0].receipt
        stated = [one.fact for one in self.facts.values()]
        failures = self._told([fact for fact in stated if fact.relation in FAILURES], fixes(stated))
        held = [fact for fact in stated if fact.relation in _STATED and not fact.invalid_at]
        return SessionDigest(
            receipt.session_id,
            receipt.group_id,
            tuple(self.turns),
            self._told(held, replaced(stated)),
            tuple(one for one in failures if _is_open(one.fact)),
            tuple(one for one in failures if not _is_open(one.fact)),
            self._told([fact for fact in stated if fact.relation == COMMITTED], {}),
            tuple(dict.fromkeys(file for turn in self.turns for file in turn.files)),
            self.outcome,
            self.outcome_turn,
            self.question,
        )

    def _told(self, facts: Iterable[Fact], then: Mapping[str, str]) -> tuple[DigestFact, ...]:
        """Return what is told, each once, with what is known of one of its ends."""
        return tuple(
            replace(
                self.facts[fact.uuid],
                told=text,
                then=then.get(fact.target) or then.get(fact.source, ""),
            )
            for fact, text in once(facts)
        )


def digest(index: "PersistentIndex", selection: Selection, by: DigestSections) -> Digest:
    """Return what happened in the turns that meet the conditions."""
    collected: dict[str, dict[str, _Collected]] = {}
    keys = index.lookup().by_time(index.select(selection).tolist())
    for batch in batched(keys, _BATCH):
        turns, facts = index.turns(batch), index.facts(batch)
        named = titles(index, turns.values())
        for key in (key for key in batch if key in turns):
            turn, stated = turns[key], facts.get(key, ())
            summary = summarize_turn(turn, stated, named[key])
            section = collected.setdefault(_title(summary, by), {})
            session = section.setdefault(_session_key(summary), _Collected())
            _add(session, summary, stated, turn.text)
    sections = (
        DigestSection(title, tuple(one.digest() for one in collected[title].values()))
        for title in sorted(collected)
    )
    newest = index.newest(Selection(groups=selection.groups), limit=1)
    last = next(iter(index.turns(newest).values()), None)
    return Digest(
        by,
        tuple(sections),
        None if last is None else last.receipt.started_at,
        selection.since,
        selection.until,
    )


def _add(session: _Collected, turn: TurnSummary, facts: Sequence[IndexedFact], text: str) -> None:
    session.turns.append(turn)
    stated = [indexed.fact for indexed in facts if indexed.fact.relation in _NOTED]
    for fact in _in_order(stated, text):
        session.facts.setdefault(fact.uuid, DigestFact(fact, turn, ""))
    end = closing(from_episode_text(text).answer)
    if end.outcome or turn.files:
        session.outcome, session.outcome_turn = without_question(turn.outcome), turn
    session.question = one_line(end.question)


def _in_order(facts: Sequence[Fact], text: str) -> Sequence[Fact]:
    """Return the facts in the order in which the text states them; what it does not state last."""
    if len(facts) < 2:  # noqa: PLR2004 - nothing to sort
        return facts
    compared = _compared(text)

    def place(fact: Fact) -> int:
        spoken = fact.text.partition(": ")[2] or fact.text
        found = compared.find(_compared(spoken)[:_COMPARED_CHARS])
        return found if found >= 0 else len(compared)

    return sorted(facts, key=place)


def _is_open(failure: Fact) -> bool:
    """Return whether nothing came of a failure: what was edited or explained may still hold."""
    return failure.invalid_at is None and "resolution" not in failure.attributes


def _compared(text: str) -> str:
    return _NOT_COMPARED.sub("", text).casefold()


def _title(turn: TurnSummary, by: DigestSections) -> str:
    receipt = turn.receipt
    if by is DigestSections.PROJECT:
        return receipt.group_id
    return receipt.started_at.date().isoformat()


def _session_key(turn: TurnSummary) -> str:
    """A session may have turns in several groups."""
    return f"{turn.receipt.group_id}\0{turn.receipt.session_id}"
