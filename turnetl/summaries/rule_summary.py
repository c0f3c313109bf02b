"""Summaries without a model: the facts that a reader asks for first, as sentences with their dates.

First what is open, then what was decided, then what changed last, then what it is. No statement is
repeated, whatever relations state it.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from turnetl.base import relations
from turnetl.base.model import Entity, Fact, Usage, description
from turnetl.summaries.port import Summarised, SummaryInput

MAX_CHARS = 1_000
"""Characters of a summary, as Graphiti limits those of a model."""
_MAX_FACT_CHARS = 200
_MIN_WORDS = 6
"""Of an explanation that does not name its entity: "Root cause found!" explains nothing."""


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
    _Section("Open problem", relations.PROBLEMS, 3),
    _Section("Decision", relations.DECISIONS, 4),
    _Section("Change", relations.CHANGES | relations.OLD_EDITS, 2),
    _Section("Explanation", relations.OLD_EXPLANATIONS | {relations.DEPENDS_ON}, 3, by_name=True),
)
_OTHER = _Section("", frozenset(), 3, by_name=True)
"""All other relations, also those of a user's own ontology."""


def rule_summary(entity: Entity, facts: Iterable[Fact]) -> str:
    """Return a summary of at most MAX_CHARS characters; empty if no fact is active.

    The same facts give the same summary, in whichever order they come.
    """
    active = _latest_first(facts)
    return with_facts(_heading(entity, active), active, name=entity.name) if active else ""


def with_facts(heading: str, facts: Iterable[Fact], *, name: str = "") -> str:
    """Return a heading with the facts that a reader asks for first, a line each.

    All of it has at most MAX_CHARS characters. `name` is of the entity that the facts are about;
    empty if they are about several.
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
    kind = description(entity) or f"{', '.join(entity.labels) or 'Entity'}."
    dates = list(dict.fromkeys((_date(active[-1]), _date(active[0]))))
    return f"{kind} Facts from {' to '.join(dates)}."


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
            shown.append(comparable_text(text))
            label = f"{section.label}, {_date(fact)}" if section.label else _date(fact)
            yield f"{label}: {text}"


def _informative(facts: Sequence[Fact], name: str) -> list[Fact]:
    """Return the facts that explain something: first those with the name."""
    words = {name.casefold(), name.casefold().rpartition("/")[2]} - {""}

    def rank(fact: Fact) -> int:
        if any(word in fact.text.casefold() for word in words):
            return 0
        return 1

    telling = (
        fact
        for fact in facts
        if rank(fact) == 0
        or fact.relation not in relations.OLD_EXPLANATIONS
        or len(fact.text.split()) >= _MIN_WORDS
    )
    return sorted(telling, key=rank)


def _shortened(text: str) -> str:
    if len(text) <= _MAX_FACT_CHARS:
        return text
    cut = text[: _MAX_FACT_CHARS - 1]
    words = cut.rpartition(" ")[0]
    return f"{words if len(words) > _MAX_FACT_CHARS // 2 else cut}…"


def _date(fact: Fact) -> str:
    return (fact.valid_at or fact.created_at).date().isoformat()


def _age(fact: Fact) -> tuple[object, ...]:
    return fact.valid_at or fact.created_at, fact.text, fact.uuid


SPEAKER = re.compile(
    r"The (?:user|agent) (?:decided|prefers|rejected|reported|accepted in the plan “[^”]{1,130}”): "
)
"""Begins the text of a fact that quotes someone."""
_SEPARATOR = re.compile(r"(; |(?<=[.!?。])\s+)")
"""Between two statements of a text."""
_EMPTY = re.compile(r"\[[^\[\]]*\]|<?\b(?:https?|file)://\S+")
"""Links, and placeholders in brackets (`[REDACTED_TEXT len=12]`)."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_BULLET = re.compile(r"^[^\w`\"'(\[]+")
_WHEN_ASKED = " when asked"
_MIN_CHARS = 12
"""Of a statement that is looked for within others: a shorter one may be part of a word."""
_MIN_CUT_CHARS = 40
"""Of the beginning of a statement that was cut."""
_MIN_SHARE = 0.75
"""Of the characters of a statement, that an earlier one must have to make it needless."""


def says_something(text: str) -> bool:
    """Return whether the text has a word beside links and placeholders."""
    return bool(_WORD.search(_EMPTY.sub(" ", text)))


def new_statements(text: str, shown: Collection[str]) -> str:
    """Return the text without placeholders and without what was shown; empty if nothing is left.

    "`a.py` was edited: It reads lines." keeps its first half if the second one was shown.

    Args:
        shown: `plain` texts of other facts, which may have been cut.
    """
    speaker = SPEAKER.match(text)
    subject, _, body = text.partition(": ") if speaker is None else (speaker[0][:-2], "", "")
    quoted = text[speaker.end() :] if speaker is not None else body
    if _is_shown(text if speaker is None else quoted, shown):
        return ""
    if not quoted:
        return "" if speaker is not None else _new(text, shown).rstrip(":")
    left = _new(quoted, shown)
    if left.startswith("("):
        return f"{subject.removesuffix(_WHEN_ASKED)} {left}"
    if left:
        return f"{subject}: {left}".rstrip(":")
    is_alone = speaker is None and _is_new(subject, shown)
    return subject.removesuffix(_WHEN_ASKED) if is_alone else ""


def comparable_text(text: str) -> str:
    """Return what is compared of a text: relations differ in speakers, marks and full stops."""
    stated = _BULLET.sub("", SPEAKER.sub("", text).replace("`", ""))
    return stated.rstrip(".:").casefold()


def _new(text: str, shown: Collection[str]) -> str:
    """Return the statements of a text that say something new, with what separates them."""
    kept = [(one, separator) for one, separator in _statements(text) if _is_new(one, shown)]
    return "".join(f"{one}{separator}" for one, separator in kept).strip().removesuffix(";")


def _statements(text: str) -> Iterator[tuple[str, str]]:
    pieces = _SEPARATOR.split(text)
    yield from zip(pieces[::2], [*pieces[1::2], ""], strict=True)


def _is_new(statement: str, shown: Collection[str]) -> bool:
    return says_something(statement) and not _is_shown(statement, shown)


def _is_shown(statement: str, shown: Collection[str]) -> bool:
    key = comparable_text(statement).removesuffix("…")
    return any(_repeats(key, other) for other in shown)


def _repeats(key: str, other: str) -> bool:
    if key == other or (len(key) >= _MIN_CHARS and key in other):
        return True
    if other in key and len(other) >= _MIN_SHARE * len(key):
        return True
    if not other.endswith("…"):
        return False
    last = _SEPARATOR.split(other.removesuffix("…"))[-1]
    starts = (last, last.partition(": ")[2])
    return any(len(one) >= _MIN_CUT_CHARS and key.startswith(one) for one in starts)


class RuleSummariser:
    """`Summariser` that sends no requests: the facts that a reader asks for first."""

    async def summarise(self, inputs: Sequence[SummaryInput]) -> Summarised:
        return Summarised(
            {given.entity.uuid: text for given in inputs if (text := _text(given)) is not None}
        )

    def estimate(self, inputs: Sequence[SummaryInput]) -> Usage:  # noqa: ARG002 - of the port
        return Usage()


def _text(given: SummaryInput) -> str | None:
    without_facts = description(given.entity) or (NO_FACTS if given.previous else None)
    return rule_summary(given.entity, given.facts) or without_facts


NO_FACTS = "No fact about it holds any more."
"""The summary of an entity whose facts were all invalidated."""
