"""The facts that a prompt shows of an entity: bounded, however many it has."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from turnetl.base.model import Fact
from turnetl.summaries.port import SummaryInput
from turnetl.summaries.rule_summariser import NO_FACTS

MAX_NEW, MAX_INVALIDATED, MAX_RECENT, MAX_CONNECTED = 30, 10, 5, 5
"""Facts at most: new ones, invalidated ones, and of the others the latest, and those about the
entities that most other facts are about."""
_NO_TIME = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ShownFacts:
    """The facts of an entity that a prompt shows; each oldest first, each statement once."""

    new: tuple[Fact, ...]
    """Those that the previous summary does not know, the latest of them."""
    invalidated: tuple[Fact, ...]
    others: tuple[Fact, ...]
    """Other active facts that are no line of the previous summary: the latest, and the most
    connected."""


def shown_facts(given: SummaryInput) -> ShownFacts:
    """Return what a prompt shows of an entity.

    No time of a run has an effect: the same turns give the same facts.
    """
    active = list(_distinct(_latest_first(given.facts)))
    new = [fact for fact in active if fact.uuid in given.new][:MAX_NEW]
    stated = set(given.previous.splitlines())
    rest = [fact for fact in _without(active, new) if fact_line(fact) not in stated]
    recent = rest[:MAX_RECENT]
    # `sorted` keeps the order of equals: the latest first.
    connected = sorted(
        _without(rest, recent),
        key=lambda fact: given.degrees.get(_other(fact, given), 0),
        reverse=True,
    )
    others = {fact.uuid for fact in (*recent, *connected[:MAX_CONNECTED])}
    invalidated = list(_distinct(_latest_first(given.invalidated)))[:MAX_INVALIDATED]
    return ShownFacts(
        tuple(reversed(new)),
        tuple(reversed(invalidated)),
        tuple(fact for fact in reversed(rest) if fact.uuid in others),
    )


def _latest_first(facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts, latest first; of one time, the one that was created last."""
    return sorted(facts, key=lambda fact: fact.valid_at or _NO_TIME)[::-1]


def _distinct(facts: Iterable[Fact]) -> Iterator[Fact]:
    seen: set[str] = set()
    for fact in facts:
        text = fact_line(fact)
        if text and text not in seen:
            seen.add(text)
            yield fact


def _without(facts: Iterable[Fact], others: Iterable[Fact]) -> list[Fact]:
    left_out = {fact.uuid for fact in others}
    return [fact for fact in facts if fact.uuid not in left_out]


def _other(fact: Fact, given: SummaryInput) -> str:
    return fact.target if fact.source == given.entity.uuid else fact.source


_MAX_FACT_CHARS = 150
ENDED = "No longer holds: "
"""Begins the line about a fact that the rest of a summary may still state."""


def fact_list(given: SummaryInput, limit: int) -> str | None:
    """Return a summary that is made of facts, or None if a model must write it.

    It is the list of the active facts, or, if that is too long, the previous summary with the new
    facts and without the invalidated ones. Empty if there is nothing to say.

    Args:
        given: the entity and its facts.
        limit: characters of the summary.
    """
    listed = "\n".join(_statements(given.facts))
    if len(listed) <= limit:
        return listed or (NO_FACTS if given.previous else "")
    amended = _amended(given) if given.previous else listed
    return amended if len(amended) <= limit else None


def fact_line(fact: Fact) -> str:
    """Return the text of a fact on one line, cut if it is long."""
    text = " ".join(fact.text.split())
    return text if len(text) <= _MAX_FACT_CHARS else f"{text[: _MAX_FACT_CHARS - 1]}…"


def _amended(given: SummaryInput) -> str:
    new = _statements(fact for fact in given.facts if fact.uuid in given.new)
    # What the summary does not know yet cannot be withdrawn from it.
    known = (fact for fact in given.invalidated if fact.uuid not in given.new)
    ended = [text for text in _statements(known) if text not in new]
    lines = given.previous.splitlines()
    withdrawn = [f"{ENDED}{text}" for text in ended if text not in lines]
    outdated = {*ended, *(f"{ENDED}{text}" for text in new)}
    kept = [line for line in lines if line not in outdated]
    return "\n".join(dict.fromkeys([*kept, *withdrawn, *new]))


def _statements(facts: Iterable[Fact]) -> list[str]:
    """Return the texts of facts, each on one line, cut and once, in their order."""
    return list(dict.fromkeys(filter(None, map(fact_line, facts))))
