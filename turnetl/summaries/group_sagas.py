"""The summaries of all sessions of one group in memory, and which of them a turn changes.

A summary follows from the turns of its session and from their facts alone. So it is the same after
one run and after ten, and after an undo it is what it would be without the turn.
"""

import re
from bisect import insort
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Self

from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Fact, SessionId, TurnId
from turnetl.base.relations import CHANGES, COMMITTED, DECISIONS, EDITS, FAILED_WITH, FIXED_BY
from turnetl.base.text import one_line, plural
from turnetl.episode_text.conversation import closing, from_episode_text
from turnetl.episode_text.intents import fit, intent
from turnetl.episode_text.outcomes import outcome
from turnetl.episode_text.retelling import adds, once, without_question
from turnetl.summaries.rule_summary import story

_QUESTION_CHARS = 200
STATED = DECISIONS | EDITS | {FAILED_WITH, FIXED_BY, COMMITTED}
"""Relations of the facts that a summary of a session states, each in a line."""
_LATER, _LATER_CHARS, _LATER_WORDS = 3, 90, 4
"""Intents after the first one, each cut: those of turns that changed something come first."""
_FILES = 4
_FILE = re.compile(r"`([^`]{1,300})`")
_CONTEXT = re.compile(r" \(after: .*")


@dataclass(frozen=True, slots=True)
class SagaTurn:
    """What a turn contributes to the summary of its session."""

    turn_id: TurnId
    session_id: SessionId
    started_at: datetime
    intent: str
    """May be empty."""
    outcome: str
    """Empty if the agent stated nothing."""
    question: str = ""
    """What the agent asked the user after that, on one line; may be empty."""

    @classmethod
    def of_text(
        cls, turn_id: TurnId, session_id: SessionId, started_at: datetime, text: str
    ) -> Self:
        turn = from_episode_text(text)
        end = closing(turn.answer)
        return cls(
            turn_id,
            session_id,
            started_at,
            intent(turn),
            outcome(turn) if end.outcome else "",
            one_line(end.question, _QUESTION_CHARS),
        )


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A turn that the graph holds. Its text is read with the first change of its session."""

    turn_id: TurnId
    session_id: SessionId
    started_at: datetime
    text: str

    def read(self) -> SagaTurn:
        return SagaTurn.of_text(self.turn_id, self.session_id, self.started_at, self.text)


def rule_saga_summary(turns: Sequence[SagaTurn], facts: Iterable[Fact]) -> str:
    """Return a summary of at most `rule_summary.MAX_CHARS` characters; empty without any text.

    The same turns, oldest first, and facts give the same summary, however the facts are ordered.

    Args:
        facts: that the turns state; invalidated ones are left out: what they say was solved or
            revised.
    """
    if not turns:
        return ""
    held = sorted(
        (fact for fact in facts if fact.invalid_at is None), key=lambda fact: (fact.text, fact.uuid)
    )
    changing = {turn for fact in held if fact.relation in CHANGES for turn in fact.turns}
    stated = [fact for fact in held if fact.relation in STATED]
    told = [text for _, text in once(stated)]
    files = _changed([fact for fact in held if fact.relation in EDITS])
    ends = (("Changed", files), *_ended(turns, changing))
    before, after = (
        "\n".join(f"{label}: {text}" for label, text in lines if text)
        for lines in (_asked(turns, changing, told), ends)
    )
    date = turns[0].started_at.date().isoformat()
    return story(stated, before=before, after=after, known_date=date)


def _ended(turns: Sequence[SagaTurn], changing: Collection[TurnId]) -> Iterator[tuple[str, str]]:
    """Yield what came of it and what is left open, with labels."""
    told = [turn for turn in turns if turn.outcome]
    did = [turn for turn in told if turn.turn_id in changing][-1:]
    for turn in did if did != told[-1:] else ():
        yield "Done", without_question(turn.outcome)
    yield "Outcome", without_question(told[-1].outcome) if told else ""
    yield "Open question", turns[-1].question


def _asked(
    turns: Sequence[SagaTurn], changing: Collection[TurnId], stated: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield what was asked and facts do not state, with labels."""
    asked = next((turn for turn in turns if turn.intent), turns[0])
    yield f"Asked, {turns[0].started_at.date().isoformat()}", asked.intent
    known = (*stated, asked.intent)
    later = [
        turn
        for turn in turns
        if turn is not asked
        and len(turn.intent.split()) >= _LATER_WORDS
        and adds(turn.intent, known)
    ]
    chosen = sorted(later, key=lambda turn: turn.turn_id not in changing)[:_LATER]
    for turn in sorted(chosen, key=_ORDER):
        yield "Then", fit(_CONTEXT.sub("", turn.intent), _LATER_CHARS)


def _changed(edits: Iterable[Fact]) -> str:
    """Return the files that changed, those with most changes first."""
    named = ((_FILE.match(fact.text), fact) for fact in edits)
    counts = Counter(found[1].rpartition("/")[2] for found, _ in named if found)
    files = sorted(counts, key=lambda name: (-counts[name], name))
    more = f" and {plural(len(files) - _FILES, 'more file')}" if len(files) > _FILES else ""
    return f"{', '.join(files[:_FILES])}{more}"


_ORDER = attrgetter("started_at", "turn_id")


class GroupSagas:
    """Sessions of a group, with one writer.

    The cost of a change depends on the sessions that it concerns, not on the size of the group.
    """

    def __init__(self, turns: Iterable[SagaTurn | StoredTurn], facts: Iterable[Fact]) -> None:
        self._turns: dict[SessionId, list[SagaTurn | StoredTurn]] = {}
        self._session_of: dict[TurnId, SessionId] = {}
        self._facts: dict[str, Fact] = {}
        self._facts_of: dict[SessionId, dict[str, None]] = {}
        self._stated_in: dict[str, set[SessionId]] = {}
        for turn in turns:
            self._put_turn(turn)
        for fact in facts:
            self._put_fact(fact)

    def text(self, session: SessionId) -> str:
        """Return the summary of a session; empty if it has no turn."""
        return self._text(session, self._turns_of(session), {})

    def after(self, turn: SagaTurn, facts: Iterable[Fact]) -> Mapping[SessionId, str]:
        """Return the summaries that a turn changes, by session. Applies nothing."""
        changed = {fact.uuid: fact for fact in facts}
        found = {}
        for session in sorted({turn.session_id, *self._sessions(changed.values())}):
            turns = self._turns_of(session)
            if session == turn.session_id:
                insort(turns, turn, key=_ORDER)
            own = {
                uuid: fact
                for uuid, fact in changed.items()
                if session in self._stating(fact, turn) or uuid in self._facts_of.get(session, {})
            }
            text = self._text(session, turns, own)
            if text != self.text(session):
                found[session] = text
        return found

    def add(self, turn: SagaTurn, facts: Iterable[Fact]) -> None:
        self._put_turn(turn)
        for fact in facts:
            self._put_fact(fact)

    def remove(
        self, turn: TurnId, removed: Collection[str], restored: Iterable[Fact]
    ) -> Mapping[SessionId, str]:
        """Remove a turn; return the summaries that this changes, of sessions that still have turns.

        Args:
            turn: that is undone; an unknown one changes nothing but facts.
            restored: facts that change back, in the state to restore.
        """
        changed = [*restored]
        own = self._session_of.get(turn)
        facts = [*changed, *(self._facts[uuid] for uuid in removed if uuid in self._facts)]
        sessions = {*self._sessions(facts), *([own] if own is not None else [])}
        before = {session: self.text(session) for session in sorted(sessions)}
        if own is not None:
            del self._session_of[turn]
            self._turns[own] = [one for one in self._turns[own] if one.turn_id != turn]
        for uuid in removed:
            self._drop_fact(uuid)
        for fact in changed:
            self._put_fact(fact)
        return {
            session: self.text(session)
            for session, text in before.items()
            if self._turns.get(session) and self.text(session) != text
        }

    def _turns_of(self, session: SessionId) -> list[SagaTurn]:
        """Return the turns of a session, oldest first, in a list of its own."""
        stored = self._turns.get(session, [])
        turns = [turn.read() if isinstance(turn, StoredTurn) else turn for turn in stored]
        stored[:] = turns
        return turns

    def _text(self, session: SessionId, turns: list[SagaTurn], changed: Mapping[str, Fact]) -> str:
        known = {uuid: self._facts[uuid] for uuid in self._facts_of.get(session, ())}
        return rule_saga_summary(turns, {**known, **changed}.values())

    def _sessions(self, facts: Iterable[Fact]) -> set[SessionId]:
        """Return the sessions that state one of the facts, before or after its change."""
        found = set()
        for fact in facts:
            found |= self._stating(fact) | self._stated_in.get(fact.uuid, set())
        return found

    def _stating(self, fact: Fact, new: SagaTurn | None = None) -> set[SessionId]:
        found = {self._session_of[turn] for turn in fact.turns if turn in self._session_of}
        if new is not None and new.turn_id in fact.turns:
            found.add(new.session_id)
        return found

    def _put_turn(self, turn: SagaTurn | StoredTurn) -> None:
        self._session_of[turn.turn_id] = turn.session_id
        insort(self._turns.setdefault(turn.session_id, []), turn, key=_ORDER)

    def _put_fact(self, fact: Fact) -> None:
        self._drop_fact(fact.uuid)
        self._facts[fact.uuid] = fact
        self._stated_in[fact.uuid] = self._stating(fact)
        for session in self._stated_in[fact.uuid]:
            self._facts_of.setdefault(session, {})[fact.uuid] = None

    def _drop_fact(self, uuid: str) -> None:
        self._facts.pop(uuid, None)
        for session in self._stated_in.pop(uuid, ()):
            self._facts_of[session].pop(uuid, None)


def sagas_of(contents: GroupContents) -> GroupSagas:
    turns = (
        StoredTurn(
            receipt.turn_id,
            receipt.session_id,
            receipt.started_at,
            contents.texts.get(receipt.turn_id, ""),
        )
        for receipt in contents.receipts
    )
    return GroupSagas(turns, contents.facts)
