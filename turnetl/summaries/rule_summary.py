"""Summaries without a model: the facts that a reader asks for first, as sentences with their dates.

First what is open, then what was decided, then what changed last, then what it is. No statement is
repeated, whatever relations state it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from turnetl.base.model import Entity, Fact
from turnetl.summaries.statements import new_statements, plain

MAX_CHARS = 1_000
"""Characters of a summary, as Graphiti limits those of a model."""
_MAX_FACT_CHARS = 200
_MIN_WORDS = 6
"""Of an explanation that does not name its entity: "Root cause found!" explains nothing."""
_CONTINUATION = re.compile(r"The (?:user|agent) continued: ")
_CONTINUED = 2
"""Rank of a continuation that does not name its entity."""


@dataclass(frozen=True, slots=True)
class _Section:
    """Facts of some relations, under one label."""

    label: str
    relations: frozenset[str]
    limit: int
    """Facts at most; the latest are kept."""
    by_name: bool = False
    """Whether facts that name their entity come before later ones."""


_SECTIONS = (
    _Section("Open problem", frozenset({"FAILED_WITH", "REPORTED", "OCCURRED_IN"}), 3),
    _Section("Decision", frozenset({"DECIDED", "PREFERS", "REJECTED", "SUPERSEDES"}), 4),
    _Section("Change", frozenset({"MODIFIED", "CREATED", "ADDED", "RECORDED"}), 2),
    _Section("Run", frozenset({"RAN"}), 2),
    _Section(
        "Explanation",
        frozenset({"EXPLAINED", "DESCRIBED", "USED_FOR", "DEPENDS_ON"}),
        3,
        by_name=True,
    ),
)
_OTHER = _Section("", frozenset(), 3, by_name=True)
"""All other relations, also those of a user's own ontology."""


def rule_summary(entity: Entity, facts: Iterable[Fact]) -> str:
    """Return a summary of at most MAX_CHARS characters; empty if no fact is active.

    The same facts give the same summary, in whichever order they come.

    Args:
        entity: the subject.
        facts: about the entity; invalidated ones are left out.
    """
    active = _latest_first(facts)
    return with_facts(_heading(entity, active), active, name=entity.name) if active else ""


def with_facts(heading: str, facts: Iterable[Fact], *, name: str = "") -> str:
    """Return a heading with the facts that a reader asks for first, a line each.

    Args:
        heading: the first line, of at most MAX_CHARS characters, as the whole.
        facts: invalidated ones are left out.
        name: of the entity that they are about; empty if they are about several.
    """
    lines, chars = [heading], len(heading)
    for line in _lines(_latest_first(facts), name):
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


def _lines(active: Sequence[Fact], name: str) -> Iterator[str]:
    known = frozenset[str]().union(*(section.relations for section in _SECTIONS))
    shown: list[str] = []
    for section in (*_SECTIONS, _OTHER):
        facts = [
            fact
            for fact in active
            if (
                fact.relation in section.relations
                or (section is _OTHER and fact.relation not in known)
            )
        ]
        if section.by_name:
            facts = _informative(facts, name)
        yield from islice(_section_lines(section, facts, shown), section.limit)


def _section_lines(section: _Section, facts: Iterable[Fact], shown: list[str]) -> Iterator[str]:
    """Yield the lines of facts that say something new; add what they state to `shown`."""
    for fact in facts:
        text = _shortened(new_statements(" ".join(fact.text.split()), shown))
        if text:
            shown.append(plain(text))
            label = f"{section.label}, {_date(fact)}" if section.label else _date(fact)
            yield f"{label}: {text}"


def _informative(facts: Sequence[Fact], name: str) -> list[Fact]:
    """Return the facts that explain something: first those with the name.

    What somebody said after that, without the name, is left out if there is anything else.
    """
    words = {name.casefold(), name.casefold().rpartition("/")[2]} - {""}

    def rank(fact: Fact) -> int:
        if any(word in fact.text.casefold() for word in words):
            return 0
        return _CONTINUED if _CONTINUATION.match(fact.text) else 1

    telling = (
        fact
        for fact in facts
        if rank(fact) == 0
        or fact.relation not in {"EXPLAINED", "DESCRIBED"}
        or len(fact.text.split()) >= _MIN_WORDS
    )
    ranked = sorted(telling, key=rank)
    return [fact for fact in ranked if rank(fact) < _CONTINUED] or ranked


def _shortened(text: str) -> str:
    """Return the text, cut between two words if it is long."""
    if len(text) <= _MAX_FACT_CHARS:
        return text
    cut = text[: _MAX_FACT_CHARS - 1]
    words = cut.rpartition(" ")[0]
    return f"{words if len(words) > _MAX_FACT_CHARS // 2 else cut}…"


def _date(fact: Fact) -> str:
    return (fact.valid_at or fact.created_at).date().isoformat()


def _age(fact: Fact) -> tuple[object, ...]:
    return fact.valid_at or fact.created_at, fact.text, fact.uuid
