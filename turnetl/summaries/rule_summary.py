"""Summaries without a model: the facts that a reader asks for first, as sentences with their dates.

First what is open, then what was decided, then what changed last, then what it is.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from turnetl.model import Entity, Fact

MAX_CHARS = 1_000
"""Characters of a summary, as Graphiti limits those of a model."""
_MAX_FACT_CHARS = 200


@dataclass(frozen=True, slots=True)
class _Section:
    """Facts of some relations, under one label."""

    label: str
    relations: frozenset[str]
    limit: int
    """Facts at most; the latest are kept."""


_SECTIONS = (
    _Section("Open problem", frozenset({"FAILED_WITH", "REPORTED", "OCCURRED_IN"}), 3),
    _Section("Decision", frozenset({"DECIDED", "PREFERS", "REJECTED", "SUPERSEDES"}), 4),
    _Section("Change", frozenset({"MODIFIED", "CREATED", "ADDED", "RAN", "RECORDED"}), 2),
    _Section("Explanation", frozenset({"EXPLAINED", "DESCRIBED", "USED_FOR", "DEPENDS_ON"}), 3),
)
_OTHER = _Section("", frozenset(), 3)
"""All other relations, also those of a user's own ontology."""


def rule_summary(entity: Entity, facts: Iterable[Fact]) -> str:
    """Return a summary of at most MAX_CHARS characters; empty if no fact is active.

    The same facts give the same summary, in whichever order they come.

    Args:
        entity: the subject.
        facts: about the entity; invalidated ones are left out.
    """
    active = _latest_first(facts)
    return with_facts(_heading(entity, active), active) if active else ""


def with_facts(heading: str, facts: Iterable[Fact]) -> str:
    """Return a heading with the facts that a reader asks for first, a line each.

    Args:
        heading: the first line, of at most MAX_CHARS characters, as the whole.
        facts: invalidated ones are left out.
    """
    lines, chars = [heading], len(heading)
    for line in dict.fromkeys(_lines(_latest_first(facts))):
        if chars + len(line) + 1 <= MAX_CHARS:
            lines.append(line)
            chars += len(line) + 1
    return "\n".join(lines)


def _latest_first(facts: Iterable[Fact]) -> list[Fact]:
    return sorted((fact for fact in facts if fact.invalid_at is None), key=_age, reverse=True)


def _heading(entity: Entity, active: Sequence[Fact]) -> str:
    """Return what the entity is, and the time of its first and last fact."""
    kind = ", ".join(entity.labels) or "Entity"
    dates = list(dict.fromkeys((_date(active[-1]), _date(active[0]))))
    return f"{kind}. Facts from {' to '.join(dates)}."


def _lines(active: Sequence[Fact]) -> Iterator[str]:
    known = frozenset[str]().union(*(section.relations for section in _SECTIONS))
    for section in _SECTIONS:
        of_section = (fact for fact in active if fact.relation in section.relations)
        yield from (_line(section, fact) for fact in islice(of_section, section.limit))
    others = (fact for fact in active if fact.relation not in known)
    yield from (_line(_OTHER, fact) for fact in islice(others, _OTHER.limit))


def _line(section: _Section, fact: Fact) -> str:
    label = f"{section.label}, {_date(fact)}" if section.label else _date(fact)
    text = " ".join(fact.text.split())
    shortened = text if len(text) <= _MAX_FACT_CHARS else f"{text[: _MAX_FACT_CHARS - 1]}…"
    return f"{label}: {shortened}"


def _date(fact: Fact) -> str:
    return (fact.valid_at or fact.created_at).date().isoformat()


def _age(fact: Fact) -> tuple[object, ...]:
    return fact.valid_at or fact.created_at, fact.text, fact.uuid
