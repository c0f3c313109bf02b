"""What a later turn says about a fact: what ended it, or a decision about the same thing."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from turnetl.base.model import ENDED_BY, ID_CHARS, LATER, Attribute, Fact
from turnetl.base.relations import DECIDED, DECISIONS, FIXED_BY, PREFERS, SUPERSEDES
from turnetl.base.terms import Tokenizer, content_words
from turnetl.base.text import one_line
from turnetl.index.port import IndexedFact

if TYPE_CHECKING:  # the index itself imports its libraries
    from turnetl.index.persistent import PersistentIndex

_TEXT_CHARS = 160
_MIN_SHARED, _MIN_SHARE, _MAX_SHARE = 2, 0.5, 0.9
"""Of the words of two decisions about one thing; with more, the later one only repeats."""


def holding_first(facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts that hold, then the others, each in their order."""
    return sorted(facts, key=lambda fact: fact.invalid_at is not None)


class Endings:
    """Reads, for facts that are shown, what ended them and what a later turn says."""

    def __init__(self, index: "PersistentIndex") -> None:
        self._lookup = index.lookup()
        self._about: dict[str, Sequence[Fact]] = {}
        self._names: dict[str, str] = {}
        self._words = Tokenizer()

    def marked(self, indexed: IndexedFact) -> IndexedFact:
        return replace(indexed, fact=self.marked_fact(indexed.fact))

    def marked_fact(self, fact: Fact) -> Fact:
        """Return the fact with its `ended_by`, or its `later`, if they are known."""
        marks: dict[str, Attribute] = {}
        if fact.invalid_at is not None:
            if (ending := self._ending(fact)) is not None:
                marks = {ENDED_BY: self._said(ending)}
        elif (later := self._later(fact)) is not None:
            marks = {LATER: self._said(later)}
        return replace(fact, attributes={**fact.attributes, **marks}) if marks else fact

    def _ending(self, fact: Fact) -> Fact | None:
        """Return the fact that began when this one ended, about the same thing."""
        is_decision = fact.relation in DECISIONS and fact.relation != PREFERS
        subject = fact.source if is_decision else fact.target
        other_end = fact.target if is_decision else fact.source
        is_hub = fact.relation == PREFERS
        began = [
            other
            for end in (subject, *(() if is_hub else (other_end,)))
            for other in self._facts_about(end)
            if other.valid_at == fact.invalid_at and other.uuid != fact.uuid
        ]

        def uncertainty(one: Fact) -> tuple[bool, bool, str]:
            is_named = one.relation == SUPERSEDES and one.target == subject
            is_certain = is_named or one.relation == FIXED_BY
            return not is_certain, one.source != fact.source, one.uuid

        return min(began, key=uncertainty, default=None)

    def _later(self, fact: Fact) -> Fact | None:
        """Return the last decision about the same thing that shares words and still holds.

        Of a decision that replaced another one, it is the one that replaced it in turn.
        """
        if fact.relation == SUPERSEDES:
            about = self._facts_about(fact.source)
            replacing = (one for one in about if one.relation == SUPERSEDES)
            return next((one for one in replacing if one.target == fact.source), None)
        if fact.relation != DECIDED:
            return None
        own = self._words_of(fact)
        later = [
            other
            for other in self._facts_about(fact.target)
            if other.relation == DECIDED
            and other.target == fact.target
            and other.source != fact.source
            and other.invalid_at is None
            and None not in (fact.valid_at, other.valid_at)
            and other.valid_at > fact.valid_at  # type: ignore[operator]  # neither is None
            and _is_related(own, self._words_of(other))
        ]
        return max(later, key=lambda one: (one.valid_at, one.uuid), default=None)

    def _said(self, fact: Fact) -> str:
        text = self._names.get(fact.source, fact.text) if fact.relation == SUPERSEDES else fact.text
        by = f"turn {fact.turns[0][:ID_CHARS]}: " if fact.turns else ""
        return f"{by}{one_line(text, _TEXT_CHARS)}"

    def _words_of(self, fact: Fact) -> frozenset[str]:
        return frozenset(self._words.count(content_words(fact.text.partition(": ")[2])))

    def _facts_about(self, uuid: str) -> Sequence[Fact]:
        if uuid not in self._about:
            stated = [one.indexed for one in self._lookup.facts_about(uuid)]
            self._names |= {one.fact.source: one.source.name for one in stated}
            self._about[uuid] = [one.fact for one in stated]
        return self._about[uuid]


def _is_related(own: frozenset[str], other: frozenset[str]) -> bool:
    shared, least = len(own & other), min(len(own), len(other))
    return shared >= _MIN_SHARED and _MIN_SHARE * least <= shared < _MAX_SHARE * least
