"""The structural extractor: no API key, no network, always the same facts from the same turn."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import compress, islice

from turnetl.base import ids
from turnetl.base.ids import RecipeParts
from turnetl.base.model import Episode, Fact, GroupId
from turnetl.base.relations import EDITS, FAILED_WITH, FIXED_BY, REPORTED
from turnetl.episode_text import prose
from turnetl.extraction.port import Resolved
from turnetl.extraction.structural import (
    MAX_ENTITIES,
    MAX_FACTS,
    commits,
    edits,
    entity_names,
    problems,
    reports,
    runs,
    statements,
    structural_recipe,
    supersession,
)
from turnetl.extraction.structural.entity_resolution import TurnEntities
from turnetl.extraction.structural.findings import (
    FILE,
    FLAG,
    NUMBERED,
    PACKAGE,
    SETTING,
    SYMBOL,
    TEST,
    EntityKey,
    FactDraft,
    TurnFindings,
    UndoneEdits,
)
from turnetl.extraction.structural.resolutions import Resolution
from turnetl.extraction.structural.tool_calls import classify_calls
from turnetl.extraction.structural.turn_features import USER, TurnFeatures, turn_features
from turnetl.graph.mirror.group import GroupView

_MAX_UNRELATED_ENTITIES, _MAX_NAMED = 12, 40
"""Entities of a turn without a fact, and the names that are asked for them."""
_MENTIONED = frozenset({FILE, SYMBOL, TEST, PACKAGE, FLAG, SETTING}) | NUMBERED
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
        turn = episode.turn
        found = TurnEntities(turn.group_id, group, guessed_root=extracted.guessed_root)
        for entity in extracted.entities:
            # Of what is only named, nothing would be told.
            if entity.description or found.is_known(entity):
                found.uuid(entity)
        for path in extracted.mentioned_files:
            found.mention_file(path)
        drafts = (*extracted.facts, *fixes)
        stated = [_fact(episode, draft, found, now) for draft in drafts]
        is_new = (group.fact(fact.uuid) is None and _joins_two(fact) for fact in stated)
        new = {fact.uuid: fact for fact in compress(stated, is_new)}
        superseded = supersession.supersede(episode, new.values(), found.names, group, now)
        invalidated = [replace(fact, expired_at=now if fact.invalid_at else None) for fact in ended]
        gone = supersession.ended_edits(superseded.facts, found.names, group, now)
        undone_edits = [one for one in extracted.undone if isinstance(one, UndoneEdits)]
        undone = (
            *commits.undone_facts(extracted.undone, turn.group_id, group, now),
            *supersession.undone_decisions(undone_edits, turn.group_id, group, now),
        )
        facts = (*superseded.facts, *superseded.ended, *invalidated, *gone, *undone)
        users = {found.uuid(one.source) for one in drafts if one.source.label == USER}
        mentions = found.names.keys() - users
        return Resolved(
            entities=tuple(found.changed(now)),
            facts=tuple({fact.uuid: fact for fact in facts}.values()),
            mentions=tuple(sorted(mentions.union(superseded.decisions))),
        )

    async def close(self) -> None:
        """Do nothing: there are no resources."""


def extract_findings(episode: Episode, context: Sequence[Episode]) -> TurnFindings:
    """Return at most 50 entities and 50 facts of the turn, the most informative first."""
    earlier = [(one.turn, classify_calls(one.turn.agent_calls)) for one in context]
    features = turn_features(episode.turn, earlier)
    others = [*_other_facts(features, context)]
    reported = [fact for fact in others if fact.relation == REPORTED]
    others = [fact for fact in others if fact.relation != REPORTED]
    of_runs, history = runs.run_findings(features, earlier, reported)
    failed = [fact for fact in of_runs if fact.relation == FAILED_WITH]
    stated = [*problems.cause_facts(features, failed or reported)]
    of_runs = [*reports.with_causes(of_runs, stated), *stated]
    of_commits = commits.commit_facts(features, (calls for _, calls in earlier))
    facts = _most_informative([*others, *of_commits, *of_runs])
    fact_entities = [entity for fact in facts for entity in (fact.source, fact.target)]
    where = (str(fact.attributes.get("location", "")) for fact in facts)
    failed_in = (EntityKey(FILE, file) for file in where if "/" in file)
    entities = list(dict.fromkeys((*fact_entities, *failed_in)))[:MAX_ENTITIES]
    unrelated = (key for key in _unrelated_entities(features) if key not in entities)
    room = min(_MAX_UNRELATED_ENTITIES, MAX_ENTITIES - len(entities))
    complete = (*_complete(entities, facts, features), *islice(unrelated, room))
    root = "" if features.paths.is_rooted else features.paths.root
    mentioned = _mentioned_files(features)
    undone = commits.undone_edits(features, earlier)
    return TurnFindings(complete, tuple(facts), history, root, mentioned, undone)


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


def _unrelated_entities(features: TurnFeatures) -> Iterator[EntityKey]:
    """Yield what the turn mentions without a fact, each with what it is, if the turn shows that.

    It is what the prompt names, the ticket of the branch, edited files, and what calls show of
    opened files and of what the response names. A chat has none: its names are those of examples.
    """
    if not features.evidence.is_work:
        return
    prompt = prose.clip(features.turn.user_text, *prose.PROMPT_LIMITS)
    named = [key for key in features.entities_in(prompt) if key.label in _MENTIONED]
    files = [EntityKey(FILE, file) for file in (*features.edited_files, *features.other_files)]
    branch = features.turn.git_branch
    if ticket := entity_names.ticket_of(branch):
        yield replace(ticket, description=f"Ticket of branch `{branch}`")
    always = {EntityKey(FILE, file) for file in features.edited_files}
    always |= {key for key in named if key.label in NUMBERED}
    for key in islice(dict.fromkeys((*named, *files, *features.named)), _MAX_NAMED):
        what = features.description(key)
        if what or key in named or key in always:
            yield replace(key, description=what or key.label * (key in always))


def _mentioned_files(features: TurnFeatures) -> tuple[str, ...]:
    """Return the paths in the prompt that no call of the turn shows: the group may know them."""
    prompt = prose.clip(features.turn.user_text, *prose.PROMPT_LIMITS)
    paths = dict.fromkeys(
        name
        for path in entity_names.paths(prompt)
        if features.evidence.file(path) is None and (name := features.paths.mentioned(path))
    )
    return tuple(paths)[:_MAX_UNRELATED_ENTITIES] if features.evidence.is_work else ()


def _complete(
    entities: Iterable[EntityKey], facts: Sequence[FactDraft], features: TurnFeatures
) -> tuple[EntityKey, ...]:
    """Return the entities with their second labels and descriptions."""
    ends = (entity for fact in facts for entity in (fact.source, fact.target))
    second = {entity: entity.second_label for entity in ends if entity.second_label}
    failed = dict(_failed_ends(facts))
    return tuple(
        replace(
            entity,
            second_label=second.get(entity, ""),
            description=_description(features.description(entity), failed.get(entity, "")),
        )
        for entity in entities
    )


def _description(place: str, failed: str) -> str:
    """Return the description of an entity with how it failed, if it did."""
    return f"{place}: {failed[:1].lower()}{failed[1:]}" if place and failed else place or failed


def _failed_ends(facts: Sequence[FactDraft]) -> Iterator[tuple[EntityKey, str]]:
    """Yield what failed and with what: if it was solved in its turn, no fact that holds says so."""
    fixed = {fact.source.name: fact.target.name for fact in facts if fact.relation == FIXED_BY}
    for fact in reversed(facts):
        if fact.relation != FAILED_WITH:
            continue
        test = next((one for one in (fact.source, fact.target) if one.label == TEST), None)
        file = fixed.get((test or fact.target).name)
        ended = f", solved by a change of `{file}`" if file else ""
        if fact.invalid_at and not file:
            is_rerun = fact.attributes.get("resolution") == Resolution.PASSED_ON_RERUN
            ended = ", passed on a rerun without a change" if is_rerun else ", solved in its turn"
        word = "in" if fact.target.label == TEST else "with"
        yield fact.source, f"{fact.source.label} that failed {word} `{fact.target.name}`{ended}"
        noun = "Test that failed in" if fact.target.label == TEST else "Error of"
        yield fact.target, f"{noun} `{fact.source.name}`{ended}"
        if location := str(fact.attributes.get("location", "")):
            what = (test or fact.target).name
            yield EntityKey(FILE, location), f"File in which `{what}` failed{ended}"


def _joins_two(fact: Fact) -> bool:
    return fact.source != fact.target or fact.relation in EDITS


def _fact(episode: Episode, draft: FactDraft, found: TurnEntities, now: datetime) -> Fact:
    turn = episode.turn
    source, target = found.uuid(draft.source), found.uuid(draft.target)
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
