"""Entities that are one: those that may be, and those that were merged.

`merged_entities.json` in the lake has what was merged; it is applied to what turns resolve. A graph
does not show that two entities were one: their turns are ingested again. So each of them has its
facts, summaries and before-images as if the merge had been known from the beginning.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import chain, combinations, product
from typing import Annotated, Any

import msgspec

from turnetl.base.batched import grouped
from turnetl.base.errors import Fatal
from turnetl.base.graph_model import CommitRecord, GroupContents
from turnetl.base.ids import RecipeParts, folded_name
from turnetl.base.model import ALIASES, Entity, Episode, Fact, GroupId, description, with_aliases
from turnetl.base.private_files import read_whole
from turnetl.base.result_fields import ArchiveField, FirstLineField, TurnIdField
from turnetl.base.results import described
from turnetl.extraction.port import Extractor, Resolved
from turnetl.graph.mirror.group import GroupView, folded
from turnetl.lake import LakeFiles


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


FILE = "merged_entities.json"


@dataclass(frozen=True, slots=True)
class MergedEntity:
    """An entity that is another one. By id, and by name for an extractor that draws ids."""

    group_id: GroupId
    kept: str
    """Id of the entity that it is."""
    kept_name: str
    merged: str
    """Its own id."""
    merged_name: str
    merged_labels: tuple[str, ...]


def read_merged(files: LakeFiles) -> tuple[MergedEntity, ...]:
    """Return all merges of a lake; none without a list.

    Raises:
        Fatal: the list cannot be read.
    """
    path = files.root / FILE
    files.fetch([path])
    try:
        return msgspec.json.decode(read_whole(path), type=tuple[MergedEntity, ...])
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, msgspec.DecodeError) as error:
        raise Fatal(
            f"the list of merged entities, `{files.name(path)}`, cannot be read: restore it from a "
            "backup, or move it away, and merge the entities again"
        ) from error


def write_merged(files: LakeFiles, merges: Iterable[MergedEntity]) -> None:
    """Replace the list; raise `LakeChanged` if another process replaced it meanwhile."""
    data = msgspec.json.format(msgspec.json.encode(sorted(merges, key=_order)))
    files.replace(files.root / FILE, lambda file: file.write(data))
    files.sync(files.root)


def with_merge(merges: Iterable[MergedEntity], new: MergedEntity) -> list[MergedEntity]:
    """Return the merges with another one; what was merged into its entity follows it."""
    moved = (
        replace(one, kept=new.kept, kept_name=new.kept_name) if one.kept == new.merged else one
        for one in merges
    )
    return [*(one for one in moved if one.merged not in (new.merged, new.kept)), new]


def with_duplicates(
    merges: Iterable[MergedEntity], duplicates: Iterable[Duplicate]
) -> tuple[list[MergedEntity], dict[GroupId, set[str]]]:
    """Return the merges with those of duplicates, and the ids of what they merge by group.

    A pair of which a merge before it took one entity is left for the next time.
    """
    after, new = list(merges), dict[GroupId, set[str]]()
    for pair in duplicates:
        kept, merged = pair.kept, pair.merged
        if {kept.id, merged.id}.isdisjoint(one.merged for one in after):
            merge = (kept.id, kept.name, merged.id, merged.name, merged.labels)
            after = with_merge(after, MergedEntity(pair.group_id, *merge))
            new.setdefault(pair.group_id, set()).add(merged.id)
    return after, new


def merges_named(
    merges: Iterable[MergedEntity], entity: Entity, alias: str
) -> Sequence[MergedEntity]:
    """Return the merges into an entity of what has a name, in any case."""
    return [
        one
        for one in merges
        if one.kept == entity.uuid and folded(one.merged_name) == folded(alias)
    ]


def merged_in(resolved: Resolved, merges: Collection[MergedEntity], group: GroupView) -> Resolved:
    """Return what a turn resolved with the merges of its group applied. Old facts stay."""
    found = _found(resolved, merges, group)
    if not found:
        return resolved
    entities = {entity.uuid: entity for entity in resolved.entities if entity.uuid not in found}
    own = {entity.uuid: entity for entity in resolved.entities}
    for uuid, merge in found.items():
        kept = entities.get(merge.kept) or group.entity(merge.kept)
        entities[merge.kept] = _combined(kept, own.get(uuid), merge, group)
    mentioned_in: dict[str, set[int]] = {}
    for uuid, chunks in resolved.mentioned_in.items():
        mentioned_in.setdefault(_kept(uuid, found), set()).update(chunks)
    return replace(
        resolved,
        entities=tuple(one for one in entities.values() if one != group.entity(one.uuid)),
        facts=tuple(_moved(resolved.facts, found, group)),
        mentions=tuple(sorted({_kept(uuid, found) for uuid in resolved.mentions})),
        mentioned_in={uuid: tuple(sorted(chunks)) for uuid, chunks in mentioned_in.items()},
    )


class MergingExtractor:
    """An extractor whose turns have the merged entities of their groups as one."""

    def __init__(self, extractor: Extractor[Any], merges: Iterable[MergedEntity]) -> None:
        self._extractor = extractor
        self._merges = grouped((merge.group_id, merge) for merge in merges)
        self.name = extractor.name
        self.model = extractor.model

    def recipe_parts(self, group: GroupId, kind: str = "") -> RecipeParts:
        return self._extractor.recipe_parts(group, kind)

    async def extract(self, episode: Episode, context: Sequence[Episode]) -> Any:
        return await self._extractor.extract(episode, context)

    async def resolve(
        self, episode: Episode, extracted: Any, group: GroupView, *, now: datetime
    ) -> Resolved:
        resolved = await self._extractor.resolve(episode, extracted, group, now=now)
        return merged_in(resolved, self._merges.get(group.group_id, ()), group)

    async def close(self) -> None:
        await self._extractor.close()


def _found(
    resolved: Resolved, merges: Collection[MergedEntity], group: GroupView
) -> dict[str, MergedEntity]:
    """Return the merged entities that the turn uses, by id."""
    by_uuid = {merge.merged: merge for merge in merges}
    ends = (end for fact in resolved.facts for end in (fact.source, fact.target))
    used = dict.fromkeys(chain((one.uuid for one in resolved.entities), resolved.mentions, ends))
    found = {uuid: by_uuid[uuid] for uuid in used if uuid in by_uuid}
    for entity in resolved.entities if merges else ():
        if entity.uuid not in found and group.entity(entity.uuid) is None:
            named = (merge for merge in merges if _is_named(entity, merge))
            found.update((entity.uuid, merge) for merge in named if merge.kept != entity.uuid)
    return found


def _is_named(entity: Entity, merge: MergedEntity) -> bool:
    is_same = folded(entity.name) == folded(merge.merged_name)
    return is_same and not {*merge.merged_labels}.isdisjoint(entity.labels)


def _combined(
    kept: Entity | None, merged: Entity | None, merge: MergedEntity, group: GroupView
) -> Entity:
    """Return the entity that stays, with the names and the description of the merged one."""
    found = merged or group.entity(merge.merged)
    if found is None:
        raise AssertionError(f"the turn uses entity {merge.merged}, which does not exist")
    entity = kept or replace(
        found, uuid=merge.kept, name=merge.kept_name, attributes={}, summary="", embedding=None
    )
    attributes = {name: value for name, value in found.attributes.items() if name != ALIASES}
    entity = replace(entity, attributes={**attributes, **entity.attributes})
    entity = replace(entity, summary=entity.summary or description(entity))
    return with_aliases(entity, (*found.names, merge.merged_name))


def _moved(
    facts: Iterable[Fact], found: Mapping[str, MergedEntity], group: GroupView
) -> Iterable[Fact]:
    for fact in facts:
        source, target = _kept(fact.source, found), _kept(fact.target, found)
        if group.fact(fact.uuid) is not None:
            yield fact
        elif source != target or fact.source == fact.target:
            yield replace(fact, source=source, target=target)


def _kept(uuid: str, found: Mapping[str, MergedEntity]) -> str:
    return found[uuid].kept if uuid in found else uuid


def _order(merge: MergedEntity) -> tuple[str, ...]:
    return merge.group_id, merge.kept_name, merge.merged_name, merge.merged


CERTAIN = 0.85
"""The certainty from which two entities are merged without a person; measured by
`benchmarks.duplicate_entities`."""
_LISTED_FROM = 0.5
_EVIDENCE = 3
_CROWD = 6
"""Entities that share a spelling or a fact: of more, it says nothing."""
_MIN_COSINE = 0.8
_NEAREST = 4
_EXACT_LABELS = frozenset(
    {"Symbol", "Test", "Setting", "Branch", "Commit", "Command", "File", "Error"}
)
"""Labels of which the case and the separators of a name mean something."""
_BASE = {
    NameForm.SPELLING: 0.9,
    NameForm.PLURAL: 0.8,
    NameForm.PATH: 0.75,
    NameForm.ABBREVIATION: 0.55,
    NameForm.SIMILAR: 0.4,
}
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_DROPPED = re.compile(r"[\s_.:-]+|\([^()]*\)$")
_DIGITS = re.compile(r"\d+")


def find_duplicates(
    contents: GroupContents, records: Iterable[CommitRecord] = ()
) -> list[Duplicate]:
    """Return the pairs of a group's entities that may be one, the most certain first.

    `records`, of all turns in any order, say which turns name an entity.
    """
    group = _Compared(contents, records)
    found = (group.compared(one, other, form) for (one, other), form in group.pairs().items())
    listed = (pair for pair in found if pair.certainty >= _LISTED_FROM)
    return sorted(listed, key=lambda pair: (-pair.certainty, pair.kept.name, pair.merged.name))


class _Compared:
    """The entities of a group, with what is stated about each."""

    def __init__(self, contents: GroupContents, records: Iterable[CommitRecord]) -> None:
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
            if name and len(same) <= _CROWD:
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

        by_labels = grouped((entity.labels, entity) for entity in self._entities.values())
        for labels, entities in by_labels.items():
            keyed = [(one.uuid, one.embedding) for one in entities if one.embedding is not None]
            if len(keyed) > 1 and _EXACT_LABELS.isdisjoint(labels):
                queries = stack([vector for _, vector in keyed])
                index = VectorIndex(queries.shape[1])
                index.extend(keyed)
                near = index.nearest(queries, _NEAREST, _MIN_COSINE)
                for (uuid, _), found in zip(keyed, near, strict=True):
                    close = (other for other, cosine in found if cosine >= _MIN_COSINE)
                    yield from ((uuid, other) for other in close if other != uuid)

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
        return [fact for key, fact in facts.items() if key in keys and self._stated[key] <= _CROWD]

    def _cosine(self, one: str, other: str) -> float | None:
        from turnetl.llm.vectors import unpack  # noqa: PLC0415 - imports numpy

        vectors = [self._entities[uuid].embedding for uuid in (one, other)]
        given = [unpack(vector) for vector in vectors if vector is not None]
        return round(float(given[0] @ given[1]), 3) if len(given) == len(vectors) else None


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
