"""Invalidations of many facts by one turn that a model found: held, and what an answer writes.

An accepted one is written as if the turn had made it when it was committed: its record has the fact
as it found it, and those of later turns that changed the fact have it as an ended one.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Annotated

from turnetl.base.batched import grouped
from turnetl.base.exit_code import ExitCode
from turnetl.base.graph_model import CommitRecord, Review
from turnetl.base.model import Fact, HeldInvalidation, TurnId
from turnetl.base.result_fields import GroupField
from turnetl.base.results import INLINED, described
from turnetl.ingestion.undo_report import UndoneTurn


class Answer(StrEnum):
    """What is done with held invalidations."""

    ACCEPT = "accept"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class HeldFact:
    """A valid fact that a turn would have ended."""

    fact: Annotated[Fact, INLINED]
    ends_at: Annotated[datetime, described("When it would have ended.")]
    ended_by: Annotated[
        str, described("The fact of the turn that contradicts it; empty if it is not known.")
    ]


@dataclass(frozen=True, slots=True)
class HeldTurn(UndoneTurn):
    """A turn with held invalidations."""

    facts: Annotated[tuple[HeldFact, ...], described("The facts that it would have ended.")]
    outdated: Annotated[
        int, described("Others of it that ended meanwhile, or are gone: any answer drops them.")
    ] = 0
    held: tuple[HeldInvalidation, ...] = ()
    """Those of `facts` and of `outdated`."""


@dataclass(frozen=True, slots=True)
class GroupReview:
    """The held invalidations of a group."""

    group: GroupField
    turns: Annotated[tuple[HeldTurn, ...], described("The turns that found them, oldest first.")]
    answered: Annotated[int, described("Facts that this command ended, or keeps for good.")] = 0
    error: Annotated[
        str | None, described("What stopped the review of the group; null if nothing did.")
    ] = None
    exit_code: int = ExitCode.DONE


@dataclass(frozen=True, slots=True)
class ReviewReport:
    """Held invalidations, and what was done with them."""

    groups: Annotated[tuple[GroupReview, ...], described("The groups that have some, by name.")]
    answer: Annotated[
        Answer | None, described("What is done with all of these; null if they are listed.")
    ] = None
    is_refused: bool = False
    """Never: a review has no dependents."""

    @property
    def turns(self) -> int:
        return sum(len(group.turns) for group in self.groups)

    @property
    @described("Facts whose invalidation is held.", name="facts_held")
    def facts(self) -> int:
        return sum(len(turn.facts) for group in self.groups for turn in group.turns)

    @property
    def answered(self) -> int:
        return sum(group.answered for group in self.groups)


def held_turn(
    turn: UndoneTurn, held: Iterable[HeldInvalidation], present: Mapping[str, Fact]
) -> HeldTurn:
    """Return a turn with invalidations of it; `present` has the facts that the graph holds."""
    of_turn = tuple(held)
    facts = tuple(
        HeldFact(
            present[one.fact], one.invalid_at, present[one.by].text if one.by in present else ""
        )
        for one in of_turn
        if _is_valid(present.get(one.fact))
    )
    return HeldTurn(turn.receipt, turn.prompt, facts, len(of_turn) - len(facts), of_turn)


def review_of(
    records: Iterable[CommitRecord],
    answered: Mapping[TurnId, Collection[str]],
    present: Iterable[Fact],
    answer: Answer,
) -> tuple[Review | None, int]:
    """Return what an answer writes, None for nothing, and how many facts it ends or keeps.

    Args:
        records: of all turns of the group.
        answered: uuids of facts, by the turn that would have ended them; no longer held: ignored.
        present: those of these facts that the graph holds, with embeddings.
    """
    group = _Reviewed(records, present)
    count = sum(group.answer(turn, answered, answer) for turn in [*group.records])
    return group.review(), count


class _Reviewed:
    """What the turns of a group record, and facts, while invalidations are answered."""

    def __init__(self, records: Iterable[CommitRecord], present: Iterable[Fact]) -> None:
        ordered = sorted(records, key=attrgetter("sequence"))
        self.records = {record.receipt.turn_id: record for record in ordered}
        self._facts = {fact.uuid: fact for fact in present}
        self._changing = grouped(
            (fact.uuid, record.receipt.turn_id)
            for record in ordered
            for fact in record.facts_before
        )
        self._created = {uuid: record.sequence for record in ordered for uuid in record.facts_new}
        self._written: set[TurnId] = set()
        self._written_facts: set[str] = set()

    def answer(
        self, turn: TurnId, answered: Mapping[TurnId, Collection[str]], answer: Answer
    ) -> int:
        """Answer those of one turn, and return how many concern a valid fact."""
        uuids = answered.get(turn, ())
        ours = [one for one in self.records[turn].held if one.fact in uuids]
        at = self.records[turn].sequence
        valid = [
            one
            for one in ours
            # A fact that was undone and is stated again is not the one that the turn found.
            if _is_valid(self._facts.get(one.fact)) and self._created.get(one.fact, at) <= at
        ]
        if not ours:
            return 0
        for one in valid if answer is Answer.ACCEPT else ():
            self._end(turn, one)
        record = self.records[turn]
        held = tuple(one for one in record.held if one.fact not in uuids)
        invalidated = len(valid) if answer is Answer.ACCEPT else 0
        receipt = replace(
            record.receipt,
            facts_held=len(held),
            facts_invalidated=record.receipt.facts_invalidated + invalidated,
        )
        self._write(replace(record, held=held, receipt=receipt))
        return len(valid)

    def review(self) -> Review | None:
        if not self._written:
            return None
        records = (record for turn, record in self.records.items() if turn in self._written)
        return Review(
            tuple(records), tuple(self._facts[uuid] for uuid in sorted(self._written_facts))
        )

    def _end(self, turn: TurnId, held: HeldInvalidation) -> None:
        fact, record = self._facts[held.fact], self.records[turn]
        others = [self.records[other] for other in self._changing.get(held.fact, ())]
        later = [other for other in others if other.sequence > record.sequence]
        if record not in others:
            found = next((_image(one, held.fact) for one in later), replace(fact, embedding=None))
            before = sorted((*record.facts_before, found), key=attrgetter("uuid"))
            self._write(replace(record, facts_before=tuple(before)))
        for other in later:
            before = [
                _ended(one, held) if one.uuid == held.fact else one for one in other.facts_before
            ]
            self._write(replace(other, facts_before=tuple(before)))
        self._facts[held.fact] = _ended(fact, held)
        self._written_facts.add(held.fact)

    def _write(self, record: CommitRecord) -> None:
        self.records[record.receipt.turn_id] = record
        self._written.add(record.receipt.turn_id)


def _is_valid(fact: Fact | None) -> bool:
    return fact is not None and fact.invalid_at is None


def _image(record: CommitRecord, fact: str) -> Fact:
    return next(one for one in record.facts_before if one.uuid == fact)


def _ended(fact: Fact, held: HeldInvalidation) -> Fact:
    return replace(fact, invalid_at=held.invalid_at, expired_at=held.expired_at)
