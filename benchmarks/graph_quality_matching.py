"""Whether what an extractor says is what a label says: pure, by the rules of guide.md."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from benchmarks.graph_quality_labels import (
    NOT_AN_ENTITY,
    DecisionLabel,
    EditLabel,
    EntityLabel,
    ErrorLabel,
    has_key_terms,
)
from turnetl.base.model import Attribute
from turnetl.extraction.ontology import CODING
from turnetl.formats.port import parse_time

KINDS: Mapping[str, str] = {
    "DECIDED": "decision",
    "REJECTED": "rejection",
    "PREFERS": "preference",
    "REPORTED": "reported_problem",
}
"""The kind of statement of a relation."""
USER = "User"
SIGNATURES = CODING.signatures
_RESOLUTIONS = {"fixed": "fixed_by", "fixed_by": "fixed_by", "passed_on_rerun": "passed_on_rerun"}
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_EXTENSION = re.compile(
    r"\.(?:c|cpp|cs|css|csv|go|h|html|ini|java|js|jsonl?|jsx|kt|lock|md|php|py|rb|rs|sh|sql|swift"
    r"|toml|tsx?|txt|ya?ml)$"
)
_WORDLESS = re.compile(r"[\W_]+")
_FILLERS = frozenset(("a", "an", "at", "for", "from", "in", "is", "not", "of", "on", "the", "to"))
_ENOUGH = 0.6
"""Share of the words of an error's identity that a fact has."""
_NUMBER = re.compile(r"#\d+$")


@dataclass(frozen=True, slots=True)
class GraphEntity:
    uuid: str
    name: str
    labels: frozenset[str]
    summary: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


@dataclass(frozen=True, slots=True)
class GraphFact:
    turn: str
    """The turn that stated it first."""
    source: GraphEntity
    relation: str
    target: GraphEntity
    text: str
    valid_at: datetime | None = None
    invalid_at: datetime | None = None
    attributes: Mapping[str, Attribute] = field(default_factory=dict)

    @property
    def words(self) -> str:
        return f"{self.source.name} {self.text} {self.target.name}"


def has_signature(fact: GraphFact) -> bool:
    """Return whether the relation joins what it may join; raises KeyError for an unknown one."""
    return SIGNATURES[fact.relation].joins(_labels(fact.source), _labels(fact.target))


def _labels(entity: GraphEntity) -> frozenset[str]:
    return entity.labels | ({USER} if entity.name.casefold() == "user" else frozenset())


def fold(name: str) -> str:
    """Return a name without case, separators and the brackets of a call; `/` stays."""
    parts = name.strip("`'\" ").removesuffix("()").casefold().split("/")
    folded = (_WORDLESS.sub("", part) for part in parts)
    return "/".join(part for part in folded if part)


def same_name(first: str, second: str) -> bool:
    """Return whether two names are of one thing: folded, by path or dotted suffix, or as ids."""
    if (one := fold(first)) == (other := fold(second)) or not one or not other:
        return bool(one) and one == other
    # A sentence may end with a path.
    is_path = " " not in first.strip() and " " not in second.strip()
    if is_path and (one.endswith(f"/{other}") or other.endswith(f"/{one}")):
        return True
    if _NUMBER.search(first) and _NUMBER.search(second):
        return _number(first) == _number(second)
    if _COMMIT.fullmatch(one) and _COMMIT.fullmatch(other):
        return one.startswith(other) or other.startswith(one)
    return _qualified(first, second) or _qualified(second, first)


def _number(name: str) -> str:
    return name.rpartition("#")[2]


def _qualified(longer: str, shorter: str) -> bool:
    """Return whether the longer is `module.name` of the shorter, and no file of that extension."""
    longer, shorter = longer.removesuffix("()"), shorter.removesuffix("()")
    return not _EXTENSION.search(longer) and any(
        longer.casefold().endswith(f"{separator}{shorter}".casefold()) for separator in (".", "::")
    )


def spellings(names: Iterable[str]) -> int:
    """Return how many names are a second spelling of another: by case, separators, path suffix."""
    folded: dict[str, list[str]] = {}
    for name in names:
        folded.setdefault(fold(name), []).append(name)
    by_last_part: dict[str, list[str]] = {}
    for fold_of in folded:
        by_last_part.setdefault(fold_of.rpartition("/")[2], []).append(fold_of)
    is_suffix = (
        any(other.endswith(f"/{short}") for other in by_last_part[short.rpartition("/")[2]])
        for short, (name, *_) in folded.items()
        if "/" in name or _EXTENSION.search(name)
    )
    return sum(len(same) - 1 for same in folded.values()) + sum(is_suffix)


def speaker(fact: GraphFact) -> str:
    """Return who says it: `user`, `agent`, or an empty string if the fact does not tell."""
    if fact.relation in ("PREFERS", "REPORTED"):
        return "user"
    if isinstance(said := fact.attributes.get("speaker"), str):
        return said
    begin = re.match(r"(?:the\s+)?(user|agent)\b", fact.text, re.IGNORECASE)
    return begin.group(1).casefold() if begin else ""


def states(fact: GraphFact, label: DecisionLabel) -> bool:
    """Return whether the fact says what the label says, of the same kind."""
    return KINDS.get(fact.relation) == label.kind and has_key_terms(fact.words, label.key_terms)


def is_edit(fact: GraphFact, label: EditLabel) -> bool:
    """Return whether both are the same edit of one turn; a rename may be told by half."""
    if label.relation == "RENAMED" and fact.relation in ("DELETED", "ADDED"):
        path = label.subject if fact.relation == "DELETED" else label.object
        return any(_is_named(entity, path) for entity in (fact.source, fact.target))
    if fact.relation != label.relation:
        return False
    if fact.relation in ("FIXED_BY", "CAUSED_BY"):
        is_subject = has_identity(f"{fact.source.name} {fact.text}", label.subject)
    else:
        is_subject = _is_named(fact.source, label.subject)
    # The subject of a document is a matter of words.
    is_free = label.object == label.subject or label.subject.endswith(".md")
    return is_subject and (is_free or _is_named(fact.target, label.object))


def _is_named(entity: GraphEntity, name: str) -> bool:
    return any(same_name(known, name) for known in entity.names)


def has_identity(text: str, identity: str) -> bool:
    """Return whether a text names an error: a test, or its parent, or most of a message's words."""
    folded = _WORDLESS.sub("", text).casefold()
    if re.match(r"[Tt]est\w*/", identity):
        return any(_WORDLESS.sub("", part).casefold() in folded for part in identity.split("/")[:1])
    words = [_last(word) for word in identity.split() if word.casefold() not in _FILLERS]
    found = sum(word in folded for word in words if word)
    return found >= _ENOUGH * len(words)


def _last(word: str) -> str:
    return _WORDLESS.sub("", word.rpartition("/")[2]).casefold()


def is_failure(fact: GraphFact, label: ErrorLabel) -> bool:
    return fact.relation == "FAILED_WITH" and has_identity(fact.words, label.identity)


def resolution(fact: GraphFact, fixes: Iterable[GraphFact]) -> str:
    """Return how a failure ended, as its attribute says, a FIXED_BY of its error, or its end."""
    if said := _RESOLUTIONS.get(str(fact.attributes.get("resolution"))):
        return said
    ends = {fact.source.uuid, fact.target.uuid}
    is_fixed = any(fix.relation == "FIXED_BY" and fix.source.uuid in ends for fix in fixes)
    return "fixed_by" if is_fixed or fact.invalid_at is not None else "unresolved"


def call_times(rows: Sequence[str]) -> tuple[datetime | None, datetime | None]:
    """Return when the call in the first row of JSON began and ended; None: the rows do not say."""
    ids = re.findall(r'"id":\s*"(toolu_\w+)"', rows[0])
    results = (row for row in rows[1:] for call in ids if re.search(rf'_id":\s*"{call}"', row))
    return _time(rows[0]), _time(next(results, ""))


def _time(row: str) -> datetime | None:
    found = re.search(r'"timestamp":\s*"([^"]+)"', row)
    return parse_time(found.group(1)) if found else None


def is_entity(entity: GraphEntity, label: EntityLabel) -> bool:
    """Return whether both are the same thing; a string that is none only by its own spelling."""
    if label.label == NOT_AN_ENTITY:
        return any(fold(name) == fold(label.name) for name in entity.names)
    return any(_is_named(entity, name) for name in (label.name, *label.aliases))


Predicted = TypeVar("Predicted")
Wanted = TypeVar("Wanted")


@dataclass(frozen=True, slots=True)
class Matching(Generic[Predicted, Wanted]):
    """Which predictions say which labels; a label is said once."""

    pairs: Sequence[tuple[Predicted, Wanted]]
    repeated: Sequence[Predicted]
    wrong: Sequence[Predicted]
    missed: Sequence[Wanted]


def match(
    predictions: Sequence[Predicted],
    labels: Sequence[Wanted],
    is_same: Callable[[Predicted, Wanted], bool],
) -> Matching[Predicted, Wanted]:
    """Assign predictions to labels in their order, the first that is free."""
    pairs: list[tuple[Predicted, Wanted]] = []
    repeated, wrong = [], []
    free = list(labels)
    for prediction in predictions:
        if (label := next((one for one in free if is_same(prediction, one)), None)) is not None:
            free.remove(label)
            pairs.append((prediction, label))
        elif any(is_same(prediction, label) for label in labels):
            repeated.append(prediction)
        else:
            wrong.append(prediction)
    return Matching(pairs, repeated, wrong, free)
