"""Summaries without a model: the facts that a reader asks for first, as sentences with their dates.

First what it is, then what is open, what was decided, what was fixed and what changed last.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from turnetl.base.model import Entity, Fact, Usage, description
from turnetl.base.relations import (
    CAUSED_BY,
    CHANGES,
    DECIDED,
    DECISIONS,
    DEPENDS_ON,
    FAILED_WITH,
    FIXED_BY,
    PREFERS,
    PROBLEMS,
    REJECTED,
    REPORTED,
    SUPERSEDES,
)
from turnetl.episode_text.retelling import importance, once, replaced
from turnetl.summaries.port import Summarised, SummaryInput

MAX_CHARS = 1_000
"""Characters of a summary, as Graphiti limits those of a model."""


@dataclass(frozen=True, slots=True)
class _Section:
    """Facts of some relations."""

    label: str
    relations: frozenset[str]
    limit: int
    """Facts at most; the latest are kept."""


_SECTIONS = (
    _Section("Open problem", PROBLEMS, 3),
    _Section("Decision", DECISIONS, 4),
    _Section("Fixed", frozenset({FIXED_BY}), 2),
    _Section("Change", CHANGES | {"RECORDED"}, 2),
    _Section("Explanation", frozenset({"EXPLAINED", "DESCRIBED", "USED_FOR", DEPENDS_ON}), 3),
)
_OTHER = _Section("", frozenset(), 3)
"""All other relations, also those of a user's own ontology."""
STORY = tuple(_SECTIONS[place] for place in (1, 3, 2, 0, 4))
"""The sections in the order in which a session or a theme is told: decided, built, fixed, open."""
_LABELS = {
    REPORTED: "Reported",
    CAUSED_BY: "Cause",
    PREFERS: "Preference",
    REJECTED: "Rejected",
    SUPERSEDES: "Replaced",
    DEPENDS_ON: "Dependency",
}
"""By relation: the label of a fact, if it is not that of its section."""


def rule_summary(entity: Entity, facts: Iterable[Fact]) -> str:
    """Return a summary of at most MAX_CHARS characters; empty if no active fact is told.

    The same facts give the same summary, in whichever order they come.
    """
    active = _latest_first(facts)
    return with_facts(description(entity), active) if with_facts("", active) else ""


def with_facts(title: str, facts: Iterable[Fact]) -> str:
    """Return a title with the facts that a reader asks for first, a line each.

    All of it has at most MAX_CHARS characters.
    """
    return _fitting([title] if title else [], _lines(_latest_first(facts), _SECTIONS, ""))


def story(facts: Iterable[Fact], *, before: str = "", after: str = "", known_date: str = "") -> str:
    """Return the facts in the order of `STORY`, between two texts, a line each.

    All of it has at most MAX_CHARS characters. `known_date`, in ISO format, is not repeated.
    """
    ends = [text for text in (before, after) if text]
    room = MAX_CHARS - sum(len(text) + 1 for text in ends)
    # Of decisions, the choices of the user come first.
    ordered = sorted(
        _latest_first(facts), key=lambda one: importance(one) if one.relation in DECISIONS else 0
    )
    told = _fitting([], _lines(ordered, STORY, known_date), room)
    return "\n".join(filter(None, (before, told, after)))[:MAX_CHARS]


def _fitting(lines: list[str], more: Iterable[str], room: int = MAX_CHARS) -> str:
    chars = sum(map(len, lines))
    for line in more:
        if chars + len(line) + 1 <= room:
            lines.append(line)
            chars += len(line) + 1
    return "\n".join(lines)


def _latest_first(facts: Iterable[Fact]) -> list[Fact]:
    return sorted((fact for fact in facts if fact.invalid_at is None), key=_age, reverse=True)


def _lines(active: Sequence[Fact], sections: Sequence[_Section], known_date: str) -> Iterator[str]:
    known = frozenset[str]().union(*(section.relations for section in _SECTIONS))
    older, shown = replaced(active), list[str]()
    # What a decision replaced stands beside it.
    decided = {fact.source for fact in active if fact.relation == DECIDED}
    active = [one for one in active if one.relation != SUPERSEDES or one.source not in decided]
    for section in (*sections, _OTHER):
        facts = (
            fact
            for fact in active
            if fact.relation in section.relations
            or (section is _OTHER and fact.relation not in known)
        )
        for fact, text in islice(once(facts, shown), section.limit):
            shown.append(text)
            label = _LABELS.get(fact.relation, section.label)
            at = _date(fact)
            before = ", ".join(filter(None, (label, "" if at == known_date else at)))
            was = older.get(fact.source) if fact.relation == DECIDED else None
            after = " (agent)" if fact.text.startswith("The agent") else ""
            after += f" (replaces “{was}”)" if was else ""
            yield f"{before}: {text}{after}".removeprefix(": ")


def _date(fact: Fact) -> str:
    return (fact.valid_at or fact.created_at).date().isoformat()


def _age(fact: Fact) -> tuple[object, ...]:
    return fact.valid_at or fact.created_at, fact.text, fact.uuid


class RuleSummariser:
    """`Summariser` that sends no requests: the facts that a reader asks for first."""

    async def summarise(self, inputs: Sequence[SummaryInput]) -> Summarised:
        return Summarised(
            {given.entity.uuid: text for given in inputs if (text := _text(given)) is not None}
        )

    def estimate(self, inputs: Sequence[SummaryInput]) -> Usage:  # noqa: ARG002 - of the port
        return Usage()


def _text(given: SummaryInput) -> str | None:
    if summary := rule_summary(given.entity, given.facts):
        return summary
    told = islice(once(reversed(given.invalidated)), 2)
    ended = (f"{_ended(fact)} {fact.invalid_at:%Y-%m-%d}: {text}" for fact, text in told)
    known = [description(given.entity), *ended]
    if any(known) or given.facts:
        return "\n".join(filter(None, known))
    return NO_FACTS if given.previous else None


def _ended(fact: Fact) -> str:
    return "Solved" if fact.relation == FAILED_WITH else "Held until"


NO_FACTS = "No fact about it holds any more."
"""The summary of an entity whose facts were all invalidated."""
