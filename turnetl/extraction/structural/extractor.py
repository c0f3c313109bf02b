"""The structural extractor: no API key, no network, always the same facts from the same turn."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from turnetl.base import ids
from turnetl.base.ids import RecipeParts
from turnetl.base.model import DESCRIPTION, Entity, Episode, Fact, GroupId, description
from turnetl.base.relations import EDITS, FAILED_WITH
from turnetl.extraction.port import Resolved
from turnetl.extraction.structural import (
    MAX_ENTITIES,
    MAX_FACTS,
    causes,
    commits,
    edits,
    entity_names,
    prose,
    runs,
    statements,
    structural_recipe,
    supersession,
)
from turnetl.extraction.structural.findings import (
    FILE,
    FLAG,
    PACKAGE,
    PULL_REQUEST,
    SETTING,
    SYMBOL,
    TEST,
    TICKET,
    EntityKey,
    FactDraft,
    TurnFindings,
)
from turnetl.extraction.structural.tool_calls import classify_calls
from turnetl.extraction.structural.turn_features import USER, TurnFeatures, turn_features
from turnetl.graph.mirror.group import GroupView

_MAX_UNRELATED_ENTITIES = 12
"""Entities of a turn without a fact."""
_MENTIONED = frozenset({FILE, SYMBOL, TEST, PACKAGE, TICKET, PULL_REQUEST, FLAG, SETTING})
"""Labels of what a prompt mentions without a fact: a branch or a tool says nothing alone."""


class StructuralExtractor:
    """Extracts entities and facts by rules. See `turnetl.extraction.port.Extractor`."""

    name = "structural"
    model = None

    def recipe_parts(self, group: GroupId, kind: str = "") -> RecipeParts:  # noqa: ARG002 - the same for all
        return structural_recipe()

    async def extract(self, episode: Episode, context: Sequence[Episode]) -> TurnFindings:
        return extract_findings(episode, context)

    async def resolve(
        self, episode: Episode, extracted: TurnFindings, group: GroupView, *, now: datetime
    ) -> Resolved:
        """Give entities and facts their keys, and invalidate facts that the turn makes untrue.

        These are failures of commands that now succeeded, decisions that it replaces by name, and
        what it removes from files.
        Looks up only the entities of the turn: the time does not grow with the group.
        """
        ended, fixes = runs.resolve_earlier(episode.turn, extracted.history, group)
        of_fixes = (key for fix in fixes for key in (fix.source, fix.target))
        known = dict.fromkeys((*extracted.entities, *of_fixes))
        keys = {entity: _key(episode.turn.group_id, entity) for entity in known}
        entities = (_entity(episode, key, uuid, group, now) for key, uuid in keys.items())
        new = {
            fact.uuid: fact
            for draft in (*extracted.facts, *fixes)
            for fact in [_fact(episode, draft, keys, now)]
            if group.fact(fact.uuid) is None
        }
        names = {uuid: key.name for key, uuid in keys.items()}
        superseded = supersession.supersede(episode, new.values(), names, group, now)
        invalidated = [replace(fact, expired_at=now) for fact in ended]
        gone = edits.with_ends(superseded.facts, names, group, now)
        facts = (*superseded.facts, *superseded.ended, *invalidated, *gone)
        mentions = {uuid for key, uuid in keys.items() if key != USER}
        return Resolved(
            entities=tuple(entity for entity in entities if entity is not None),
            facts=tuple({fact.uuid: fact for fact in facts}.values()),
            mentions=tuple(sorted(mentions.union(superseded.decisions))),
        )

    async def close(self) -> None:
        """Do nothing: there are no resources."""


def extract_findings(episode: Episode, context: Sequence[Episode]) -> TurnFindings:
    """Return at most 50 entities and 50 facts of the turn, the most informative first."""
    features = turn_features(episode.turn)
    earlier = [(one.turn, classify_calls(one.turn.agent_calls)) for one in context]
    of_runs, history = runs.run_findings(features, earlier)
    failed = [fact for fact in of_runs if fact.relation == FAILED_WITH]
    of_runs += causes.cause_facts(features, failed)
    of_commits = commits.commit_facts(features, (calls for _, calls in earlier))
    facts = _most_informative([*_other_facts(features, context), *of_commits, *of_runs])
    fact_entities = [entity for fact in facts for entity in (fact.source, fact.target)]
    entities = dict.fromkeys(fact_entities)
    where = (str(fact.attributes.get("location", "")) for fact in facts)
    failed_in = (EntityKey(FILE, file) for file in where if "/" in file)
    for entity in (*failed_in, *_unrelated_entities(features)):
        if len(entities) < MAX_ENTITIES:
            entities.setdefault(entity)
    return TurnFindings(_complete(entities, fact_entities, features), tuple(facts), history)


def _other_facts(features: TurnFeatures, context: Sequence[Episode]) -> Iterator[FactDraft]:
    yield from statements.statement_facts(features, context)
    yield from edits.edit_facts(features)


def _most_informative(drafts: Iterable[FactDraft]) -> list[FactDraft]:
    """Return each fact once, by rank, up to the limits for facts and for their entities."""
    kept: list[FactDraft] = []
    entities: set[EntityKey] = set()
    unique = {draft.key: draft for draft in reversed(list(drafts))}
    for draft in sorted(unique.values(), key=lambda draft: (draft.rank, draft.text)):
        with_endpoints = entities | {draft.source, draft.target}
        if (
            (draft.source != draft.target or draft.relation in EDITS)
            and len(with_endpoints) <= MAX_ENTITIES
            and len(kept) < MAX_FACTS
        ):
            entities = with_endpoints
            kept.append(draft)
    return kept


def _unrelated_entities(features: TurnFeatures) -> list[EntityKey]:
    """Return what the turn mentions without a fact.

    It is what the prompt names, the ticket of the branch, and opened files.
    """
    prompt = prose.clip(features.turn.user_text, *prose.PROMPT_LIMITS)
    named = [key for key in features.entities_in(prompt) if key.label in _MENTIONED]
    files = [EntityKey(FILE, file) for file in (*features.edited_files, *features.other_files)]
    ticket = entity_names.ticket_of(features.turn.git_branch)
    mentioned = [*named, *([ticket] if ticket else []), *files]
    return list(dict.fromkeys(mentioned))[:_MAX_UNRELATED_ENTITIES]


def _complete(
    entities: Iterable[EntityKey], fact_entities: Iterable[EntityKey], features: TurnFeatures
) -> tuple[EntityKey, ...]:
    """Return the entities with their second labels and descriptions."""
    second = {entity: entity.second_label for entity in fact_entities if entity.second_label}
    return tuple(
        replace(
            entity, second_label=second.get(entity, ""), description=features.description(entity)
        )
        for entity in entities
    )


def _key(group: GroupId, entity: EntityKey) -> str:
    return ids.entity_id(group, entity.label, entity.folded_name)


def _entity(
    episode: Episode, key: EntityKey, uuid: str, group: GroupView, now: datetime
) -> Entity | None:
    """Return the entity if it is new, or the turn tells a new label or what it is; else None."""
    labels = {key.label} | ({key.second_label} if key.second_label else set())
    known = group.entity(uuid)
    if known is None:
        named = (uuid, episode.turn.group_id, key.name, tuple(sorted(labels)))
        return _described(Entity(*named, "", now), key)
    entity = replace(known, labels=tuple(sorted(labels | set(known.labels))))
    entity = entity if DESCRIPTION in known.attributes else _described(entity, key)
    return None if entity == known else entity


def _described(entity: Entity, key: EntityKey) -> Entity:
    """Return the entity with what it is; it is its summary until a turn has a fact about it."""
    if not key.description:
        return entity
    entity = replace(entity, attributes={**entity.attributes, DESCRIPTION: key.description})
    return replace(entity, summary=entity.summary or description(entity))


def _fact(episode: Episode, draft: FactDraft, keys: Mapping[EntityKey, str], now: datetime) -> Fact:
    turn = episode.turn
    source, target = keys[draft.source], keys[draft.target]
    return Fact(
        uuid=ids.fact_id(turn.turn_id, source, draft.relation, target, draft.text),
        group_id=turn.group_id,
        source=source,
        target=target,
        relation=draft.relation,
        text=draft.text,
        turns=(turn.turn_id,),
        created_at=now,
        valid_at=draft.valid_at or turn.started_at,
        invalid_at=draft.invalid_at,
        expired_at=now if draft.invalid_at else None,
        reference_time=turn.started_at,
        attributes=draft.attributes,
    )
