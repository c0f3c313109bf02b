"""Entities of a group that may be one: pairs whose names are related, and how certain each is."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, combinations, product
from typing import Annotated

from turnetl.base.batched import grouped
from turnetl.base.graph_model import CommitRecord, GroupContents
from turnetl.base.ids import folded_name
from turnetl.base.model import Fact, GroupId
from turnetl.base.result_fields import ArchiveField, FirstLineField, TurnIdField
from turnetl.base.results import described
from turnetl.ingestion.merged_entities import MergedEntities, MergedEntity


class NameForm(StrEnum):
    """How the names of two entities are related."""

    SPELLING = "spelling"
    """They differ in case and separators."""
    PLURAL = "plural"
    PATH = "path"
    """One is the end of the other."""
    ABBREVIATION = "abbreviation"
    """One is the initials, the numeronym or the beginning of the other."""
    SIMILAR = "similar"
    """Only their vectors are close."""


@dataclass(frozen=True, slots=True)
class NamingTurn:
    """A turn that names an entity."""

    turn_id: TurnIdField
    archive: ArchiveField
    first_line: FirstLineField


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """One of two entities that may be one."""

    id: Annotated[str, described("Id of the entity.")]
    name: Annotated[str, described("Its name.")]
    labels: Annotated[tuple[str, ...], described("Its labels.")]
    turns: Annotated[int, described("Turns that name it.")]
    first_turns: Annotated[tuple[NamingTurn, ...], described("The first of them, at most 3.")]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Two entities of a group that may be one, and what speaks for it."""

    group_id: Annotated[GroupId, described("Their group.", name="group")]
    kept: Annotated[NamedEntity, described("The one with more turns, which a merge keeps.")]
    merged: Annotated[NamedEntity, described("The other one.")]
    form: Annotated[NameForm, described("How their names are related.")]
    similarity: Annotated[float | None, described("Cosine of their vectors; null without.")]
    shared_facts: Annotated[
        tuple[str, ...], described("Facts that state of both the same about a third, at most 3.")
    ]
    joined: Annotated[bool, described("Whether a fact joins them, which speaks against it.")]
    certainty: Annotated[float, described("From 0 to 1.")]
    kept_apart: Annotated[
        bool, described("Whether a person split them: `--yes` does not merge them.")
    ] = False

    @property
    def merge(self) -> MergedEntity:
        one, other = self.kept, self.merged
        return MergedEntity(self.group_id, one.id, one.name, other.id, other.name, other.labels)


CERTAIN = 0.85
"""The certainty from which two entities are merged without a person; measured by
`benchmarks.duplicate_entities`."""
_LISTED_FROM = 0.5
_EVIDENCE = 3
CROWD = 6
"""Entities that share a spelling or a fact: of more, it says nothing."""
_MIN_COSINE, _LOW_COSINE = 0.8, 0.5
_NEAREST = 4
_BLOCK = 1_000
"""Entities between two calls of `progress`."""
_EXACT_LABELS = frozenset(
    {"Symbol", "Test", "Setting", "Branch", "Commit", "Command", "File", "Error"}
)
"""Labels of which the case and the separators of a name mean something."""
_BASE = {
    NameForm.SPELLING: 0.9,
    NameForm.PLURAL: 0.8,
    # Never certain: a project has a `README.md` in several folders.
    NameForm.PATH: 0.6,
    NameForm.ABBREVIATION: 0.55,
    NameForm.SIMILAR: 0.4,
}
_ALMOST_EQUAL = (NameForm.SPELLING, NameForm.PLURAL)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_DROPPED = re.compile(r"(?<!^)[\s_.:-]+|\(\)$")
"""Not the first character: `.env` and `-v` are not `env` and `v`."""
_DIGITS = re.compile(r"\d+")


def with_duplicates(
    listed: MergedEntities, duplicates: Iterable[Duplicate]
) -> tuple[MergedEntities, dict[GroupId, set[str]]]:
    """Return what is one after a merge of duplicates, and by group the ids of what is merged.

    Among these are entities that were listed before and are in the graph: their merge was stopped.
    A pair of which a merge before it took one entity is left for the next time, and so is one of
    names that are kept apart.
    """
    after, new = listed, dict[GroupId, set[str]]()
    stopped = {one.merged for one in listed.merges}
    for merge in (pair.merge for pair in duplicates):
        ids = {merge.kept, merge.merged}
        if ids & stopped:
            new.setdefault(merge.group_id, set()).update(ids & stopped)
        elif ids.isdisjoint(one.merged for one in after.merges) and not after.splits(merge):
            after = after.with_merge(merge)
            new.setdefault(merge.group_id, set()).add(merge.merged)
    return after, new


def find_duplicates(
    contents: GroupContents,
    records: Iterable[CommitRecord] = (),
    progress: Callable[[int, int], None] = lambda *_: None,
) -> list[Duplicate]:
    """Return the pairs of a group's entities that may be one, the most certain first.

    The time grows with the square of how many entities of the same labels have vectors.

    Args:
        records: of all turns in any order: which turns name an entity.
        progress: is called with how many entities are compared, of how many.
    """
    group = _Compared(contents, records, progress)
    found = (group.compared(one, other, form) for (one, other), form in group.pairs().items())
    listed = (pair for pair in found if pair.certainty >= _LISTED_FROM)
    return sorted(listed, key=lambda pair: (-pair.certainty, pair.kept.name, pair.merged.name))


def crowded_names(contents: GroupContents) -> int:
    """Return how many names are not compared: more entities share one than it says anything of."""
    names = [entity.name for entity in contents.entities]
    counts = (Counter(map(key, names)) for key in (_spelling, _singular))
    return len({name for of in counts for name, count in of.items() if name and count > CROWD})


class _Compared:
    """The entities of a group, with what is stated about each."""

    def __init__(
        self,
        contents: GroupContents,
        records: Iterable[CommitRecord],
        progress: Callable[[int, int], None],
    ) -> None:
        self._progress = progress
        self._entities = {entity.uuid: entity for entity in contents.entities}
        self._receipts = grouped(
            (uuid, record.receipt)
            for record in sorted(records, key=lambda one: one.receipt.started_at)
            for uuid in sorted({*record.mentions, *record.endpoints})
        )
        self._facts: dict[str, dict[tuple[str, str], Fact]] = {}
        self._joined: set[frozenset[str]] = set()
        for fact in contents.facts:
            self._facts.setdefault(fact.source, {})[fact.relation, f">{fact.target}"] = fact
            self._facts.setdefault(fact.target, {})[fact.relation, f"<{fact.source}"] = fact
            self._joined.add(frozenset((fact.source, fact.target)))
        self._stated = Counter(chain.from_iterable(self._facts.values()))

    def pairs(self) -> dict[tuple[str, str], NameForm]:
        """Return the pairs of ids whose names are related, each with its strongest form."""
        pairs: dict[tuple[str, str], NameForm] = {}
        for form, found in (
            (NameForm.SPELLING, self._with_same(_spelling)),
            (NameForm.PLURAL, self._with_same(_singular)),
            (NameForm.PATH, self._with_ends()),
            (NameForm.ABBREVIATION, self._abbreviated()),
            (NameForm.SIMILAR, self._near()),
        ):
            for one, other in found:
                pairs.setdefault((min(one, other), max(one, other)), form)
        return pairs

    def compared(self, one: str, other: str, form: NameForm) -> Duplicate:
        kept, merged = sorted(map(self._named, (one, other)), key=_weight, reverse=True)
        shared = self._shared(one, other)
        joined = frozenset((one, other)) in self._joined
        cosine = self._cosine(one, other)
        certainty = _certainty(kept, merged, form, cosine, is_shared=bool(shared), joined=joined)
        texts = tuple(fact.text for fact in shared[:_EVIDENCE])
        group = self._entities[one].group_id
        return Duplicate(group, kept, merged, form, cosine, texts, joined, certainty)

    def _with_same(self, key: Callable[[str], str]) -> Iterator[tuple[str, str]]:
        keyed = grouped((key(entity.name), uuid) for uuid, entity in self._entities.items())
        for name, same in keyed.items():
            if name and len(same) <= CROWD:
                yield from combinations(same, 2)

    def _with_ends(self) -> Iterator[tuple[str, str]]:
        """Yield each path with the only longer one that ends with it."""
        paths = grouped((entity.name.casefold(), uuid) for uuid, entity in self._entities.items())
        ends: dict[str, list[str]] = {}
        for path in paths:
            for start in (place for place, sign in enumerate(path) if sign == "/" and place):
                ends.setdefault(path[start + 1 :], []).append(path)
        for end, longer in ends.items():
            if end in paths and len(longer) == 1 and _is_path(end):
                yield from product(paths[end], paths[longer[0]])

    def _abbreviated(self) -> Iterator[tuple[str, str]]:
        """Yield each short name with the only longer one that it abbreviates."""
        names = {uuid: entity.name for uuid, entity in self._entities.items()}
        longer = grouped((short, uuid) for uuid in names for short in _abbreviations(names[uuid]))
        for uuid, name in names.items():
            of_short = longer.get(_spelling(name), ())
            if len(of_short) == 1:
                yield uuid, of_short[0]

    def _near(self) -> Iterator[tuple[str, str]]:
        """Yield each entity with those of its labels whose vectors are the nearest."""
        from turnetl.graph.mirror.similarity import VectorIndex  # noqa: PLC0415 - imports numpy
        from turnetl.llm.vectors import stack  # noqa: PLC0415 - imports numpy

        comparable = grouped(
            ((one.labels, len(one.embedding)), (one.uuid, one.embedding))
            for one in self._entities.values()
            if one.embedding is not None and _EXACT_LABELS.isdisjoint(one.labels)
        )
        done, total = 0, sum(map(len, comparable.values()))
        for keyed in comparable.values():
            queries = stack([vector for _, vector in keyed])
            index = VectorIndex(queries.shape[1])
            index.extend(keyed)
            for start in range(0, len(keyed), _BLOCK):
                block = slice(start, start + _BLOCK)
                near = index.nearest(queries[block], _NEAREST, _MIN_COSINE)
                for (uuid, _), found in zip(keyed[block], near, strict=True):
                    close = (other for other, cosine in found if cosine >= _MIN_COSINE)
                    yield from ((uuid, other) for other in close if other != uuid)
                done += len(near)
                self._progress(done, total)

    def _named(self, uuid: str) -> NamedEntity:
        entity, receipts = self._entities[uuid], self._receipts.get(uuid, [])
        first = tuple(
            NamingTurn(one.turn_id, one.archive, one.first_line) for one in receipts[:_EVIDENCE]
        )
        return NamedEntity(uuid, entity.name, entity.labels, len(receipts), first)

    def _shared(self, one: str, other: str) -> list[Fact]:
        """Return the facts that few entities besides the two have in common."""
        facts, others = self._facts.get(one, {}), self._facts.get(other, {})
        keys = facts.keys() & others.keys()
        return [fact for key, fact in facts.items() if key in keys and self._stated[key] <= CROWD]

    def _cosine(self, one: str, other: str) -> float | None:
        from turnetl.llm.vectors import unpack  # noqa: PLC0415 - imports numpy

        vectors = [self._entities[uuid].embedding for uuid in (one, other)]
        one_vector, other_vector = (None if each is None else unpack(each) for each in vectors)
        if one_vector is None or other_vector is None or len(one_vector) != len(other_vector):
            return None
        return round(float(one_vector @ other_vector), 3)


def _certainty(
    kept: NamedEntity,
    merged: NamedEntity,
    form: NameForm,
    cosine: float | None,
    *,
    is_shared: bool,
    joined: bool,
) -> float:
    labels, others = {*kept.labels}, {*merged.labels}
    is_exact = not _EXACT_LABELS.isdisjoint(labels | others) and form != NameForm.PATH
    penalties = (
        (labels != others and labels.isdisjoint(others), 0.3),
        (is_exact, 0.3),
        (form != NameForm.ABBREVIATION and _numbers(kept) != _numbers(merged), 0.4),
        (joined, 0.3),
        # The vector of an abbreviation is never close.
        (form in _ALMOST_EQUAL and cosine is not None and cosine < _LOW_COSINE, 0.2),
    )
    evidence = 0.1 * is_shared + 0.1 * max(0.0, ((cosine or 0.0) - 0.5) / 0.5)
    certainty = _BASE[form] + evidence - sum(loss for applies, loss in penalties if applies)
    return round(min(1.0, max(0.0, certainty)), 2)


def _weight(entity: NamedEntity) -> tuple[int, int, str]:
    return entity.turns, len(entity.name), entity.id


def _spelling(name: str) -> str:
    return _DROPPED.sub("", name.casefold())


def _singular(name: str) -> str:
    # The last letter of an acronym is no plural: HTTP and HTTPS.
    return _spelling(name if name[-1:].isupper() else folded_name("Concept", name))


def _numbers(entity: NamedEntity) -> list[str]:
    return _DIGITS.findall(entity.name)


def _is_path(name: str) -> bool:
    return "/" in name or "." in name.strip(".")


def _abbreviations(name: str) -> Iterator[str]:
    """Yield the initials of several words; the beginnings and the numeronym of a long one."""
    words = _WORDS.findall(name)
    if len(words) > 1 and len(words) < len(name):
        yield "".join(word[0] for word in words).lower()
    if name.isalpha() and len(name) > _MIN_LONG:
        word = name.lower()
        yield f"{word[0]}{len(word) - 2}{word[-1]}"
        yield from (word[:length] for length in range(_MIN_SHORT, len(word) - 1))


_MIN_LONG, _MIN_SHORT = 5, 3
"""Characters of a word that is abbreviated, and of its beginning."""
