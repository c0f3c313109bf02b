"""The hybrid extractor: structural facts at no cost, and a model for what rules cannot see.

The model is shown the structural facts of the turn. What it repeats anyway is dropped and counted,
and an entity that both extractors find is the node of the structural extractor.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from turnetl.base.batched import grouped
from turnetl.base.ids import RecipePart, RecipeParts
from turnetl.base.model import Entity, Episode, Fact, GroupId
from turnetl.base.terms import Tokenizer
from turnetl.extraction.port import DiscardReason, Extractor, Resolved
from turnetl.extraction.structural.findings import FILE, TurnFindings
from turnetl.graph.mirror.group import GroupView, folded

_VERSION = "3"
"""Version of the merge rules."""
_MAX_NEW_SHARE = 0.25
"""Of the words of a fact that repeats another one about the same entities."""
_NEGATIONS = ("no", "not", "never", "none", "neither", "nor", "without", "cannot")
_NEGATION_SUFFIX = "n't"
_PUNCTUATION = ".,;:!?`'\"()"

LlmT = TypeVar("LlmT")


class LlmPort(Extractor[LlmT], Protocol[LlmT]):
    """An extractor that is told the facts that it need not state."""

    async def extract(
        self, episode: Episode, context: Sequence[Episode], known: Sequence[str] | None = None
    ) -> LlmT: ...


def hybrid_recipe(structural: RecipeParts, llm: RecipeParts) -> RecipeParts:
    return {"merge rules": RecipePart(_VERSION), **structural, **llm}


class HybridExtractor(Generic[LlmT]):
    """Merges the results of two extractors: `structural` nodes are kept, `llm` adds to them."""

    name = "hybrid"

    def __init__(self, structural: Extractor[TurnFindings], llm: LlmPort[LlmT]) -> None:
        self._structural = structural
        self._llm = llm

    @property
    def model(self) -> str | None:
        return self._llm.model

    def recipe_parts(self, group: GroupId, kind: str = "") -> RecipeParts:
        return hybrid_recipe(
            self._structural.recipe_parts(group, kind), self._llm.recipe_parts(group, kind)
        )

    async def extract(
        self, episode: Episode, context: Sequence[Episode]
    ) -> tuple[TurnFindings, LlmT]:
        structural = await self._structural.extract(episode, context)
        known = [fact.text for fact in structural.facts]
        return structural, await self._llm.extract(episode, context, known)

    async def resolve(
        self,
        episode: Episode,
        extracted: tuple[TurnFindings, LlmT],
        group: GroupView,
        *,
        now: datetime,
    ) -> Resolved:
        structural = await self._structural.resolve(episode, extracted[0], group, now=now)
        llm = await self._llm.resolve(episode, extracted[1], group, now=now)
        return merge(map_to_known(structural, group), llm, group)

    async def close(self) -> None:
        await self._structural.close()
        await self._llm.close()


def map_to_known(resolved: Resolved, group: GroupView) -> Resolved:
    """Return the result with new entities replaced by equal ones that the group already has."""
    known_by_uuid: dict[str, Entity] = {}
    for entity in resolved.entities:
        known = None if group.entity(entity.uuid) else _known(entity, group)
        # Two entities of one name are distinct: only the first can be the known one.
        if known is not None and known not in known_by_uuid.values():
            known_by_uuid[entity.uuid] = known
    if not known_by_uuid:
        return resolved
    mapping = {uuid: known.uuid for uuid, known in known_by_uuid.items()}
    entities = (
        _merge_entity(known_by_uuid[entity.uuid], entity)
        if entity.uuid in known_by_uuid
        else entity
        for entity in resolved.entities
    )
    return replace(
        resolved,
        entities=tuple(new for new in entities if new != group.entity(new.uuid)),
        facts=tuple(_mapped_facts(resolved, mapping, group)),
        mentions=tuple(sorted({mapping.get(uuid, uuid) for uuid in resolved.mentions})),
        mentioned_in=_merge_chunks({}, resolved.mentioned_in, mapping),
    )


def _known(entity: Entity, group: GroupView) -> Entity | None:
    return next((e for e in group.entities_like(entity.name) if _compatible(e, entity)), None)


def merge(structural: Resolved, llm: Resolved, group: GroupView) -> Resolved:
    """Return the union of both results, each entity and each fact once."""
    mapping = _match_entities(structural, llm, group)
    entities = _merge_entities(structural.entities, llm.entities, mapping)
    facts, known = _merge_facts(structural.facts, _mapped_facts(llm, mapping, group))
    return Resolved(
        entities=tuple(sorted(entities, key=lambda entity: group.entity(entity.uuid) is not None)),
        facts=tuple(sorted(facts, key=lambda fact: group.fact(fact.uuid) is not None)),
        mentions=tuple(
            sorted({*structural.mentions, *(mapping.get(uuid, uuid) for uuid in llm.mentions)})
        ),
        usage=structural.usage + llm.usage,
        mentioned_in=_merge_chunks(structural.mentioned_in, llm.mentioned_in, mapping),
        discarded=Counter(structural.discarded)
        + Counter(llm.discarded)
        + Counter({DiscardReason.KNOWN: known}),
        held=llm.held,
    )


def _merge_chunks(
    structural: Mapping[str, tuple[int, ...]],
    llm: Mapping[str, tuple[int, ...]],
    mapping: Mapping[str, str],
) -> dict[str, tuple[int, ...]]:
    merged = dict(structural)
    for uuid, chunks in llm.items():
        target = mapping.get(uuid, uuid)
        merged[target] = tuple(sorted({*merged.get(target, ()), *chunks}))
    return merged


def _match_entities(structural: Resolved, llm: Resolved, group: GroupView) -> dict[str, str]:
    """Return the uuids of the model's entities that match a structural one, with its uuid."""
    targets = _mentioned_entities(structural, group)
    by_name = grouped((folded(entity.name), entity) for entity in targets.values())
    others = _mentioned_entities(llm, group)
    matches = {
        uuid: _match(entity, by_name) for uuid, entity in others.items() if uuid not in targets
    }
    return {uuid: match.uuid for uuid, match in matches.items() if match is not None}


def _match(entity: Entity, by_name: Mapping[str, list[Entity]]) -> Entity | None:
    """Return the entity of that name; for a file also one with more or fewer leading folders.

    If two files match, neither is returned.
    """
    name = folded(entity.name)
    same_name = [named for named in by_name.get(name, ()) if _compatible(named, entity)]
    if same_name:
        return same_name[0]
    files = [
        file
        for other, entities in by_name.items()
        if other.endswith(f"/{name}") or name.endswith(f"/{other}")
        for file in entities
        if FILE in file.labels and _compatible(file, entity)
    ]
    return files[0] if len(files) == 1 else None


def _mentioned_entities(resolved: Resolved, group: GroupView) -> dict[str, Entity]:
    """Return the entities that the turn mentions, with their new values, by uuid."""
    changed = {entity.uuid: entity for entity in resolved.entities}
    entities = ((uuid, changed.get(uuid) or group.entity(uuid)) for uuid in resolved.mentions)
    return {uuid: entity for uuid, entity in entities if entity is not None}


def _compatible(one: Entity, other: Entity) -> bool:
    """Whether the labels do not contradict each other; no labels are compatible with all."""
    return not one.labels or not other.labels or bool(set(one.labels) & set(other.labels))


def _mapped_facts(resolved: Resolved, mapping: Mapping[str, str], group: GroupView) -> list[Fact]:
    """Return the facts with mapped entities; drops those that would connect one with itself.

    Facts that the group already has are not changed.
    """
    facts = []
    for fact in resolved.facts:
        if group.fact(fact.uuid) is not None:
            facts.append(fact)
            continue
        source = mapping.get(fact.source, fact.source)
        target = mapping.get(fact.target, fact.target)
        if source != target or fact.source == fact.target:
            facts.append(replace(fact, source=source, target=target))
    return facts


def _merge_entities(
    structural: Sequence[Entity], llm: Sequence[Entity], mapping: Mapping[str, str]
) -> tuple[Entity, ...]:
    merged = {entity.uuid: entity for entity in structural}
    for entity in llm:
        uuid = mapping.get(entity.uuid, entity.uuid)
        existing = merged.get(uuid)
        if existing is not None:
            merged[uuid] = _merge_entity(existing, entity)
        elif uuid == entity.uuid:
            merged[uuid] = entity
    return tuple(merged.values())


def _merge_entity(structural: Entity, llm: Entity) -> Entity:
    return replace(
        structural,
        labels=tuple(sorted({*structural.labels, *llm.labels})),
        summary=structural.summary or llm.summary,
        attributes={**llm.attributes, **structural.attributes},
        embedding=structural.embedding or (llm.embedding if llm.name == structural.name else None),
    )


def _merge_facts(structural: Sequence[Fact], llm: Sequence[Fact]) -> tuple[tuple[Fact, ...], int]:
    """Return the facts of both, and how many of the model repeat one of the rules."""
    merged = {fact.uuid: fact for fact in structural}
    words, repeated = Tokenizer(), 0
    of_ends: dict[frozenset[str], list[Fact]] = {}
    for fact in structural:
        of_ends.setdefault(frozenset((fact.source, fact.target)), []).append(fact)
    for fact in llm:
        existing = merged.get(fact.uuid)
        if existing is not None:
            turns = tuple(dict.fromkeys((*existing.turns, *fact.turns)))
            merged[fact.uuid] = replace(existing, turns=turns)
        elif any(
            _repeats(fact, known, words)
            for known in of_ends.get(frozenset((fact.source, fact.target)), ())
        ):
            repeated += 1
        else:
            merged[fact.uuid] = fact
    return tuple(merged.values()), repeated


def _repeats(fact: Fact, known: Fact, words: Tokenizer) -> bool:
    """Return whether a fact about the same entities says no more: its relation, or its words.

    Vector similarity is not used: it would take "it works" and "it works no more" for the same.
    """
    if _negations(fact.text) != _negations(known.text):
        return False
    if (fact.source, fact.relation, fact.target) == (known.source, known.relation, known.target):
        return True
    terms = words.count(fact.text).keys()
    return len(terms - words.count(known.text).keys()) <= _MAX_NEW_SHARE * len(terms)


def _negations(text: str) -> int:
    tokens = (word.strip(_PUNCTUATION) for word in text.lower().split())
    return sum(word in _NEGATIONS or word.endswith(_NEGATION_SUFFIX) for word in tokens)
